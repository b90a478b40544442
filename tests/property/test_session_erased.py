"""A session or turn that was erased is as if it had never been: memory is what it is without it."""

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sinks.digest import digest
from streams.apps.forget_session import forget_session
from streams.files.open_generation import opened
from streams.files.refold import refold_user
from streams.folds.constants import Rules
from tests.command import files_holding, rows
from tests.property.strategies import events, write_plans
from tests.property.test_folded_again import FEW, content, history_of
from tests.property.world import Json, World

SECRET = "Quillfeather"


@st.composite
def told(draw: st.DrawFn) -> list[Json]:
    return draw(events()) + draw(write_plans(most=4))


def of_session(gone: str, records: list[Json]) -> set[int]:
    """Which records are the session's: those that name it, and plans without a session that are
    made of an event that only it has."""
    here = {one.get("event_id") for one in records if one["type"] == "turn" and is_of(one, gone)}
    there = {one["event_id"] for one in records if one["type"] == "turn" and not is_of(one, gone)}
    return {
        id(one)
        for one in records
        if is_of(one, gone)
        or (
            one["type"] == "write_plan"
            and one.get("session_id") is None
            and made_of(one) & (here - there)
        )
    }


def made_of(plan: Json) -> set[Any]:
    """The events that a plan is made of."""
    updates = (update for value in plan.values() if isinstance(value, list) for update in value)
    evidence = {event for update in updates for event in update.get("evidence_event_ids", ())}
    felt = plan.get("event_affect") or {}
    return evidence | {plan.get("event_id"), felt.get("event_id")}


def is_of(record: Json, session: str) -> bool:
    return record.get("session_id") == session


def applied(records: list[Json]) -> list[Json]:
    made = World()
    return [one for one in records if made.say(one) == ["applied"]]


def both(
    records: list[Json], erased: Callable[[list[Json]], set[int]]
) -> tuple[list[Json], list[Json]]:
    """Records that all apply, and those of them that are not `erased`, which apply without these,
    too."""
    while True:
        every = applied(records)
        theirs = erased(every)
        without = applied([one for one in every if id(one) not in theirs])
        left = theirs | set(map(id, without))
        if len(left) == len(records):
            return every, without
        records = [one for one in every if id(one) in left]


@pytest.mark.component
@FEW
@given(told(), st.sampled_from(("s1", "s2")))
def test_memory_is_that_of_a_history_which_never_had_the_session(
    records: list[Json], gone: str
) -> None:
    every, without = both(records, partial(of_session, gone))
    with history_of(every) as history, history_of(without) as never:
        forget_session(history, "default", gone)
        users = {one["user_id"] for one in without if one.get("user_id")}
        with opened(history) as (store, _), opened(never) as (other, _):
            for user in users:
                mine, theirs = (one.entity("users", "default", user) for one in (store, other))
                assert content(mine) == content(theirs), user
                assert content(mine) == content(refold_user(history, "default", user, Rules())), (
                    user
                )
        assert digest(history)["memory"] == digest(never)["memory"]
        again = forget_session(history, "default", gone)
        assert all(one["erased"] == 0 for one in again["tables"].values())
        assert digest(history)["memory"] == digest(never)["memory"]


def of_turn(gone: str, event: str, records: list[Json]) -> set[int]:
    """Which records are the turn's: the turn, the steps of its task, and plans made of it."""
    turns = [one for one in records if one["type"] == "turn"]
    own = [one for one in turns if is_of(one, gone) and one["event_id"] == event]
    tasks = {one.get("task_id") or event for one in own} | {event}
    elsewhere = {one["event_id"] for one in turns if not is_of(one, gone)}
    return {
        id(one)
        for one in records
        if any(one is turn for turn in own)
        or (one["type"] != "turn" and is_of(one, gone) and one.get("task_id") in tasks)
        or (
            one["type"] == "write_plan"
            and event in made_of(one)
            and (one.get("session_id") == gone
                 or (one.get("session_id") is None and event not in elsewhere))
        )
    }  # fmt: skip


@pytest.mark.component
@FEW
@given(told(), st.data())
def test_memory_is_that_of_a_history_which_never_had_the_turn(
    records: list[Json], data: st.DataObject
) -> None:
    turns = [(one["session_id"], one["event_id"]) for one in records if one["type"] == "turn"]
    session, event = data.draw(st.sampled_from(turns or [("s1", "none")]))
    every, without = both(records, partial(of_turn, session, event))
    with history_of(every) as history, history_of(without) as never:
        forget_session(history, "default", session, event)
        users = {one["user_id"] for one in without if one.get("user_id")}
        with opened(history) as (store, _), opened(never) as (other, _):
            for user in users:
                mine, theirs = (one.entity("users", "default", user) for one in (store, other))
                assert content(mine) == content(theirs), user
        assert digest(history)["memory"] == digest(never)["memory"]
        again = forget_session(history, "default", session, event)
        assert all(one["erased"] == 0 for one in again["tables"].values())
        assert digest(history)["memory"] == digest(never)["memory"]


def test_no_byte_of_the_session_stays_on_disk() -> None:
    turn = {"type": "turn", "session_id": "gone", "user_id": "ada", "event_id": "e",
            "occurred_at": "2026-03-01T09:00:00Z", "user_input": SECRET}  # fmt: skip
    with history_of([turn, {**turn, "session_id": "stays", "user_input": "tea"}]) as history:
        assert files_holding(history, SECRET)
        forget_session(history, "default", "gone")
        assert files_holding(history, SECRET) == []
        assert rows(history, "SELECT session_id FROM events") == [("stays",)]


def test_no_byte_of_the_turn_stays_on_disk_and_the_others_are_as_they_were() -> None:
    turn = {"type": "turn", "session_id": "s", "user_id": "ada", "event_id": "e1", "task_id": "t",
            "occurred_at": "2025-03-01T09:00:00Z", "user_input": f"I live in {SECRET}.",
            "agent_answer": SECRET}  # fmt: skip
    step = {"type": "recursion", "session_id": "s", "task_id": "t", "trace_id": "r",
            "iteration_index": 0, "status": "done", "observe": SECRET, "thought": SECRET,
            "occurred_at": "2025-03-01T09:00:01Z", "action": {"action_type": "ANSWER"}}  # fmt: skip
    plan = {"type": "write_plan", "plan_id": "p", "user_id": "ben", "session_id": "s",
            "occurred_at": "2025-03-01T09:00:02Z", "extractor": {"name": "test"}, "event_id": "e1",
            "state_updates": [{"kind": "fact", "body_text": SECRET}]}  # fmt: skip
    other = {**turn, "event_id": "e2", "task_id": "t2", "user_input": "I live in Oslo.",
             "agent_answer": "tea", "occurred_at": "2025-03-01T09:01:00Z"}  # fmt: skip
    refused: list[Json] = [
        {**plan, "plan_id": "q", "state_updates": [{"op": "close", "state_id": SECRET}]},
        {**turn, "agent_answer": f"another {SECRET}"},
    ]
    with history_of([turn, step, plan, *refused, other]) as history:
        assert files_holding(history, SECRET)
        receipt = forget_session(history, "default", "s", "e1")
        assert files_holding(history, SECRET) == []
        assert receipt["may_remain"] == {} and "'e1'" not in str(receipt)
        assert rows(history, "SELECT event_id, user_input FROM events") == [
            ("e2", "I live in Oslo.")
        ]
        with history_of([other]) as never:
            assert digest(history)["memory"] == digest(never)["memory"]


def test_a_session_that_never_was_is_erased_with_zeros() -> None:
    turn = {"type": "turn", "session_id": "stays", "user_id": "ada", "event_id": "e",
            "occurred_at": "2026-03-01T09:00:00Z", "user_input": "tea"}  # fmt: skip
    with history_of([turn]) as history:
        before = digest(history)["memory"]
        receipt = forget_session(history, "default", "nowhere")
        assert receipt["users"] == 0
        assert digest(history)["memory"] == before
