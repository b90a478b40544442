"""Forgetting one person leaves every record that belongs to another, whatever it mentions: each
kind of record that a user owns (`schemas/record_kinds.py`) mentions the person's session and event
in each way its fields allow."""

from typing import Any

import pytest

from schemas.record_kinds import OWNED_RECORDS
from streams.apps.compact_and_forget import forget
from tests.command import rows
from tests.property.test_folded_again import history_of
from tests.property.test_person_erased import OF_USERS, memory_of
from tests.property.world import Json, plan, signal, turn

FELT = {"vad": {"v": 0.5, "a": 0.1, "d": 0.1}, "confidence": 0.9}
OF_OTHER: dict[str, Json] = {
    "a signal that mentions the session": signal("g", 5, intent="quiz", topic="math"),
    "a plan that mentions the session": plan("p1", 5, {"op": "upsert", "kind": "fact",
                                                       "state_id": "f", "body_text": "tea"}),
    "a moment of affect in the session": plan("p2", 5, event_affect=FELT | {"event_id": "own"}),
    "a moment of affect in an unnamed event": plan("p3", 5, event_id=None, event_affect=FELT
                                                   | {"event_id": "later"}),
    "a thread with the event": plan("p4", 5, context_updates={
        "threads": [{"op": "put", "thread_key": "k", "event_id": "e1"}]}),
    "a link to the event": plan("p5", 5, context_updates={
        "links": [{"op": "put", "from_event_id": "own", "to_event_id": "e1",
                   "label": "same_topic"}]}),
}  # fmt: skip


def test_each_kind_that_a_user_owns_is_tried() -> None:
    owned = {(one.type, one.scope) for one in OWNED_RECORDS if one.owner == "user_id"}
    assert owned == {(one["type"], one.get("scope")) for one in OF_OTHER.values()}


@pytest.mark.component
@pytest.mark.parametrize("session", [None, "s1", "s2"])
def test_forgetting_one_person_keeps_what_another_owns(session: str | None) -> None:
    """`s1` is the person's alone, `s2` the other's."""
    place = {} if session is None else {"session_id": session}
    others = [one | {"user_id": "bob"} | place for one in OF_OTHER.values()]
    others.append(turn("own", 1, session_id="s2", user_id="bob", user_input="tea"))
    anns = turn("e1", 0, user_id="ann", user_input="hello")
    with history_of([anns, *others]) as history, history_of(others) as never:
        assert rows(history, "SELECT DISTINCT reason FROM dead_letters") == []
        receipt = forget(history, "default", "ann")
        expected: dict[str, list[tuple[Any, ...]]] = memory_of(never, "bob")
        assert expected.keys() == OF_USERS.keys()
        assert memory_of(history, "bob") == expected
        for table in ("signals", "plans", "affects", "threads"):
            assert receipt["tables"][table]["erased"] == 0, table
        assert receipt["tables"]["events"]["erased"] == 1
