"""What a record may hold and what it may not: bounds, times, numbers, ids (docs/records.md)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter, ValidationError

from schemas import http
from schemas.base import Vad, format_time, parse_time
from schemas.events import (
    MAX_RECORD_BYTES,
    RECORD_TYPES,
    Affect,
    InputRecord,
    Record,
    Turn,
    WritePlan,
    first_intent,
)
from schemas.memory import Mood
from schemas.messages import NewMessages
from schemas.upcast import upcast
from schemas.validation_text import faults
from streams.record_kinds import MODELS

AT = "2026-01-31T09:30:00Z"
MICROS = 1_769_851_800_000_000
TURN: dict[str, Any] = {"type": "turn", "event_id": "e", "session_id": "s", "occurred_at": AT}
STEP = {"session_id": "s", "task_id": "t", "trace_id": "r", "occurred_at": AT}
VAD = {"v": 0, "a": 0, "d": 0}
BACKGROUND = {"type": "background", "content": "x"}
LIKE = {"op": "confirm", "domain": "food", "polarity": "like", "subject": "soba"}
WHOLE: dict[str, dict[str, Any]] = {
    "turn": TURN,
    "recursion": STEP | {"iteration_index": 0, "action": {"action_type": "REFLECT"}},
    "tool_result": STEP | {"success": True, "call_index": 0},
    "signal": {"signal_id": "g", "scope": "session", "session_id": "s", "occurred_at": AT},
    "write_plan": {
        "type": "write_plan", "plan_id": "p", "user_id": "u", "event_id": "e", "occurred_at": AT,
        "extractor": {"name": "rules"},
    },
}  # fmt: skip


def _made(kind: str, **fields: Any) -> Any:
    """The record with these fields; ... leaves one out."""
    given_ = {name: value for name, value in (WHOLE[kind] | fields).items() if value is not ...}
    return RECORD_TYPES[kind].model_validate(given_)


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0), (AT, MICROS), ("2026-01-31T18:30:00+09:00", MICROS),
        ("2026-01-31T00:00:00-09:30", MICROS), ("2026-01-31T09:30:00-00:00", MICROS),
        ("2026-01-31t09:30:00Z", MICROS), ("2026-01-31 09:30:00Z", MICROS),
        ("2026-01-31t09:30:00z", MICROS), ("2026-01-31T09:30:00z", MICROS),
        ("2026-01-31T09:30:00.25z", MICROS + 250_000),
        ("2026-01-31T09:30:00.25Z", MICROS + 250_000),
        ("2026-01-31T09:30:00.000001Z", MICROS + 1),
        ("2026-01-31T09:30:00.1234569Z", MICROS + 123_456), ("1969-12-31T23:59:59.999999Z", -1),
    ],
)  # fmt: skip
def test_a_time_is_read_as_microseconds_utc(text: str, micros: int) -> None:
    assert parse_time(text) == micros


@given(st.integers(-62_135_510_400_000_000, 253_402_214_399_999_999))
def test_a_time_comes_back_as_it_was(micros: int) -> None:
    text = format_time(micros)
    assert text.endswith("Z")
    assert parse_time(text) == micros


NO_TIMES: list[Any] = [
    "", "yesterday", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z",
    "2026-01-31T09:30:61Z", "２026-01-31T09:30:00Z", "2026-W05-6T09:30:00Z", "20260131T093000Z",
    "2026-01-31T09:30:00+25:00", 1.5, True, None, [], {}, "2026-01-31T09:30Z",
    "2026-01-31T09:30:00+0900", "2026-01-31T09:30:00+09", "2026-01-31T09:30:00,5Z",
    "2026-01-31T09:30:00 Z", "2026-01-31T09:30:00+09:00:30", "0001-01-01T00:00:00+14:00",
    "9999-12-31T23:59:59-14:00",
]  # fmt: skip
NO_IDS: list[Any] = [
    "", "x" * 129, "a\nb", "a\n", "\x00", "a\tb", "\x1f", "\x7f", "\ud800", 7, None,
]  # fmt: skip
BEFORE = {"kind": "fact", "body_text": "x", "valid_from": AT, "valid_to": "2026-01-31T09:29:59Z"}
REFUSED: list[tuple[str, dict[str, Any], str]] = [
    *(("turn", {"occurred_at": time}, "occurred_at") for time in NO_TIMES),
    ("turn", {"occurred_at": "2026-01-31T09:30:00"}, "needs an offset"),
    ("turn", {"occurred_at": "2026-01-31T09:30:00.5"}, "needs an offset"),
    *(("turn", {field: id}, field) for id in NO_IDS for field in ("event_id", "session_id")),
    *(("turn", {"tenant": name}, "tenant") for name in ("", "a/b", "/", "a\nb", "x" * 129)),
    *(
        ("turn", {"affect": {"vad": VAD | {"v": value}}}, "vad.v")
        for value in (math.nan, math.inf, -math.inf, True, "0.5", None, 10**400)
    ),
    *(
        ("turn", fields, name)
        for value in (-0.01, 1.01, math.nan, math.inf)
        for name, fields in (
            ("confidence", {"observations": [BACKGROUND | {"confidence": value}]}),
            ("correct_rate", {"metadata": {"correct_rate": value}}),
        )
    ),
    *(
        ("recursion", {"iteration_index": index}, "iteration_index")
        for index in (-1, 1_000_000_001, 1.5, "1", True)
    ),
    ("turn", {"image_summaries": ["a cat"] * 6}, "image_summaries"),
    ("turn", {"observations": [BACKGROUND] * 65}, "observations"),
    ("turn", {"affect": {"vad": VAD, "labels": ["x"] * 7}}, "labels"),
    ("turn", {"user_input": "x" * (MAX_RECORD_BYTES + 1)}, "user_input"),
    *(("turn", {"schema_version": one}, "schema_version") for one in (0, 3, "2", 2.5, True)),
    ("tool_result", {"call_index": ...}, "tool_call_id"),
    ("signal", {"session_id": ..., "user_id": "x"}, "session_id"),
    ("signal", {"scope": "user"}, "user_id"),
    ("turn", {"observations": [{"type": "decision", "rationale": "why"}]}, "decision"),
    ("turn", {"observations": [{"type": "decision", "decision": "  "}]}, "decision"),
    ("turn", {"observations": [{"type": "preference"}]}, "content"),
    ("turn", {"observations": [BACKGROUND | {"content": " \n"}]}, "content"),
    *(
        ("write_plan", {"state_updates": [update]}, reason)
        for update, reason in (
            ({"body_text": "x"}, "needs `kind`"), ({"kind": "fact"}, "needs `body_text`"),
            ({"kind": "mood", "body_text": "x"}, "kind"),
            ({"op": "close"}, "close needs `state_id`"),
            ({"op": "mark_done"}, "mark_done needs `state_id`"),
            ({"op": "erase", "state_id": "s1"}, "op"), (BEFORE, "is before"),
        )
    ),
    *(
        ("write_plan", {"context_updates": {"threads": [thread]}}, reason)
        for thread, reason in (
            ({"thread_key": "", "event_id": "e"}, "thread_key"),
            ({"thread_key": "t"}, "put needs `event_id`"),
            ({"op": "remove", "thread_key": "t"}, "remove needs `event_id`"),
            ({"op": "merge_into", "thread_key": "t"}, "needs `into`"),
            ({"op": "merge_into", "thread_key": "t", "into": "t"}, "another thread"),
        )
    ),
    ("write_plan", {"event_id": None, "event_affect": {"vad": VAD}}, "event_affect"),
    *(
        ("write_plan", {"preference_updates": [LIKE | wrong]}, next(iter(wrong)))
        for wrong in ({"subject": ""}, {"polarity": "love"}, {"op": "upsert"})
    ),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "fields", "reason"), REFUSED)
def test_what_a_record_may_not_hold_is_refused_with_its_field(
    kind: str, fields: dict[str, Any], reason: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        _made(kind, **fields)
    places = [".".join(map(str, fault["loc"])) for fault in refused.value.errors()]
    assert any(reason in place for place in places) or reason in str(refused.value), places


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        *(
            ("turn", {"event_id": id})
            for id in ("x", "x" * 128, "é" * 128, "a/b", "日本 語", "\u00a0")
        ),
        ("recursion", {"iteration_index": 1}), ("turn", {"image_summaries": ["a cat"] * 5}),
        ("turn", {"observations": [BACKGROUND | {"confidence": 0.5}]}),
        ("turn", {"user_input": "x" * MAX_RECORD_BYTES}), ("turn", {"source": "smoke_signal"}),
        ("tool_result", {}), ("signal", {}),
    ],
)  # fmt: skip
def test_what_it_may_hold_is_kept(kind: str, fields: dict[str, Any]) -> None:
    kept = _made(kind, **fields).model_dump(mode="json", exclude_unset=True)
    assert {name: kept[name] for name in fields if name != "observations"} == {
        name: value for name, value in fields.items() if name != "observations"
    }


@pytest.mark.parametrize(
    ("kind", "fields"),
    [
        ("turn", {"observations": [BACKGROUND] * 64}),
        ("turn", {"affect": {"vad": VAD, "labels": ["x"] * 6}}),
        ("tool_result", {"call_index": ..., "tool_call_id": "c"}),
        ("signal", {"scope": "user", "session_id": ..., "user_id": "x"}),
        *(
            ("write_plan", {"state_updates": [update]})
            for update in (
                {"kind": "fact", "body_text": "They live in Kyoto."},
                {"kind": "fact", "state_id": "s1"}, {"kind": "long_mood_state"},
                {"op": "close", "state_id": "s1"}, {"op": "mark_done", "state_id": "s1"},
                BEFORE | {"valid_to": AT},
            )
        ),
        ("write_plan", {"event_affect": {"vad": VAD}}),
        ("write_plan", {"event_id": None, "event_affect": {"vad": VAD, "event_id": "e2"}}),
        ("write_plan", {"preference_updates": [LIKE]}),
    ],
)  # fmt: skip
def test_what_it_may_hold_is_accepted(kind: str, fields: dict[str, Any]) -> None:
    assert _made(kind, **fields)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_vad_is_clamped(value: float) -> None:
    vad = Vad.model_validate({"v": value, "a": -value, "d": 0})
    assert vad.v == max(-1.0, min(1.0, value))
    assert vad.a == -vad.v
    assert -1 <= vad.d <= 1


@pytest.mark.parametrize(("given_", "kept"), [(-0.5, 0.0), (0.3, 0.3), (7, 1.0)])
def test_the_confidence_of_a_feeling_is_clamped(given_: float, kept: float) -> None:
    assert Affect.model_validate({"vad": VAD, "confidence": given_}).confidence == kept


def test_an_integer_is_one_however_it_is_written() -> None:
    """As JSON Schema has it, and as JavaScript's numbers go."""
    index = _made("recursion", iteration_index=1.0).iteration_index
    assert (index, type(index)) == (1, int)


def test_unknown_fields_are_kept() -> None:
    turn = _made("turn", weather={"sky": "grey"}, metadata={"book": "Stewart"})
    assert turn.model_extra == {"weather": {"sky": "grey"}}
    assert turn.metadata.model_extra == {"book": "Stewart"}
    assert turn.model_dump(mode="json")["weather"] == {"sky": "grey"}


def test_defaults_of_a_turn() -> None:
    turn = _made("turn")
    assert (turn.schema_version, turn.tenant) == (1, "default")
    assert (turn.source, turn.status) == ("chat", "done")


def test_the_type_chooses_the_model() -> None:
    adapter: TypeAdapter[Record] = TypeAdapter(InputRecord)
    assert type(adapter.validate_python(TURN)) is Turn
    assert type(adapter.validate_python(WHOLE["write_plan"])) is WritePlan
    for wrong in ({**TURN, "type": "twist"}, {k: v for k, v in TURN.items() if k != "type"}):
        with pytest.raises(ValidationError, match="type"):
            adapter.validate_python(wrong)


@pytest.mark.parametrize(
    ("intent", "counts"),
    [(None, None), ("", None), ("quiz", "quiz"), (["quiz", "notes"], "quiz"), ([], None)],
)
def test_an_intent_given_as_a_list_counts_by_its_first(intent: Any, counts: str | None) -> None:
    assert first_intent(_made("turn", intent=intent).intent) == counts


STEP_OF_OLD = {"type": "recursion", "final_answer": "x", "session_goal": {"content": "x"}}


@pytest.mark.parametrize(
    ("sent", "read"),
    [
        (TURN | {"angent_answer": "42"}, TURN | {"agent_answer": "42"}),
        (TURN | {"final_answer": "42"}, TURN | {"agent_answer": "42"}),
        (TURN | {"agent_answer": "new", "angent_answer": "old"},
         TURN | {"agent_answer": "new", "angent_answer": "old"}),
        (STEP_OF_OLD, STEP_OF_OLD),
        (TURN | {"user_input": None, "status": None}, TURN),
        ({"type": "tool_result", "result": None, "call_index": None},
         {"type": "tool_result", "result": None}),
    ],
    ids=["old name", "old name too", "today's wins", "of turns only", "null", "a null result"],
)  # fmt: skip
def test_old_names_and_nulls_are_read_as_today_s(
    sent: dict[str, Any], read: dict[str, Any]
) -> None:
    assert upcast(dict(sent)) == read


def test_a_reply_writes_times_as_text_and_refuses_what_it_does_not_name() -> None:
    mood: dict[str, Any] = {"vad": VAD, "baseline_vad": VAD, "shock_vad": VAD, "at": AT,
                            "shock_halflife_seconds": 3600.0, "shock_severity": 0.0}  # fmt: skip
    assert Mood.model_validate(mood).model_dump(mode="json")["at"] == AT
    with pytest.raises(ValidationError, match="colour"):
        Mood.model_validate(mood | {"colour": "blue"})


BODIES: list[type[BaseModel]] = [*MODELS.values(), NewMessages, http.StateCorrection]
ODD: tuple[Any, ...] = (5, 1.5, True, {}, {"a": [5]}, [5], ["a", 5, {}], [[]], "x", "x" * 300, "\0")


@pytest.mark.parametrize("model", BODIES)
def test_a_fault_names_a_field_and_never_a_type_of_python(model: type[BaseModel]) -> None:
    refused = 0
    for field in model.model_fields:
        for odd in ODD:
            with pytest.raises(ValidationError) as caught:
                model.model_validate({field: odd, "no_such_type": None, "type": odd})
            told = [one for one in faults(caught.value) if one.place[0] == field]
            refused += bool(told)
            assert len({one.place for one in told}) == len(told), "one fault for each place"
            for place, reason in told:
                assert all(isinstance(part, int) or part.isidentifier() for part in place), place
                assert not {"str", "float", "int", "bool"} & set(place), place
                assert reason
    assert refused > len(model.model_fields)


def test_what_has_one_form_in_part_is_wrong_inside() -> None:
    def of(intent: Any) -> list[tuple[Any, ...]]:
        turn = {"event_id": "e", "session_id": "s", "occurred_at": "2026-03-01T00:00:00Z"}
        with pytest.raises(ValidationError) as caught:
            MODELS["turn"].model_validate({**turn, "intent": intent})
        return [tuple(one) for one in faults(caught.value)]

    assert of(["a", 5]) == [(("intent", 1), "Input should be a valid string")]
    assert of(5) == [(("intent",), "Input should be a valid string or a valid list")]
