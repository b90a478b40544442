"""The rules of a session, one short test each (docs/rules.md, Sessions)."""

import json
from typing import Any

import pytest

from schemas.base import format_time
from schemas.generated.history import Link
from tests.unit.session_told import Json, Told, clarify, micros, signal, turn

# --- what is one event ------------------------------------------------------------------------


def test_the_same_content_again_is_a_duplicate() -> None:
    told = Told(turn("e", 0, user_input="hi"), turn("e", 0, user_input="hi"))
    assert told.outcomes == ["applied", "duplicate"]
    assert told.document["conversation_count"] == 1


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


def test_a_running_turn_shows_until_it_ends() -> None:
    shown = Told(turn("e", 0, status="running", user_input="hi", topic="t")).document
    assert [one["status"] for one in shown["conversations"]] == ["running"]
    assert shown["context"]["current_topic"] == "t"


@pytest.mark.parametrize("status", ["done", "error"])
def test_the_ended_turn_replaces_the_running_one_and_leaves_nothing_of_it(status: str) -> None:
    claim = {"content": "other", "source": "user", "confidence": 1.0}
    running = turn("e", 0, status="running", user_input="hm", topic="t", intent="i", artifact="a",
                   subject=claim, object=claim, session_status="closed", user_id="u",
                   artifacts_metadata={"sandbox_id": "x"})  # fmt: skip
    ended = turn("e", 0, status=status, user_input="hi")
    told = Told(running, ended)
    assert told.outcomes == ["applied", "applied"]
    assert told.document == Told(ended).document


@pytest.mark.parametrize("ended_at", [-1, 1])
def test_a_running_turn_of_another_time_leaves_nothing_either(ended_at: float) -> None:
    ended = turn("e", ended_at, user_input="hi")
    told = Told(turn("e", 0, status="running"), ended)
    assert told.document == Told(ended).document


def test_a_running_turn_after_its_end_is_a_duplicate_whatever_it_says() -> None:
    told = Told(turn("e", 0), turn("e", 0, status="running", user_input="other"))
    assert told.outcomes == ["applied", "duplicate"]
    assert told.document == Told(turn("e", 0)).document


def test_only_an_ended_turn_makes_a_signal_for_its_user() -> None:
    told = Told(turn("e", 0, status="running", user_id="u"))
    assert told.signals == []
    told.say(turn("e", 0, user_id="u", topic="t"))
    assert [(one.user_id, one.topic) for one in told.signals] == [("u", "t")]


def test_a_running_turn_writes_no_session_memory() -> None:
    seen = [{"type": "preference", "content": "tea", "explicit": True}]
    told = Told(turn("e", 0, status="running", observations=seen))
    assert told.document["session_memory"] == []
    assert len(told.say(turn("e", 0, observations=seen)).document["session_memory"]) == 1


# --- subject and object -----------------------------------------------------------------------


def claim(content: str, source: str = "agent", confidence: float = 0.5) -> Json:
    return {"content": content, "source": source, "confidence": confidence}


@pytest.mark.parametrize("field", ["subject", "object"])
@pytest.mark.parametrize(
    ("weaker", "greater"),
    [
        pytest.param(("b", 9, claim("a", "agent", 1.0)), ("a", 0, claim("b", "user", 0.1)),
                     id="user over agent"),
        pytest.param(("b", 9, claim("a", confidence=0.4)), ("a", 0, claim("b", confidence=0.5)),
                     id="then the surer"),
        pytest.param(("b", 0, claim("a")), ("a", 9, claim("b")), id="then the later"),
        pytest.param(("a", 0, claim("a")), ("b", 0, claim("b")), id="then the greater event_id"),
    ],
)  # fmt: skip
def test_the_greatest_claim_stands_in_either_order(field: str, weaker: Any, greater: Any) -> None:
    one, other = (turn(event, at, **{field: said}) for event, at, said in (weaker, greater))
    assert Told(one, other).document[field] == greater[2]
    assert Told(other, one).document[field] == greater[2]


def test_a_greater_claim_is_a_revision() -> None:
    told = Told(turn("a", 0, subject=claim("x")), turn("b", 1, subject=claim("y")))
    afters = [json.loads(one["after"])["content"] for one in told.revisions("subject")]
    assert afters == ["x", "y"]


# --- status -----------------------------------------------------------------------------------


def test_a_session_is_active_unless_something_says_otherwise() -> None:
    assert Told(turn("e", 0)).document["status"] == "active"


def test_the_latest_turn_closes_a_session() -> None:
    closed = turn("b", 1, session_status="closed")
    for told in (Told(turn("a", 0), closed), Told(closed, turn("a", 0))):
        assert told.document["status"] == "closed"
    assert told.say(turn("c", 2)).document["status"] == "active"


def test_a_session_waits_while_one_of_its_tasks_waits() -> None:
    told = Told(turn("a", 0), clarify("k", 1))
    assert told.document["status"] == "waiting_input"
    assert told.say(turn("b", 2)).document["status"] == "active"
    assert told.statuses() == [("update", "waiting_input"), ("update", "active")]


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


def test_closed_comes_before_waiting() -> None:
    told = Told(turn("a", 0, session_status="closed"), clarify("k", 1))
    assert told.document["status"] == "closed"


def test_an_earlier_turn_does_not_answer_a_question() -> None:
    told = Told(clarify("k", 1), turn("a", 0))
    assert told.document["status"] == "waiting_input"


def test_expiry_is_a_matter_of_when_you_ask() -> None:
    told = Told(turn("a", 0))
    assert told.asked_at(24)["status"] == "active"
    after = told.asked_at(24.001)
    assert (after["status"], after["closed_reason"]) == ("closed", "expired")
    assert told.document["status"] == "active"
    assert told.revisions("status") == []


def test_a_turn_after_the_gap_reopens_and_the_gap_leaves_two_revisions() -> None:
    told = Told(turn("a", 0), turn("b", 25))
    assert told.asked_at(26)["status"] == "active"
    assert told.statuses() == [("expire", "closed"), ("reopen", "active")]


def test_a_gap_shown_by_a_late_turn_leaves_two_revisions_too() -> None:
    assert Told(turn("b", 25), turn("a", 0)).statuses() == [
        ("expire", "closed"),
        ("reopen", "active"),
    ]


def test_a_turn_a_day_later_to_the_second_leaves_no_revision() -> None:
    assert Told(turn("a", 0), turn("b", 24)).statuses() == []


def test_a_closed_session_does_not_expire() -> None:
    told = Told(turn("a", 0, session_status="closed"))
    assert told.asked_at(48)["closed_reason"] != "expired"
    assert told.say(turn("b", 48)).statuses() == [("update", "closed"), ("update", "active")]


# --- conversations ----------------------------------------------------------------------------


def test_a_turn_without_task_id_is_a_conversation_of_its_own() -> None:
    told = Told(turn("a", 0), turn("b", 1, task_id="k"), turn("c", 2, task_id="k"))
    assert [one["task_id"] for one in told.document["conversations"]] == ["a", "k"]


def test_task_index_is_in_order_of_first_turn() -> None:
    told = Told(turn("a", 5, task_id="x"), turn("b", 1, task_id="y"), turn("c", 0, task_id="x"))
    shown = told.document["conversations"]
    assert [(one["task_index"], one["task_id"]) for one in shown] == [(1, "x"), (2, "y")]


def test_user_input_is_of_the_earliest_turn_that_has_one() -> None:
    said = (("c", 2, "third"), ("a", 0, ""), ("b", 1, "second"))
    turns = [turn(name, at, task_id="k", user_input=text) for name, at, text in said]
    assert Told(*turns).document["conversations"][0]["user_input"] == "second"


def test_answer_error_and_summary_are_of_the_latest_turn() -> None:
    summary = {"content": "s", "key_findings": ["f"], "final_decisions": []}
    late = turn("b", 1, task_id="k", agent_answer="new", status="error", error="e", summary=summary)
    early = turn("a", 0, task_id="k", agent_answer="old", summary={"content": "old"})
    for told in (Told(early, late), Told(late, early)):
        shown = told.document["conversations"][0]
        assert (shown["agent_answer"], shown["status"]) == ("new", "error")
        assert (shown["error"], shown["summary"]) == ("e", summary)


@pytest.mark.parametrize(
    ("action", "how", "expected"),
    [("ANSWER", {}, ("done", None)),
     ("REFLECT", {"status": "error", "error": "lost", "final": True}, ("error", "lost")),
     ("REFLECT", {"max_iteration": 1}, ("error", "max_iteration reached")),
     ("REFLECT", {}, ("running", None))],
)  # fmt: skip
def test_the_status_of_an_ended_task_is_its_conversations(
    action: str, how: Json, expected: tuple[str, str | None]
) -> None:
    step = clarify("k", 1) | {"action": {"action_type": action, "output": {}}} | how
    told = Told(turn("a", 0, task_id="k", status="running"), step)
    shown = told.document["conversations"][0]
    assert (shown["status"], shown["error"]) == expected


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


# --- SessionContext ---------------------------------------------------------------------------


def test_the_ten_latest_intents_oldest_first() -> None:
    turns = [turn(f"e{at:02}", at, **({"intent": f"i{at}"} if at % 2 else {})) for at in range(26)]
    expected = [f"i{at}" for at in range(7, 26, 2)]
    for told in (Told(*turns), Told(*reversed(turns))):
        assert told.document["context"]["recent_intents"] == expected


def test_an_intent_given_as_a_list_counts_by_its_first() -> None:
    told = Told(turn("a", 0, intent=["quiz", "help"]))
    assert told.document["context"]["recent_intents"] == ["quiz"]


@pytest.mark.parametrize(
    ("field", "shown"),
    [("topic", "current_topic"), ("artifact", "last_artifact"),
     ("user_input", "last_user_message")],
)  # fmt: skip
def test_the_context_shows_the_latest_turn_that_has_one(field: str, shown: str) -> None:
    turns = [turn("b", 1, **{field: "new"}), turn("a", 0, **{field: "old"}), turn("c", 2)]
    context = Told(*turns).document["context"]
    assert context[shown] == "new"
    assert context["updated_at"] == format_time(micros(2))


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


def test_an_earlier_signal_does_not_beat_a_later_turn() -> None:
    told = Told(turn("a", 1, topic="turn"), signal("g", 0, topic="signal"))
    assert told.document["context"]["current_topic"] == "turn"


# --- reply_to ---------------------------------------------------------------------------------


def test_each_turn_replies_to_the_one_before_it() -> None:
    assert Told(turn("a", 0), turn("b", 1), turn("c", 2)).replies() == {"b": "a", "c": "b"}


def test_a_turn_with_a_client_replies_within_that_client() -> None:
    told = Told(turn("a", 0, client_id="x"), turn("b", 1, client_id="y"),
                turn("c", 2, client_id="x"), turn("d", 3), turn("e", 4, client_id="y"))  # fmt: skip
    assert told.replies() == {"c": "a", "d": "c", "e": "b"}


def test_a_late_turn_moves_its_followers_link_with_one_revision() -> None:
    told = Told(turn("a", 0), turn("c", 2))
    assert told.revisions("reply_to") == []
    told.say(turn("b", 1))
    assert told.replies() == {"b": "a", "c": "b"}
    (moved,) = told.revisions("reply_to")
    before, after = (json.loads(moved[name]) for name in ("before", "after"))
    assert (before["from_event_id"], before["to_event_id"], after["to_event_id"]) == ("c", "a", "b")


def test_a_late_turn_of_another_client_moves_no_clients_link() -> None:
    told = Told(turn("a", 0, client_id="x"), turn("c", 2, client_id="x"))
    told.say(turn("b", 1, client_id="y"))
    assert told.replies() == {"c": "a"}


def test_the_end_of_a_running_turn_links_nothing_again() -> None:
    told = Told(turn("a", 0), turn("b", 1, status="running"), turn("b", 1))
    assert [
        (row.from_event_id, row.to_event_id) for row in told.history if isinstance(row, Link)
    ] == [("b", "a")]
