"""No record costs more than its bytes do, whatever it holds: a search for one that does.

The cost is counted in steps (line events of Python's own code), which no busy machine changes, and
in seconds of the processor, for what C does between two of them.
"""

import base64
import gzip
import json
import sys
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any
from urllib.parse import unquote

import pytest

from schemas.events import MAX_RECORD_BYTES
from streams.pipeline import escapes, images, json_limits, withheld
from streams.pipeline.decode import Dead, decode
from tests.command import turn
from tests.property.costly import taken_by
from tests.tiers import soaked

PLACE = ("f", 0, 1)
OWN = str(Path(__file__).parents[2] / "streams")
SCHEMAS = str(Path(__file__).parents[2] / "schemas")
MOST_STEPS = 2_000_000
"""Of a record of a megabyte. Half a million values took ten times as many; escapes that a function
replaced one by one took 2.8 million."""
WHOLE = 950_000
SMALL = 65_536
SECONDS_OF_SMALL, SECONDS_OF_WHOLE = 3 * 0.05, 3 * 1 / 16
"""Of the processor: 64 KB are read in 50 ms, 16 MB in a second, whatever becomes of them; up
to three times that on a busy machine. What this found took up to 13 s."""
ORDINARY = json.dumps([{"name": f"n{number}", "value": number} for number in range(30_000)])
SECONDS_OF_ORDINARY = 0.012
"""That `json` needs for it, a megabyte, on a quiet machine."""

PACKED = [base64.b64encode(pack(b"q" * 40)).decode() for pack in (gzip.compress, zlib.compress)]
UNITS = [
    *(f"{letters} " for letters in PACKED), f"{PACKED[1][:20]} ", "9" * 4_300 + " ", "&lt;",
    "&#77;", "&#x71", "bWV0YV9yZXF1ZXN0 ", "\\ud83d", "ｑ", "é", "=", "-", "meta ",
    "[meta request\\n",
    "/9j", "/9j/", "/9j/4", "/9j/4AAQSkZJRgABAQ", "iVBORw0KGgo", "PD94bWwg", "PHN2Z", "77u/P",
    "Qk0AAAAAAAAA", "AAAAxGZ0eXB", " SUkqA", "UklGR", "R0lGODlx", "data:image/", "data:image/a,",
    "data:image/png;base64,AAAA ", "data:image/svg+xml,<svg ", "\\u0071", "\\u0069V", "\\\\", "\\n",
    "\\ud83d\\ude00", "q meta_ request", "&amp;", "%41", "ﷺ", "a", "0", ",{[", " ",
]  # fmt: skip
VALUES = ["{}", "[]", "0", '""', "1.5", "null", '{"source":"q"}', "[[[[[[]]]]]]", '{"a":{}}',
          '["/9j/4"]', "99999999999999999999", '{"type":"x"}']  # fmt: skip
FIELDS = ["metadata", "x", "intent", "observations", "image_summaries", "summary", "source"]
HEADS: list[dict[str, Any]] = [
    turn("e"),
    {"type": "tool_result", "session_id": "s", "task_id": "t", "trace_id": "r", "call_index": 0,
     "success": True, "occurred_at": "2026-01-01T00:00:00Z"},
    {"type": "write_plan", "plan_id": "p", "user_id": "u", "occurred_at": "2026-01-01T00:00:00Z",
     "extractor": {"name": "n", "version": "1"}},
]  # fmt: skip
FIELDS_OF = {"tool_result": ["result", "x"], "write_plan": ["state_updates", "x"]}


@pytest.fixture(autouse=True, scope="module")
def _tables() -> None:
    """What a process makes once."""
    withheld._alike()


def steps(call: Callable[[], object], most: int = 3 * MOST_STEPS) -> int:
    """Lines of our own code that a call runs. Raises AssertionError beyond `most`."""
    count = 0

    def within(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        if count > most:
            raise AssertionError("far too many steps")
        return within

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        name = frame.f_code.co_filename
        return within(frame, event, argument) if name.startswith((OWN, SCHEMAS)) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def repeated(unit: str, pre: str, post: str, size: int) -> bytes:
    """A line of about that many bytes."""
    return (pre + unit * max((size - len(pre)) // len(unit.encode()), 1) + post).encode()


def nested(chance: Random, begun: str, size: int) -> str:
    """A line with objects in one another, and many values in the innermost."""
    name = chance.choice(["source", "data", "a" * 60, chance.choice(UNITS)[:60].strip("\\")])
    deep = chance.choice([1, 5, 60, 900])
    inside = chance.choice(['"q",', "0,", '"/9j/",', '{"source":"q"},', '"meta request",'])
    last = chance.choice(["0", "1e999", "9" * 20, "9" * 4_301, "null"])
    room = max((size - deep * (len(name) + 5)) // len(inside), 1)
    outer = f'{{"{name}":' * deep
    return f'{begun},"x":{outer}[{inside * min(room, 9_000)}{last}]{"}" * deep}}}'


def long_named(chance: Random, begun: str, size: int) -> str:
    """A line whose values all lie behind one long name."""
    count = chance.choice([1, 100, 5_000])
    names = ",".join(f'"n{at:x}":{chance.choice(VALUES)}' for at in range(min(count, size // 60)))
    name = chance.choice(UNITS).strip("\\") * (size // 150)
    field = chance.choice(FIELDS)
    return f'{begun},"{field}":{{"{name}":{{{names}}}}}}}'


def spoilt(chance: Random, line: bytes) -> bytes:
    """The line without its end, with a byte that is no UTF-8, or packed."""
    return chance.choice([line[:-2], line + b"\x80", gzip.compress(line, 1), line[1:]])


def lines(chance: Random, size: int) -> Iterator[bytes]:
    """One designed line after the other, and mutations of it; every second one is spoilt."""
    for line in designed(chance, size):
        yield line
        yield spoilt(chance, line)


def designed(chance: Random, size: int) -> Iterator[bytes]:
    """Lines that most likely are JSON."""
    while True:
        head = chance.choice(HEADS)
        begun = json.dumps(head)[:-1]
        if chance.random() < 0.5:  # a closer look is taken at what says so
            begun += ',"h":"request meta q /9j"'
        yield nested(chance, begun, size).encode()
        yield long_named(chance, begun, size).encode()
        numbered = ",".join(f"&#{at};" for at in range(size // 8))
        yield f'{begun},"user_input":"{numbered}"}}'.encode()
        field = chance.choice(FIELDS_OF.get(head["type"], FIELDS))
        unit = "".join(chance.choice(UNITS) for _ in range(chance.choice([1, 1, 2, 3])))
        text = "".join(chance.choice(VALUES) + "," for _ in range(chance.choice([1, 1, 2])))
        yield repeated(unit, f'{begun},"{chance.choice([field, "user_input"])}":"', '"}', size)
        yield repeated(unit, f'{begun},"{field}":{{"', '":1}}', size)
        yield repeated(f'"{unit * 4}",', f'{begun},"{field}":[', '""]}', size)
        yield repeated(text, f'{begun},"{field}":[', "0]}", size)
        yield repeated(text, f'{begun},"{field}":{{"k":[', "0]}}", size)
        names = ",".join(f'"{unit[:3]}{at:x}":0' for at in range(size // 12))
        yield f'{begun},"{field}":{{{names}}}}}'.encode()
        yield f"{begun},{names}}}".encode()
        whole = bytearray(repeated(text, f'{begun},"{field}":[', "0]}", size))
        for _ in range(chance.randrange(1, 4)):
            whole[chance.randrange(len(whole))] = chance.choice(b'"{}[],:\\q\x80')
        yield bytes(whole)


def seconds(call: Callable[[], object], most: float) -> float:
    """Of the processor that a call takes on a quiet machine, the least of three where it is more
    than `most`. How much slower this one is now, reading ordinary JSON beside it shows."""
    least = float("inf")
    for _ in range(3):
        taken = taken_by(call)
        if taken > most:
            taken /= max(1.0, taken_by(partial(json.loads, ORDINARY)) / SECONDS_OF_ORDINARY)
        least = min(least, taken)
        if least <= most:
            break
    return least


def dearest(seed: int, count: int, size: int, most: float) -> tuple[float, bytes]:
    """The most seconds of the processor that a line took, and its beginning."""
    made = lines(Random(seed), size)
    worst = (0.0, b"")
    for _ in range(count):
        line = next(made)
        worst = max(worst, (seconds(partial(decode, line, PLACE), most), line[:200]))
    return worst


def searched(seed: int, count: int, size: int) -> tuple[int, bytes]:
    """The most steps that a line took, and its beginning."""
    made = lines(Random(seed), size)
    worst = (0, b"")
    for _ in range(count):
        line = next(made)
        worst = max(worst, (steps(lambda one=line: decode(one, PLACE)), line[:200]))  # type: ignore[misc]
    return worst


def test_no_short_record_takes_more_steps_than_its_share() -> None:
    count, line = searched(1, 16, 10_000)
    assert count < MOST_STEPS // 4, line


@pytest.mark.parametrize("seed", [5, 9])
def test_no_line_of_64_kb_takes_more_of_the_processor_than_its_share(seed: int) -> None:
    taken, line = dearest(seed, 20, SMALL, SECONDS_OF_SMALL)
    assert taken < SECONDS_OF_SMALL, line


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(10), 2))
def test_no_line_of_a_megabyte_takes_more_of_the_processor_than_its_share(seed: int) -> None:
    taken, line = dearest(seed, 100, WHOLE, SECONDS_OF_WHOLE)
    print(f"at most {taken * 1000:.0f} ms: {line[:80]!r}")
    assert taken < SECONDS_OF_WHOLE, line


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 2))
def test_no_record_takes_more_steps_than_its_share(seed: int) -> None:
    count, line = searched(seed, 40, WHOLE)
    print(f"at most {count:,} steps: {line[:80]!r}")
    assert count < MOST_STEPS, line


RUNS = ["\\u0071", "\\ud83d\\ude00", "\\ud83d", "%41", "%71", "\\\\u0041", "ｑ"]
IMAGES = ["iVBORw0KGgo", "/9j/4", "UklGR", "AAAAxGZ0eXB", "Qk0AAAAAAAAA"]


@pytest.mark.parametrize("unit", RUNS)
def test_escapes_that_follow_one_another_are_read_together(unit: str) -> None:
    """What is made of a text is counted by the pieces that a pattern takes it into."""
    text = unit * 20_000
    if "%" in unit:
        assert len(escapes._PERCENT.split(text.encode())) < 100
        assert escapes.of_url(text) == unquote(text)
    elif "u" in unit:
        assert len(escapes._ESCAPES.split(text)) < 100
        one = unit.replace("\\\\", "\\")
        assert escapes.of_json(text) == json.loads(f'"{one * 20_000}"')
    else:
        assert all(len(pattern.split(text)) < 100 for pattern in withheld._alike())
        assert withheld._plain(text) == "q" * 20_000


@pytest.mark.parametrize("unit", IMAGES)
def test_within_an_image_no_other_is_looked_for(unit: str, monkeypatch: pytest.MonkeyPatch) -> None:
    looked = 0
    look = images._Beginnings._look

    def counting(*place: Any) -> None:
        nonlocal looked
        looked += 1
        look(*place)

    monkeypatch.setattr(images._Beginnings, "_look", counting)
    png = base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"\0" * 40).decode().rstrip("=")
    text = png + unit * 20_000
    assert list(images.find(text)) == [(0, len(text))]
    assert looked < 100


ESCAPES = ["\\u0071", "\\u0071\\n", "%41", "%71&amp;", "\\/", "q\\u00e9", "bWV0YV9yZXF1ZXN0eHg "]


@pytest.mark.parametrize("unit", ESCAPES)
@pytest.mark.parametrize("end", ['"}', "}"], ids=["whole", "broken"])
def test_escapes_take_no_steps_one_by_one(unit: str, end: str) -> None:
    """Twice as many take no more than the same steps, but for what is done once a record."""
    begun = json.dumps(turn("e", source="Q"))[:-1] + ',"user_input":"'
    lines = [repeated(unit, begun, end, size) for size in (4_000, 40_000)]
    counts = [steps(partial(decode, line, PLACE)) for line in lines]
    assert counts[1] < counts[0] + 40_000 // 17 * 2, counts


def test_faults_beyond_the_first_are_not_read() -> None:
    count = steps(lambda: decode(json.dumps(turn("e", intent=[0] * 18_000)).encode(), PLACE))
    assert count < 5_000


@pytest.mark.parametrize("field", ["state_updates", "preference_updates", "ends"])
def test_of_a_plans_list_the_first_bad_item_is_named(field: str) -> None:
    """All of 200 have up to 800 faults, in a record of a kilobyte."""
    plan = HEADS[2] | {field: [{}] * 200}
    letter = decode(json.dumps(plan).encode(), PLACE)
    assert isinstance(letter, Dead)
    assert letter.detail.startswith(f"{field}.0") and f"{field}.1" not in letter.detail


@pytest.mark.parametrize("value", ["{}", "0", '""', "[[],[]]", '{"a":{}}'])
def test_too_many_values_are_refused_before_they_are_made(value: str) -> None:
    inside = ",".join([value] * json_limits.MAX_VALUES)
    line = (json.dumps(turn("e"))[:-1] + f',"metadata":{{"k":[{inside}]}}}}').encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "too_large"
    assert str(json_limits.MAX_VALUES) in letter.detail
    assert letter.key == "default/s" and letter.payload == line


def test_signs_within_texts_are_no_values() -> None:
    text = '{"a":[1,2],"b":"\\"' * 20_000
    line = json.dumps(turn("e", user_input=text)).encode()
    assert len(line) < MAX_RECORD_BYTES and json_limits.values(line) < 100
    assert not isinstance(decode(line, PLACE), Dead)


def test_a_withheld_record_with_too_many_values_is_withheld() -> None:
    inside: list[Any] = [[]] * json_limits.MAX_VALUES
    line = json.dumps(turn("e", source="meta_request", metadata={"k": inside})).encode()
    assert decode(line, PLACE) == "withheld"
    line = json.dumps(turn("e", metadata={"k": [*inside, {"source": "meta_request"}]})).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.hidden and letter.key is None
    assert len(letter.payload) < 200


def test_what_begins_as_an_image_too_often_is_taken_for_images() -> None:
    text = (
        f"{'/9j/':{images.SPACING}}" * (images.MOST - images.ANYWHERE) + "/9j/ " * images.ANYWHERE
    )
    assert not images.is_in(text)
    line = json.dumps(turn("e", user_input=text + "/9j/ " + "B" * 50)).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "image"
    assert letter.detail.startswith("user_input: ") and str(images.MOST) in letter.detail
    assert b"BBBB" not in letter.payload


def test_the_same_over_many_texts_of_one_record() -> None:
    few = [f"{'/9j/ is not an image':{images.SPACING}}"] * images.MOST
    assert not isinstance(decode(json.dumps(turn("e", metadata={"k": few})).encode(), PLACE), Dead)
    line = json.dumps(turn("e", metadata={"k": [*few, "/9j/ is yet one more"]})).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "image"


def test_a_number_of_a_character_may_have_any_number_of_digits() -> None:
    """Python converts no more than 4,300."""
    for digits in ("9" * 5_000, "0" * 5_000 + "109", "x" + "f" * 5_000):
        line = json.dumps(turn("e", user_input=f"&#{digits};")).encode()
        assert isinstance(decode(line[:-2], PLACE), Dead)


def test_names_that_are_long_are_not_remembered() -> None:
    """Records with ten thousand of them would keep all their bytes in memory."""
    name = "k" * 10_000
    withheld.says({name: {"specversion": "1.0"}})
    count = withheld._names.cache_info().currsize
    withheld.says({f"{name}{at}": 0 for at in range(100)})
    assert withheld._names.cache_info().currsize == count


def test_a_path_of_long_names_is_told_in_short() -> None:
    line = json.dumps(turn("e", metadata={"k" * 100_000: "/9j/4AAQSkZJRgABAQAAAQABAAD/2wBDAAMC"}))
    letter = decode(line.encode(), PLACE)
    assert isinstance(letter, Dead) and letter.detail.startswith("metadata.…: image bytes")


def test_behind_very_many_escapes_all_is_taken_for_an_image() -> None:
    text = "\\n" * images.MOST_ESCAPES
    assert not images.is_in(text + "\\n no image")
    assert images.cut(text + "\\n /9j/") == text + images.stand_in(b"\\n /9j/")
