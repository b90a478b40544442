"""The demo's data says what its page says it does: each line is a record, but for the bad one."""

import json
from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from pydantic import ValidationError

from schemas.base import DAY, parse_time
from schemas.events import RECORD_TYPES
from schemas.upcast import upcast
from streams.sample import CONVERSATIONS

BAD = "lin-algebra-1"
SECRET = "surprise party"
LINES = CONVERSATIONS.read_text(encoding="utf-8").splitlines()
RECORDS: list[dict[str, Any]] = [json.loads(line) for line in LINES]
TURNS = [record for record in RECORDS if record["type"] == "turn"]


def times(record: dict[str, Any]) -> int:
    """When a record is sent: an ended turn comes after the steps it ends."""
    return parse_time(record.get("recorded_at") or record["occurred_at"])


def steps(task_id: str) -> list[dict[str, Any]]:
    return [r for r in RECORDS if r["type"] == "recursion" and r["task_id"] == task_id]


@pytest.mark.parametrize("record", RECORDS)
def test_each_record_is_valid_but_for_the_bad_one(record: dict[str, Any]) -> None:
    model = RECORD_TYPES[record["type"]]
    if record.get("event_id") == BAD:
        with pytest.raises(ValidationError, match=r"metadata.correct_rate"):
            model.model_validate(upcast(dict(record)))
    else:
        assert model.model_validate(upcast(dict(record))).model_extra == {}


def test_two_weeks_in_time_order_of_three_users() -> None:
    sent = [times(record) for record in RECORDS]
    assert sent == sorted(sent)
    assert 10 * DAY < sent[-1] - sent[0] <= 14 * DAY
    assert {turn["user_id"] for turn in TURNS} == {"emma", "lin", "yui"}
    assert 60 <= len(RECORDS) <= 80


def test_one_line_is_sent_twice() -> None:
    assert [n for n in Counter(LINES).values() if n > 1] == [2]


def test_ids_are_used_once_but_for_the_duplicate_and_the_running_turn() -> None:
    events = Counter(turn["event_id"] for turn in TURNS)
    assert {event for event, n in events.items() if n > 1} == {"emma-move-2", "emma-family-1"}
    plans = [record["plan_id"] for record in RECORDS if record["type"] == "write_plan"]
    traces = [record["trace_id"] for record in RECORDS if record["type"] == "recursion"]
    assert len(plans) == len(set(plans)) and len(traces) == len(set(traces))


def test_the_secret_stands_in_the_meta_request_alone() -> None:
    holding = [record for record in RECORDS if SECRET in json.dumps(record)]
    assert [record["source"] for record in holding] == ["meta_request"]
    after = TURNS[TURNS.index(holding[0]) + 1]
    assert after["source"] == "meta_proactive" and after["session_id"] == holding[0]["session_id"]


def test_what_a_plan_names_exists_before_it() -> None:
    seen: set[str] = set()
    for record in RECORDS:
        if record["type"] == "turn":
            seen.add(record["event_id"])
        elif record["type"] == "write_plan":
            assert named(record) <= seen, record["plan_id"]


def named(plan: dict[str, Any]) -> set[str]:
    """Every event id a plan mentions."""
    context = plan.get("context_updates", {})
    links = context.get("links", [])
    return (
        {plan["event_id"]}
        | {
            e
            for update in plan.get("state_updates", [])
            for e in update.get("evidence_event_ids", [])
        }
        | {thread["event_id"] for thread in context.get("threads", [])}
        | {link[end] for link in links for end in ("from_event_id", "to_event_id")}
    )


def test_a_correction_keeps_the_version_and_a_move_begins_a_new_one() -> None:
    updates = [u for r in RECORDS for u in r.get("state_updates", [])]
    birthday = [u for u in updates if u.get("state_id") == "emma-nora-birthday"]
    home = [u for u in updates if u.get("state_id") == "emma-home"]
    assert [u["payload"]["date"] for u in birthday] == ["03-12", "03-14"]
    assert "valid_from" not in birthday[1] and birthday[1]["evidence_event_ids"]
    assert home[1]["valid_from"] == "2026-03-13T00:00:00Z"


def test_a_preference_is_seen_in_three_turns_of_one_session() -> None:
    seen = Counter(
        (turn["session_id"], " ".join(seen["content"].casefold().split()))
        for turn in TURNS
        for seen in turn.get("observations", [])
        if seen["type"] == "preference" and not seen.get("explicit")
    )
    assert seen == {("emma-move", "short answers in bullet points"): 3}


def test_tasks_replan_wait_and_are_stopped() -> None:
    kinds = [step["action"]["action_type"] for step in steps("emma-move-task-1")]
    assert kinds.count("RE_PLAN") == 2 and kinds[-1] == "ANSWER"
    stopped = steps("emma-trains-task-1")
    assert len(stopped) == stopped[0]["max_iteration"]
    assert all(step["action"]["action_type"] == "CALL_TOOL" for step in stopped)
    asked, *_, answered = steps("yui-trip-task-1")
    assert asked["action"]["action_type"] == "CLARIFY"
    assert answered["action"]["action_type"] == "ANSWER"
    assert any(
        times(asked) < times(turn) < times(answered)
        for turn in TURNS
        if turn["session_id"] == "yui-trip"
    )


def test_tool_results_name_calls_that_were_made() -> None:
    made = {
        (record["trace_id"], call["id"])
        for record in RECORDS
        if record["type"] == "recursion"
        for call in record["action"]["output"].get("tool_calls", [])
    }
    results = [record for record in RECORDS if record["type"] == "tool_result"]
    assert {(result["trace_id"], result["tool_call_id"]) for result in results} == made
    assert {result["success"] for result in results} == {True, False}


def test_the_learners_answers_make_the_profile() -> None:
    told = [
        (turn["metadata"]["difficulty"], turn["metadata"]["correct_rate"])
        for turn in TURNS
        if turn.get("topic") == "微积分-极限" and "metadata" in turn
    ]
    assert told == [("easy", 0.4), ("easy", 0.8), ("hard", 1.0), ("hard", 1.0), ("hard", 1.0)]


def test_moods_fall_and_recover() -> None:
    felt = [
        turn["affect"]["vad"]["v"]
        for turn in TURNS
        if turn["session_id"] == "yui-days" and "affect" in turn
    ]
    lowest = min(felt)
    assert felt[0] > lowest < 0 < felt[-1] and felt.index(lowest) == 1


def test_a_session_is_taken_up_again_after_more_than_a_day() -> None:
    talked = [times(turn) for turn in TURNS if turn["session_id"] == "emma-move"]
    assert max(b - a for a, b in pairwise(talked)) > DAY
