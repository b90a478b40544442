"""No record costs more than its bytes do, whatever it holds: a search for one that does.

The cost is counted in steps (line events of Python's own code), which no busy machine changes; what
C does between two of them is bounded by the number of values and by the record's length.
"""

import json
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from random import Random
from types import FrameType
from typing import Any

import pytest

from schemas.events import MAX_RECORD_BYTES
from streams.pipeline import bounds, images
from streams.pipeline.decode import Dead, decode
from tests.command import turn
from tests.tiers import soaked

PLACE = ("f", 0, 1)
OWN = str(Path(__file__).parents[2] / "streams")
SCHEMAS = str(Path(__file__).parents[2] / "schemas")
MOST_STEPS = 2_000_000
"""Of a record of a megabyte. Half a million values took ten times as many; escapes that a function
replaced one by one took 2.8 million."""
WHOLE = 950_000

UNITS = [
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


def lines(chance: Random, size: int) -> Iterator[bytes]:
    """One designed line after the other, and mutations of it."""
    while True:
        head = chance.choice(HEADS)
        begun = json.dumps(head)[:-1]
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


@pytest.mark.component
@pytest.mark.parametrize("seed", soaked(range(8), 2))
def test_no_record_takes_more_steps_than_its_share(seed: int) -> None:
    count, line = searched(seed, 40, WHOLE)
    print(f"at most {count:,} steps: {line[:80]!r}")
    assert count < MOST_STEPS, line


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
    inside = ",".join([value] * bounds.MAX_VALUES)
    line = (json.dumps(turn("e"))[:-1] + f',"metadata":{{"k":[{inside}]}}}}').encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "too_large"
    assert str(bounds.MAX_VALUES) in letter.detail
    assert letter.key == "default/s" and letter.payload == line


def test_signs_within_texts_are_no_values() -> None:
    text = '{"a":[1,2],"b":"\\"' * 20_000
    line = json.dumps(turn("e", user_input=text)).encode()
    assert len(line) < MAX_RECORD_BYTES and bounds.values(line) < 100
    assert not isinstance(decode(line, PLACE), Dead)


def test_a_withheld_record_with_too_many_values_is_withheld() -> None:
    inside: list[Any] = [[]] * bounds.MAX_VALUES
    line = json.dumps(turn("e", source="meta_request", metadata={"k": inside})).encode()
    assert decode(line, PLACE) == "withheld"
    line = json.dumps(turn("e", metadata={"k": [*inside, {"source": "meta_request"}]})).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.hidden and letter.key is None
    assert len(letter.payload) < 200


def test_what_begins_as_an_image_too_often_is_taken_for_images() -> None:
    text = "see " + "/9j/ " * images.MOST
    assert not images.is_in(text)
    line = json.dumps(turn("e", user_input=text + "/9j/ " + "B" * 50)).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "image"
    assert letter.detail.startswith("user_input: ") and str(images.MOST) in letter.detail
    assert b"BBBB" not in letter.payload


def test_the_same_over_many_texts_of_one_record() -> None:
    few = ["/9j/ no image"] * images.MOST
    assert not isinstance(decode(json.dumps(turn("e", metadata={"k": few})).encode(), PLACE), Dead)
    line = json.dumps(turn("e", metadata={"k": [*few, "/9j/ one more"]})).encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead) and letter.reason == "image"
