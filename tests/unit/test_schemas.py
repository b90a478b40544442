"""What a record may hold and what it may not: bounds, times, numbers, ids (docs/records.md)."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter, ValidationError

from schemas.base import Vad, format_time, parse_time
from schemas.events import (
    MAX_RECORD_BYTES,
    Affect,
    InputRecord,
    Observation,
    Record,
    Recursion,
    Signal,
    ToolResult,
    Turn,
    WritePlan,
    first_intent,
)
from schemas.memory import Mood
from schemas.upcast import upcast

# Strict: when `parse_time` reads RFC 3339 and nothing else, these marks fail and have to go.
AT = "2026-01-31T09:30:00Z"
MICROS = 1_769_851_800_000_000
TURN: dict[str, Any] = {"type": "turn", "event_id": "e", "session_id": "s", "occurred_at": AT}
PLAN: dict[str, Any] = {
    "type": "write_plan", "plan_id": "p", "user_id": "u", "event_id": "e", "occurred_at": AT,
    "extractor": {"name": "rules"},
}  # fmt: skip


def _turn(**fields: Any) -> Turn:
    return Turn.model_validate(TURN | fields)


def _plan(**fields: Any) -> WritePlan:
    return WritePlan.model_validate(PLAN | fields)


def _state(**fields: Any) -> WritePlan:
    return _plan(state_updates=[fields])


# --- times ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "micros"),
    [
        ("1970-01-01T00:00:00Z", 0),
        (AT, MICROS),
        ("2026-01-31T18:30:00+09:00", MICROS),
        ("2026-01-31T00:00:00-09:30", MICROS),
        ("2026-01-31T09:30:00-00:00", MICROS),
        ("2026-01-31t09:30:00Z", MICROS),
        ("2026-01-31 09:30:00Z", MICROS),
        ("2026-01-31T09:30:00.25Z", MICROS + 250_000),
        ("2026-01-31T09:30:00.000001Z", MICROS + 1),
        ("2026-01-31T09:30:00.1234569Z", MICROS + 123_456),
        ("1969-12-31T23:59:59.999999Z", -1),
    ],
)
def test_a_time_is_read_as_microseconds_utc(text: str, micros: int) -> None:
    assert parse_time(text) == micros


@pytest.mark.parametrize(
    "text",
    ["2026-01-31t09:30:00z", "2026-01-31T09:30:00z", "2026-01-31T09:30:00.25z"],
)
def test_a_lowercase_z_is_utc(text: str) -> None:
    assert parse_time(text) in (MICROS, MICROS + 250_000)


@pytest.mark.parametrize("text", ["2026-01-31T09:30:00", "2026-01-31T09:30:00.5"])
def test_a_time_without_an_offset_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="needs an offset"):
        _turn(occurred_at=text)


@pytest.mark.parametrize(
    "value",
    ["", "yesterday", "2026-01-31", "2026-02-30T00:00:00Z", "2026-01-31T25:00:00Z",
     "2026-01-31T09:30:61Z", "２026-01-31T09:30:00Z", "2026-W05-6T09:30:00Z",
     "20260131T093000Z", "2026-01-31T09:30:00+25:00",
     1.5, True, None, [], {}],
)  # fmt: skip
def test_what_is_no_time_is_refused_with_its_field(value: Any) -> None:
    with pytest.raises(ValidationError) as refused:
        _turn(occurred_at=value)
    assert refused.value.errors()[0]["loc"] == ("occurred_at",)


@pytest.mark.parametrize(
    "text",
    ["2026-01-31T09:30Z", "2026-01-31T09:30:00+0900", "2026-01-31T09:30:00+09",
     "2026-01-31T09:30:00,5Z", "2026-01-31T09:30:00 Z", "2026-01-31T09:30:00+09:00:30"],
)  # fmt: skip
def test_iso_8601_that_is_not_rfc_3339_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        _turn(occurred_at=text)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-14:00"])
def test_a_time_that_leaves_the_calendar_in_utc_is_refused(text: str) -> None:
    with pytest.raises(ValidationError):
        _turn(occurred_at=text)


@given(st.integers(-62_135_510_400_000_000, 253_402_214_399_999_999))
def test_a_time_comes_back_as_it_was(micros: int) -> None:
    text = format_time(micros)
    assert text.endswith("Z")
    assert parse_time(text) == micros


# --- ids --------------------------------------------------------------------------------------


@pytest.mark.parametrize("value", ["x", "x" * 128, "é" * 128, "a/b", "日本 語", "\u00a0"])
def test_an_id_of_1_to_128_characters_is_kept(value: str) -> None:
    assert _turn(event_id=value).event_id == value


@pytest.mark.parametrize(
    "value", ["", "x" * 129, "a\nb", "a\n", "\x00", "a\tb", "\x1f", "\x7f", "\ud800", 7, None]
)
def test_other_ids_are_refused(value: Any) -> None:
    for field in ("event_id", "session_id"):
        with pytest.raises(ValidationError, match=field):
            _turn(**{field: value})


@pytest.mark.parametrize("value", ["", "a/b", "/", "a\nb", "x" * 129])
def test_a_tenant_holds_no_slash(value: str) -> None:
    with pytest.raises(ValidationError, match="tenant"):
        _turn(tenant=value)


# --- numbers ----------------------------------------------------------------------------------


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, True, "0.5", None, 10**400])
def test_vad_takes_finite_numbers_only(value: Any) -> None:
    with pytest.raises(ValidationError):
        Vad.model_validate({"v": value, "a": 0.0, "d": 0.0})


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_vad_is_clamped(value: float) -> None:
    vad = Vad.model_validate({"v": value, "a": -value, "d": 0})
    assert vad.v == max(-1.0, min(1.0, value))
    assert vad.a == -vad.v
    assert -1 <= vad.d <= 1


@pytest.mark.parametrize(("given_", "kept"), [(-0.5, 0.0), (0.3, 0.3), (7, 1.0)])
def test_the_confidence_of_a_feeling_is_clamped(given_: float, kept: float) -> None:
    affect = Affect.model_validate({"vad": {"v": 0, "a": 0, "d": 0}, "confidence": given_})
    assert affect.confidence == kept


@pytest.mark.parametrize("value", [-0.01, 1.01, math.nan, math.inf])
def test_other_confidences_are_refused(value: float) -> None:
    with pytest.raises(ValidationError, match="confidence"):
        Observation.model_validate({"type": "background", "content": "x", "confidence": value})
    with pytest.raises(ValidationError, match="correct_rate"):
        _turn(metadata={"correct_rate": value})


@pytest.mark.parametrize("value", [-1, 1_000_000_001, 1.5, "1", True])
def test_an_iteration_index_is_a_bounded_integer(value: Any) -> None:
    with pytest.raises(ValidationError, match="iteration_index"):
        Recursion.model_validate(
            {"session_id": "s", "task_id": "t", "trace_id": "r", "iteration_index": value,
             "occurred_at": AT, "action": {"action_type": "REFLECT"}}
        )  # fmt: skip


def test_an_integer_is_one_however_it_is_written() -> None:
    """As JSON Schema has it, and as JavaScript's numbers go."""
    one = Recursion.model_validate(
        {"session_id": "s", "task_id": "t", "trace_id": "r", "iteration_index": 1.0,
         "occurred_at": AT, "action": {"action_type": "REFLECT"}}
    )  # fmt: skip
    assert (one.iteration_index, type(one.iteration_index)) == (1, int)


# --- lists and texts --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("field", "item", "most"),
    [("image_summaries", "a cat", 5), ("observations", {"type": "background", "content": "x"}, 64)],
)
def test_lists_have_a_cap(field: str, item: Any, most: int) -> None:
    assert len(getattr(_turn(**{field: [item] * most}), field)) == most
    with pytest.raises(ValidationError, match=field):
        _turn(**{field: [item] * (most + 1)})


def test_a_feeling_has_at_most_six_labels() -> None:
    affect = {"vad": {"v": 0, "a": 0, "d": 0}}
    assert _turn(affect=affect | {"labels": ["x"] * 6})
    with pytest.raises(ValidationError, match="labels"):
        _turn(affect=affect | {"labels": ["x"] * 7})


def test_a_text_is_no_longer_than_a_record() -> None:
    assert _turn(user_input="x" * MAX_RECORD_BYTES)
    with pytest.raises(ValidationError, match="user_input"):
        _turn(user_input="x" * (MAX_RECORD_BYTES + 1))


# --- records ----------------------------------------------------------------------------------


def test_unknown_fields_are_kept() -> None:
    turn = _turn(weather={"sky": "grey"}, metadata={"book": "Stewart"})
    assert turn.model_extra == {"weather": {"sky": "grey"}}
    assert turn.metadata is not None
    assert turn.metadata.model_extra == {"book": "Stewart"}
    assert turn.model_dump(mode="json")["weather"] == {"sky": "grey"}


def test_defaults_of_a_turn() -> None:
    turn = _turn()
    assert (turn.schema_version, turn.tenant, turn.source, turn.status) == (
        1, "default", "chat", "done",
    )  # fmt: skip


def test_an_unknown_source_is_accepted() -> None:
    assert _turn(source="smoke_signal").source == "smoke_signal"


@pytest.mark.parametrize("version", [0, 3, "2", 2.5, True])
def test_a_schema_version_nobody_knows_is_refused(version: Any) -> None:
    with pytest.raises(ValidationError, match="schema_version"):
        _turn(schema_version=version)


def test_the_type_chooses_the_model() -> None:
    adapter: TypeAdapter[Record] = TypeAdapter(InputRecord)
    assert type(adapter.validate_python(TURN)) is Turn
    assert type(adapter.validate_python(PLAN)) is WritePlan
    for wrong in ({**TURN, "type": "twist"}, {k: v for k, v in TURN.items() if k != "type"}):
        with pytest.raises(ValidationError, match="type"):
            adapter.validate_python(wrong)


def test_a_tool_result_names_its_call() -> None:
    result = {"session_id": "s", "task_id": "t", "trace_id": "r", "occurred_at": AT,
              "success": True}  # fmt: skip
    assert ToolResult.model_validate(result | {"call_index": 0}).result is None
    assert ToolResult.model_validate(result | {"tool_call_id": "c"})
    with pytest.raises(ValidationError, match="tool_call_id"):
        ToolResult.model_validate(result)


@pytest.mark.parametrize(
    ("scope", "needed", "other"),
    [("session", "session_id", "user_id"), ("user", "user_id", "session_id")],
)
def test_a_signal_needs_the_key_of_its_scope(scope: str, needed: str, other: str) -> None:
    signal = {"signal_id": "g", "scope": scope, "occurred_at": AT}
    assert Signal.model_validate(signal | {needed: "x"})
    with pytest.raises(ValidationError, match=needed):
        Signal.model_validate(signal | {other: "x"})


@pytest.mark.parametrize(
    ("observation", "missing"),
    [
        ({"type": "decision", "rationale": "why"}, "decision"),
        ({"type": "decision", "decision": "  "}, "decision"),
        ({"type": "preference"}, "content"),
        ({"type": "background", "content": " \n"}, "content"),
    ],
)
def test_an_observation_says_something(observation: dict[str, Any], missing: str) -> None:
    with pytest.raises(ValidationError, match=missing):
        _turn(observations=[observation])


@pytest.mark.parametrize(
    ("intent", "counts"),
    [(None, None), ("", None), ("quiz", "quiz"), (["quiz", "notes"], "quiz"), ([], None)],
)
def test_an_intent_given_as_a_list_counts_by_its_first(intent: Any, counts: str | None) -> None:
    assert first_intent(_turn(intent=intent).intent) == counts


# --- write plans ------------------------------------------------------------------------------


def test_a_state_update_may_be_an_upsert_a_close_or_a_mark() -> None:
    assert _state(kind="fact", body_text="They live in Kyoto.")
    assert _state(kind="fact", state_id="s1")  # an empty body keeps the old
    assert _state(kind="long_mood_state")
    assert _state(op="close", state_id="s1")
    assert _state(op="mark_done", state_id="s1")


@pytest.mark.parametrize(
    ("update", "reason"),
    [
        ({"body_text": "x"}, "needs `kind`"),
        ({"kind": "fact"}, "needs `body_text`"),
        ({"kind": "mood", "body_text": "x"}, "kind"),
        ({"op": "close"}, "close needs `state_id`"),
        ({"op": "mark_done"}, "mark_done needs `state_id`"),
        ({"op": "erase", "state_id": "s1"}, "op"),
        (
            {"kind": "fact", "body_text": "x", "valid_from": AT,
             "valid_to": "2026-01-31T09:29:59Z"},
            "is before",
        ),
    ],
)  # fmt: skip
def test_a_state_update_that_is_not_whole_is_refused(update: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        _state(**update)


def test_validity_may_be_empty_but_not_negative() -> None:
    assert _state(kind="fact", body_text="x", valid_from=AT, valid_to=AT)


@pytest.mark.parametrize(
    ("thread", "reason"),
    [
        ({"thread_key": "", "event_id": "e"}, "thread_key"),
        ({"thread_key": "t"}, "put needs `event_id`"),
        ({"op": "remove", "thread_key": "t"}, "remove needs `event_id`"),
        ({"op": "merge_into", "thread_key": "t"}, "needs `into`"),
        ({"op": "merge_into", "thread_key": "t", "into": "t"}, "another thread"),
    ],
)
def test_a_thread_update_that_is_not_whole_is_refused(thread: dict[str, Any], reason: str) -> None:
    with pytest.raises(ValidationError, match=reason):
        _plan(context_updates={"threads": [thread]})


def test_a_plans_feeling_belongs_to_an_event() -> None:
    affect: dict[str, Any] = {"vad": {"v": 0.1, "a": 0, "d": 0}}
    assert _plan(event_affect=affect)
    assert _plan(event_id=None, event_affect=affect | {"event_id": "e2"})
    with pytest.raises(ValidationError, match="event_affect"):
        _plan(event_id=None, event_affect=affect)


def test_a_preference_has_a_subject() -> None:
    update = {"op": "confirm", "domain": "food", "polarity": "like", "subject": "soba"}
    assert _plan(preference_updates=[update])
    for wrong in ({"subject": ""}, {"polarity": "love"}, {"op": "upsert"}):
        with pytest.raises(ValidationError, match=next(iter(wrong))):
            _plan(preference_updates=[update | wrong])


# --- old names --------------------------------------------------------------------------------


@pytest.mark.parametrize("old", ["angent_answer", "final_answer"])
def test_old_names_of_the_answer_are_read(old: str) -> None:
    assert upcast(TURN | {old: "42"}) == TURN | {"agent_answer": "42"}


def test_todays_name_wins_over_an_old_one() -> None:
    given_ = TURN | {"agent_answer": "new", "angent_answer": "old"}
    assert upcast(dict(given_)) == given_


def test_old_names_are_renamed_on_turns_only() -> None:
    step = {"type": "recursion", "final_answer": "x", "session_goal": {"content": "x"}}
    assert upcast(dict(step)) == step


def test_a_null_field_counts_as_absent() -> None:
    assert upcast(TURN | {"user_input": None, "status": None}) == TURN
    assert _turn(**upcast({"status": None})).status == "done"


def test_a_tool_may_answer_null() -> None:
    assert upcast({"type": "tool_result", "result": None, "call_index": None}) == {
        "type": "tool_result",
        "result": None,
    }


# --- what goes out ----------------------------------------------------------------------------


def test_a_reply_writes_times_as_text_and_refuses_what_it_does_not_name() -> None:
    vad = {"v": 0, "a": 0, "d": 0}
    mood: dict[str, Any] = {"vad": vad, "baseline_vad": vad, "shock_vad": vad, "at": AT,
                            "shock_halflife_seconds": 3600.0, "shock_severity": 0.0}  # fmt: skip
    assert Mood.model_validate(mood).model_dump(mode="json")["at"] == AT
    with pytest.raises(ValidationError, match="colour"):
        Mood.model_validate(mood | {"colour": "blue"})
