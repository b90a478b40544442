"""The rules of a session, one short test each (docs/rules.md, Sessions)."""

import json

import pytest

from schemas.generated.history import Link
from tests.unit.session_told import Json, Told, clarify, signal, turn


def test_schema_version_and_recorded_at_are_no_content() -> None:
    again = turn("e", 0, schema_version=2, recorded_at="2026-02-01T00:00:00Z")
    assert Told(turn("e", 0), again).outcomes == ["applied", "duplicate"]


@pytest.mark.parametrize("status", ["done", "error", "running"])
def test_other_content_under_the_same_id_is_a_conflicting_duplicate(status: str) -> None:
    first, second = (turn("e", 0, status=status, user_input=text) for text in ("a", "b"))
    told = Told(first, second)
    assert told.outcomes == ["applied", "conflicting_duplicate"]
    assert told.document["conversations"][0]["user_input"] == "a"


def test_an_ended_turn_with_another_end_is_a_conflicting_duplicate() -> None:
    told = Told(turn("e", 0, status="done"), turn("e", 0, status="error", error="no"))
    assert told.outcomes == ["applied", "conflicting_duplicate"]


def test_a_signal_with_other_content_is_a_conflicting_duplicate() -> None:
    told = Told(*(signal("g", 0, topic=topic) for topic in ("a", "a", "b")))
    assert told.outcomes == ["applied", "duplicate", "conflicting_duplicate"]


def test_a_running_turn_after_its_end_is_a_duplicate_whatever_it_says() -> None:
    told = Told(turn("e", 0), turn("e", 0, status="running", user_input="other"))
    assert told.outcomes == ["applied", "duplicate"]
    assert told.document == Told(turn("e", 0)).document


def test_only_an_ended_turn_makes_a_signal_for_its_user() -> None:
    told = Told(turn("e", 0, status="running", user_id="u"))
    assert told.signals == []
    told.say(turn("e", 0, user_id="u", topic="t"))
    assert [(one.user_id, one.topic) for one in told.signals] == [("u", "t")]


STATUSES = [None, "active", "waiting_input", "closed"]


@pytest.mark.parametrize("after", STATUSES)
@pytest.mark.parametrize("before", STATUSES)
@pytest.mark.parametrize("hours", [1, 25], ids=["soon", "after the session expired"])
@pytest.mark.parametrize("running", [False, True], ids=["ended", "running"])
def test_the_latest_turn_decides_the_status_in_any_order_with_a_revision_for_each_change(
    before: str | None, after: str | None, hours: int, running: bool
) -> None:
    begun = {"status": "running"} if running else {}
    turns = (
        turn("a", 0, **({} if before is None else {"session_status": before})),
        turn("b", hours, **({} if after is None else {"session_status": after}), **begun),
    )
    for order in (turns, turns[::-1]):
        told = Told(*order)
        assert told.document["status"] == (after or "active")
        last = "active"
        for revision in told.revisions("status"):
            assert revision["before"] != revision["after"]
            last = json.loads(revision["after"])["status"]
        assert last == (after or "active")


def test_a_turn_that_waits_for_the_user_has_revisions_that_say_so() -> None:
    told = Told(turn("a", 0, session_status="waiting_input"), turn("b", 1))
    revisions = told.revisions("status")
    changes = [(json.loads(one["after"])["status"], one["reason"]) for one in revisions]
    assert changes == [("waiting_input", "the latest turn says so"), ("active", "a turn came")]


def test_what_a_task_does_changes_no_status_that_the_latest_turn_gave() -> None:
    waiting = turn("a", 0, session_status="waiting_input")
    told = Told(waiting, clarify("k", 1), {**clarify("k", 2), "trace_id": "l", "iteration_index": 1,
                "action": {"action_type": "REFLECT", "output": {}}})  # fmt: skip
    assert told.document["status"] == "waiting_input"
    assert told.statuses() == [("update", "waiting_input")]


def test_expiry_is_a_matter_of_when_you_ask() -> None:
    told = Told(turn("a", 0))
    assert told.asked_at(24)["status"] == "active"
    after = told.asked_at(24.001)
    assert (after["status"], after["closed_reason"]) == ("closed", "expired")
    assert told.document["status"] == "active"
    assert told.revisions("status") == []


def test_a_turn_a_day_later_to_the_second_leaves_no_revision() -> None:
    assert Told(turn("a", 0), turn("b", 24)).statuses() == []


def test_a_closed_session_does_not_expire() -> None:
    told = Told(turn("a", 0, session_status="closed"))
    assert told.asked_at(48)["closed_reason"] != "expired"
    assert told.say(turn("b", 48)).statuses() == [("update", "closed"), ("update", "active")]


def many(count: int) -> list[Json]:
    """A conversation an hour."""
    return [turn(f"e{at:02}", at, task_id=f"k{at:02}") for at in range(1, count + 1)]


def test_the_newest_20_conversations_are_kept_and_all_are_counted() -> None:
    document = Told(*many(25)).document
    shown = document["conversations"]
    assert document["conversation_count"] == 25
    assert [one["task_index"] for one in shown] == list(range(6, 26))
    assert shown[0]["task_id"] == "k06"


def test_the_window_knows_no_order() -> None:
    assert Told(*reversed(many(25))).document == Told(*many(25)).document


def test_another_turn_of_a_conversation_before_the_window_is_not_counted_again() -> None:
    told = Told(*many(25), turn("late", 30, task_id="k01"))
    assert told.document["conversation_count"] == 25


def test_a_running_turn_of_a_conversation_before_the_window_is_not_counted_again() -> None:
    told = Told(*many(25), turn("late", 30, task_id="k01", status="running"))
    assert told.document["conversation_count"] == 25


def test_the_ten_latest_intents_oldest_first() -> None:
    turns = [turn(f"e{at:02}", at, **({"intent": f"i{at}"} if at % 2 else {})) for at in range(26)]
    expected = [f"i{at}" for at in range(7, 26, 2)]
    for told in (Told(*turns), Told(*reversed(turns))):
        assert told.document["context"]["recent_intents"] == expected


def test_a_session_signal_moves_the_context_and_nothing_else() -> None:
    told = Told(turn("a", 0, topic="old", user_input="hi"))
    before = told.document
    told.say(signal("g", 1, topic="new", intent="quiz", artifact="notes"))
    after = told.document
    assert after["context"]["current_topic"] == "new"
    assert after["context"]["recent_intents"] == ["quiz"]
    assert after["context"]["last_artifact"] == "notes"
    assert after["context"]["last_user_message"] == "hi"
    assert [name for name in after if after[name] != before[name]] == ["updated_at", "context"]
    assert told.replies() == {}
    assert told.signals == []


def test_a_signal_may_say_what_the_session_is_about() -> None:
    tea, mint = ({"content": one, "source": "agent"} for one in ("tea", "mint"))
    told = Told(turn("a", 0, subject=tea), signal("g", 1, subject=mint))
    assert told.document["subject"] == {**mint, "confidence": 0.5}
    told.say(signal("f", 0.5, subject=tea), turn("b", 2, status="running", subject=tea))
    assert told.document["subject"]["content"] == "tea"
    told.say(signal("h", 1.5, subject=mint), turn("b", 2))
    assert told.document["subject"]["content"] == "mint"


def test_the_end_of_a_running_turn_links_nothing_again() -> None:
    told = Told(turn("a", 0), turn("b", 1, status="running"), turn("b", 1))
    assert [
        (row.from_event_id, row.to_event_id) for row in told.history if isinstance(row, Link)
    ] == [("b", "a")]
