"""JSON documents out of a file of any size: the same values wherever the text is cut."""

import gzip
import io
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.importers import json_stream
from streams.importers.base import ImportFault

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(max_size=5), inner),
    max_leaves=10,
)  # fmt: skip


class Dripping(io.StringIO):
    """Gives at most `size` characters at a time, whatever is asked for."""

    def __init__(self, text: str, size: int) -> None:
        super().__init__(text)
        self.size = size

    def read(self, size: int | None = -1, /) -> str:
        return super().read(self.size)


def read(stream: io.StringIO) -> list[Any]:
    """Raises the first fault."""
    values = read_on(stream)
    for value in values:
        for part in value if isinstance(value, list) else [value]:
            if isinstance(part, ImportFault):
                raise part
    return values


def read_on(stream: io.StringIO) -> list[Any]:
    documents = json_stream.documents(stream)
    return [list(one) if isinstance(one, Iterator) else one for one in documents]


@given(st.lists(VALUES), st.integers(1, 40), st.sampled_from([None, 2]))
def test_values_are_the_same_wherever_the_text_is_cut(
    values: list[Any], size: int, indent: int | None
) -> None:
    text = "\n".join(json.dumps(value, indent=indent) for value in values)
    assert read(Dripping(text, size)) == values


def test_elements_come_before_the_array_has_ended() -> None:
    stream = Dripping('[{"a": 1}, {"a": 2}, ' + " " * 1000 + "]", 16)
    elements = next(json_stream.documents(stream))
    assert next(elements) == {"a": 1}
    assert stream.tell() < 64


def test_an_array_left_early_is_read_on_before_the_next_document() -> None:
    documents = json_stream.documents(io.StringIO("[1, 2, 3] 4"))
    assert next(next(documents)) == 1
    assert next(documents) == 4


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"a": 1}\n{"a": }', "line 2, column 7"),
        ("[1 2]", "line 1, column 4.*','"),
        ("[1, 2", "line 1, column 6.*','"),
        ('{"a": "', "line 1, column 7.*Unterminated"),
        ("[NaN]", "NaN is no JSON number"),
        ("[" * 200_000, "nested too deeply"),
        ("hello", "line 1, column 1"),
    ],
)
def test_what_is_not_json_is_refused_with_its_place(text: str, message: str) -> None:
    with pytest.raises(ImportFault, match=message):
        read(io.StringIO(text))


def test_a_fault_in_a_long_text_is_found_without_reading_it_all() -> None:
    stream = Dripping('{"a": }' + " " * 1_000_000, 1 << 16)
    fault = next(json_stream.documents(stream))
    assert isinstance(fault, ImportFault) and "line 1, column 7" in str(fault)
    assert stream.tell() < 200_000


def test_half_a_surrogate_pair_is_a_fault_of_its_value() -> None:
    text = r'{"a": "\ud83d", "b": "\ud83d\ude00"} {"c": "\ud83d\ude00"} {"d": "\\ud83d"}'
    fault, *rest = read_on(io.StringIO(text))
    assert "line 1, column 8: not JSON: half of a surrogate pair" in str(fault)
    assert rest == [{"c": "😀"}, {"d": "\\ud83d"}]


@pytest.mark.parametrize("cut", range(1, 40))
@pytest.mark.parametrize("size", [3, 1 << 16])
@pytest.mark.parametrize(
    "line", ['{"a": {"b": [1, "x y", {"c": 2}]}, "d": 1.25}', '[{"role": "user"}, {"b": [1, 2]}]']
)
def test_lines_after_a_broken_one_are_read(cut: int, size: int, line: str) -> None:
    if cut >= len(line):
        return
    lines = ['{"n": 1}', line[:cut], '{"n": 2}', '{"n": 3}', line[:cut]]
    values = read_on(Dripping("\n".join(lines) + "\n", size))
    assert {"n": 1} in values
    assert values.count({"n": 3}) == 1 or line[cut - 2 : cut] == ", " or line[cut - 1] == ","
    assert sum("not JSON" in str(value) for value in values) == 2
    assert "line 6" in str(values[-1]) or "line 5" in str(values[-1])


@pytest.mark.parametrize("indent", [None, 1, 4, "\t"])
@pytest.mark.parametrize("broken", [0, 1, 2])
def test_elements_after_a_broken_one_are_read(indent: Any, broken: int) -> None:
    items = [{"n": number, "in": [{"x": 1}]} for number in range(3)]
    text = ",\n".join(json.dumps(item, indent=indent) for item in items)
    place = f'"n": {broken}'
    lines = "".join(f"  {line}\n" for line in text.replace(place, f'"n": {broken}x').splitlines())
    (values,) = read_on(io.StringIO(f"[\n{lines}]\n"))
    assert isinstance(values.pop(broken), ImportFault)
    assert values == [item for item in items if item["n"] != broken]


def test_a_missing_comma_loses_no_element() -> None:
    values = read_on(io.StringIO('[\n  {"n": 1}\n  {"n": 2},\n  {"n": 3}\n]\n{"n": 4}'))
    assert [one for one in values[0] if isinstance(one, dict)] == [{"n": 1}, {"n": 2}, {"n": 3}]
    assert values[1:] == [{"n": 4}]


@pytest.mark.parametrize("mark", ["[", "{},", '"x",'])
def test_a_value_has_a_budget_of_characters_and_pieces(
    mark: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(json_stream, "MAX_VALUE", 1 << 18)
    monkeypatch.setattr(json_stream, "MAX_PIECES", 1 << 16)
    bomb = '{"a": [' + mark * 200_000
    fault, after = read_on(io.StringIO(bomb + '\n{"n": 1}'))
    assert "in one value" in str(fault) or "too deeply" in str(fault)
    assert after == {"n": 1}


MEMORY = """
import sys
from pathlib import Path
from streams.importers.json_stream import documents, open_text
with open_text(Path(sys.argv[1])) as stream:
    for document in documents(stream):
        sum(1 for element in document)
print(Path('/proc/self/status').read_text().partition('VmHWM:')[2].split()[0])
"""
LONG_TEXT = "\U0001f600" + "x" * (json_stream.MAX_VALUE * 5 // 8)
LARGE = {
    "a text of wide characters": f'"{LONG_TEXT}"',
    "elements": '{"a":1.5},' * (json_stream.MAX_PIECES // 3) + "0",
    "elements behind a text": f'"{LONG_TEXT}",' + "{}," * 10_000_000 + "0",
}


@pytest.mark.component
@pytest.mark.parametrize("name", LARGE)
def test_the_largest_value_takes_at_most_500_mb(name: str, tmp_path: Path) -> None:
    file = tmp_path / "large.json.gz"
    with gzip.open(file, "wt", compresslevel=1) as packed:
        packed.write(f"[[{LARGE[name]}]]")
    command = [sys.executable, "-c", MEMORY, str(file)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    assert int(done.stdout) < 500_000  # KB
