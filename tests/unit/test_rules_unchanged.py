"""`unchanged_since`: a plan that comes late undoes nothing (docs/rules.md, "Long-term memory")."""

import json

import pytest

from streams.pipeline.decode import Dead, decode
from tests.unit.memory_told import SOURCE, Json, Memory, day, plan, prefers, says

HOME = {"state_id": "home", "valid_from": day(1)}


def closing(since: float, op: str = "upsert") -> Json:
    """What takes a version back that was read at a time."""
    ended = {"valid_to": day(1)} if op == "upsert" else {}
    return says(op=op, unchanged_since=day(since), **HOME, **ended)


def test_what_was_not_changed_since_is_changed(user: Memory) -> None:
    user.tell(says(**HOME))
    (revision,) = user.tell(closing(1), plan_id="p2", at=3)
    assert revision["after"]["status"] == "closed"


def test_what_was_changed_since_stays(user: Memory) -> None:
    user.tell(says(**HOME))
    user.tell(says("I live in Nara", **HOME), plan_id="p2", at=2)
    assert user.tell(closing(1.5), plan_id="p3", at=3) == []
    assert (user.state()["body_text"], user.state()["status"]) == ("I live in Nara", "active")


def test_the_version_that_is_meant_counts_and_not_the_newest(user: Memory) -> None:
    user.tell(says(**HOME))
    user.tell(says("I live in Nara", state_id="home", valid_from=day(5)), plan_id="p2", at=5)
    (revision,) = user.tell(closing(1), plan_id="p3", at=6)
    assert revision["before"]["body_text"] == "I live in Kyoto"
    assert user.state()["body_text"] == "I live in Nara"


def test_an_end_of_what_was_changed_since_or_is_not_known_changes_nothing(user: Memory) -> None:
    ended = {"op": "close", "state_id": "home", "unchanged_since": day(1)}
    assert user.tell(ended) == []
    user.tell(says(**HOME), plan_id="p2", at=2)
    assert user.tell(ended, plan_id="p3", at=3) == []
    (revision,) = user.tell({**ended, "unchanged_since": day(2)}, plan_id="p4", at=4)
    assert revision["after"]["status"] == "closed"


def test_an_upsert_of_what_is_not_known_makes_it(user: Memory) -> None:
    assert len(user.tell(closing(1))) == 1
    assert user.state()["status"] == "closed"
    user.tell(says(**HOME), plan_id="p2")
    assert user.state()["status"] == "closed", "whichever came first"


@pytest.mark.parametrize("op", ["revoke", "confirm", "upsert_candidate"])
def test_a_preference_that_was_changed_since_stays(user: Memory, op: str) -> None:
    user.made(plan(preference_updates=[prefers("confirm")]))
    user.made(plan("p2", 2, preference_updates=[prefers("confirm", note="I do")]))
    late = prefers(op, unchanged_since=day(1.5), note="late", confidence=0.9)
    assert user.made(plan("p3", 3, preference_updates=[late])) == []
    assert user.preferences() == {("like", "tea"): "confirmed"}
    (revision,) = user.made(plan("p4", 4, preference_updates=[{**late, "unchanged_since": day(2)}]))
    assert revision["after"]["updated_at"] == day(4)


def test_a_revoke_of_a_preference_that_is_not_known_changes_nothing(user: Memory) -> None:
    late = prefers("revoke", unchanged_since=day(1))
    assert user.made(plan(preference_updates=[late])) == []
    assert user.preferences() == {}


def test_a_mood_takes_no_such_time() -> None:
    update = {"op": "upsert", "kind": "long_mood_state", "unchanged_since": day(1)}
    verdict = decode(json.dumps(plan(state_updates=[update])).encode(), SOURCE)
    assert isinstance(verdict, Dead)
    assert "`unchanged_since` is not for a mood" in verdict.detail
