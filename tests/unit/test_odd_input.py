"""Times and numbers that the standards allow and Python does not read by itself."""

import json

import pytest

from schemas.base import format_time, parse_time
from streams.folds.effects import Input
from streams.pipeline.decode import Dead, decode
from tests.property.world import Json, plan, turn, world

PLACE = ("odd", 0, 1)


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("2016-12-31T23:59:60Z", "2017-01-01T00:00:00Z"),
        ("2016-12-31t23:59:60z", "2017-01-01T00:00:00Z"),
        ("2016-12-31T23:59:60.5Z", "2017-01-01T00:00:00.500000Z"),
        ("2017-01-01T08:59:60+09:00", "2017-01-01T00:00:00Z"),
        ("2015-06-30T18:59:60-05:00", "2015-07-01T00:00:00Z"),
    ],
)
def test_a_leap_second_is_the_second_after_it(text: str, same: str) -> None:
    parse_time("2016-12-31T23:59:01Z")  # the minute is known
    assert format_time(parse_time(text)) == same


@pytest.mark.parametrize(
    "text",
    ["2016-12-31T23:58:60Z", "2016-12-30T23:59:60Z", "2016-12-31T23:59:61Z",
     "2016-12-31T23:59:60+09:00", "9999-12-31T23:59:60Z", "2016-02-30T23:59:60Z"],
)  # fmt: skip
def test_another_minute_has_60_seconds(text: str) -> None:
    for second in ("00", "59"):
        try:
            parse_time(f"{text[:17]}{second}{text[19:]}")
        except ValueError:
            continue
    letter = decode(json.dumps({**turn("e", 0), "occurred_at": text}).encode(), PLACE)
    assert isinstance(letter, Dead) and letter.reason == "invalid"
    assert letter.detail.startswith("occurred_at: ")


@pytest.mark.parametrize("digits", ["9" * 4_301, "-" + "1" * 9_000])
@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"metadata": {"n": 7}}, "metadata.n"),
        ({"colour": {"deep": [0, {"n": 7}]}}, "colour.deep.1.n"),
        ({"intent": 7}, "intent"),
        ({"user_input": "8" * 5_000, "metadata": {"n": 7}}, "metadata.n"),
    ],
)
def test_an_integer_that_python_cannot_read_is_named(digits: str, fields: Json, path: str) -> None:
    line = json.dumps(turn("e", 0, **fields)).replace(": 7", f": {digits}").encode()
    letter = decode(line, PLACE)
    assert isinstance(letter, Dead)
    assert (letter.reason, letter.detail) == (
        "invalid", f"{path}: an integer of more than 4300 digits; send it as text",
    )  # fmt: skip


def test_long_digits_in_a_text_are_a_text() -> None:
    assert isinstance(
        decode(json.dumps(turn("e", 0, user_input="8" * 5_000)).encode(), PLACE), Input
    )


@pytest.mark.parametrize("kind", ["fact", "relation", "task", "summary"])
def test_a_mood_cannot_be_written_under_the_id_of_another_state(kind: str) -> None:
    memory = world(plan("p1", 0, {"kind": kind, "state_id": "z", "body_text": "a"}))
    update = {"kind": "long_mood_state", "state_id": "z", "body_text": "sad"}
    assert memory.say(plan("p2", 1, update)) == ["dead"]
    assert memory.reasons == ["kind_differs"]
    assert memory.mood() is None


def test_revisions_of_a_status_show_the_reason_of_the_document() -> None:
    memory = world(turn("e1", 0, session_status="closed"), turn("e2", 1))
    first, second = memory.revisions("session")
    assert first["after"] == {"status": "closed", "closed_reason": "closed by the turn"}
    assert second["before"] == first["after"]
