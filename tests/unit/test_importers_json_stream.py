"""JSON documents out of a file of any size: the same values wherever the text is cut."""

import io
import json
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
    documents = json_stream.documents(stream)
    return [list(d) if not isinstance(d, dict | str | int | float | None) else d for d in documents]


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
    with pytest.raises(ImportFault, match="line 1, column 7"):
        read(stream)
    assert stream.tell() < 200_000


def test_half_a_surrogate_pair_becomes_text_that_can_be_written() -> None:
    (value,) = read(io.StringIO(r'{"a": "\ud83d", "b": "\ud83d\ude00"}'))
    assert value == {"a": "?", "b": "😀"}
