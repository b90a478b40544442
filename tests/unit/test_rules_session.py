"""The rules of a session, one short test each (design 04, Session; seeds 000 and 004).

Times are hours after `START`. `Told` drives the real fold over real rows, from JSON bytes on.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.base import DAY, HOUR, format_time, parse_time
from schemas.session import SessionDocument
from streams.folds import documents, session
from streams.folds.expiry import expire
from streams.folds.rows import Effects, Input, Refused, UserSignal
from streams.runtime.apply import Applier
from streams.runtime.decode import decode
from streams.runtime.entity import Entity
from streams.runtime.store import Store

START = parse_time("2026-01-01T00:00:00Z")

Json = dict[str, Any]


def micros(hours: float) -> int:
    return START + round(hours * HOUR)


def turn(event_id: str, hours: float, **fields: Any) -> Json:
    when = format_time(micros(hours))
    return {"type": "turn", "event_id": event_id, "session_id": "s", "occurred_at": when, **fields}


def signal(signal_id: str, hours: float, **fields: Any) -> Json:
    about = {"type": "signal", "signal_id": signal_id, "scope": "session", "session_id": "s"}
    return {**about, "occurred_at": format_time(micros(hours)), **fields}


def clarify(task_id: str, hours: float) -> Json:
    """A recursion that asks the user."""
    about = {"type": "recursion", "session_id": "s", "task_id": task_id, "trace_id": "asks"}
    action = {"action_type": "CLARIFY", "output": {"question": "which?"}}
    when = format_time(micros(hours))
    return {**about, "iteration_index": 0, "occurred_at": when, "action": action}


def encode(record: Json) -> bytes:
    return json.dumps(record).encode()


class Told:
    """A session and what its records did; `outcomes` holds a dead letter's reason as it is."""

    def __init__(self, *records: Json) -> None:
        self.rows = Entity("sessions", "default", "s", {})
        self.outcomes: list[str] = []
        self.warnings: list[str] = []
        self.signals: list[UserSignal] = []
        self.history: list[tuple[str, tuple[Any, ...]]] = []
        self.dead: list[str] = []
        self.say(*records)

    def say(self, *records: Json) -> "Told":
        for record in records:
            given = decode(encode(record), ("test", 0, len(self.outcomes) + 1))
            assert isinstance(given, Input), given
            self._fold(given)
        return self

    def _fold(self, given: Input) -> None:
        out = Effects("s", ("default", "sessions", "s"), given.record)
        self.rows.keep()
        try:
            self.outcomes.append(session.fold(self.rows, given, out))
        except Refused as refused:
            self.rows.rollback()
            self.outcomes.append(refused.reason)
            return
        self.warnings += out.warnings
        self.signals += out.signals
        self.history += [(table, values) for table, _, values in out.rows]
        self.dead += [late.reason for late in out.late]

    @property
    def document(self) -> Json:
        document = documents.session(self.rows)
        SessionDocument.model_validate(document)
        return document

    def asked_at(self, hours: float) -> Json:
        latest = documents.latest_turn(self.rows)
        return expire(self.document, latest, micros(hours))

    def revisions(self, kind: str) -> list[Json]:
        """The revisions of `status`, `subject`, `reply_to` or a type of session memory."""
        names = ("id", "owner", "entity", "entity_id", "kind", "op", "before", "after", "reason")
        found = [dict(zip(names, row, strict=False)) for t, row in self.history if t == "revisions"]
        return [one for one in found if one["kind"] == kind]

    def statuses(self) -> list[tuple[str, str]]:
        """What each revision of the status did, and to what."""
        found = self.revisions("status")
        return [(one["op"], json.loads(one["after"])["status"]) for one in found]

    def replies(self) -> dict[str, str]:
        """event -> the event it provisionally replies to; the newest link stands."""
        links = (row for table, row in self.history if table == "links")
        return {row[2]: row[3] for row in links}


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


def test_an_earlier_signal_does_not_beat_a_later_turn() -> None:
    told = Told(turn("a", 1, topic="turn"), signal("g", 0, topic="signal"))
    assert told.document["context"]["current_topic"] == "turn"


# --- session memory ---------------------------------------------------------------------------


def seen(event_id: str, hours: float, type_: str, content: str = "tea", **fields: Any) -> Json:
    """A turn with one observation."""
    said = {"type": type_, **fields}
    said |= {"decision": content} if type_ == "decision" else {"content": content}
    return turn(event_id, hours, observations=[said])


def wrote(event_id: str, hours: float, **delta: Any) -> Json:
    return turn(event_id, hours, session_memory_delta=delta)


def contents(told: Told) -> list[str]:
    return [one.get("decision") or one["content"] for one in told.document["session_memory"]]


@pytest.mark.parametrize("type_", ["preference", "constraint", "background"])
def test_what_is_explicit_is_written_at_once(type_: str) -> None:
    (item,) = Told(seen("a", 0, type_, explicit=True)).document["session_memory"]
    assert (item["type"], item["content"], item["evidence"]) == (type_, "tea", ["a"])


@pytest.mark.parametrize("type_", ["preference", "background"])
def test_three_different_turns_promote_a_candidate(type_: str) -> None:
    told = Told(seen("a", 0, type_), seen("b", 1, type_))
    assert contents(told) == []
    told.say(seen("b", 1, type_))
    assert contents(told) == []
    told.say(seen("c", 2, type_))
    (item,) = told.document["session_memory"]
    assert item["evidence"] == ["a", "b", "c"]
    assert [one["op"] for one in told.revisions(type_)] == ["add"]


def test_the_same_observation_twice_in_one_turn_counts_once() -> None:
    said = {"type": "background", "content": "tea"}
    told = Told(seen("a", 0, "background"), turn("b", 1, observations=[said, said]))
    assert contents(told) == []


def test_same_content_is_the_same_normalised_text() -> None:
    texts = ["Green  Tea", "green tea", "ＧＲＥＥＮ\nTEA"]
    told = Told(*(seen(f"e{at}", at, "background", text) for at, text in enumerate(texts)))
    assert contents(told) == ["ＧＲＥＥＮ\nTEA"]


@pytest.mark.parametrize(("field", "written"), [("environment", 1), ("source", 0)])
def test_a_constraint_is_written_when_the_environment_requires_it(field: str, written: int) -> None:
    how = {"environment": True} if field == "environment" else {"source": "user"}
    told = Told(*(seen(f"e{at}", at, "constraint", **how) for at in range(4)))
    assert len(contents(told)) == written


@pytest.mark.parametrize(
    ("confidences", "expected"), [((0.4,), 0.4), ((0.4, 0.2), 0.7), ((0.1, 0.4, 0.2), 0.85)]
)
def test_a_capability_grows_surer_with_each_showing(
    confidences: tuple[float, ...], expected: float
) -> None:
    turns = [
        seen(f"e{at}", at, "capability_assumption", confidence=confidence)
        for at, confidence in enumerate(confidences)
    ]
    (known,) = Told(*turns).document["session_memory"]
    assert known["confidence"] == pytest.approx(expected)


def test_a_capability_shown_twice_in_one_turn_is_shown_once() -> None:
    said = {"type": "capability_assumption", "content": "tea", "confidence": 0.4}
    (known,) = Told(turn("a", 0, observations=[said, said])).document["session_memory"]
    assert known["confidence"] == pytest.approx(0.4)


def test_opposing_takes_away_until_three_turns_after_it() -> None:
    told = Told(seen("a", 0, "preference", explicit=True))
    told.say(seen("b", 1, "preference", "coffee", opposes="TEA"))
    assert contents(told) == []
    assert [one["op"] for one in told.revisions("preference")] == ["add", "remove"]
    told.say(seen("c", 2, "preference"), seen("d", 3, "preference"))
    assert contents(told) == []
    assert contents(told.say(seen("e", 4, "preference"))) == ["tea"]


def test_a_late_opposition_counts_by_its_own_time() -> None:
    opposing = seen("b", 1.5, "preference", "coffee", opposes="tea")
    turns = [seen(f"e{at}", at, "preference") for at in range(3)]
    for told in (Told(*turns, opposing), Told(opposing, *turns)):
        assert contents(told) == []


def test_opposing_content_of_another_type_does_nothing() -> None:
    told = Told(seen("a", 0, "preference", explicit=True))
    assert contents(told.say(seen("b", 1, "background", "x", opposes="tea"))) == ["tea"]


REASONED = {"source": "agent", "rationale": "cheap"}


@pytest.mark.parametrize("source", ["user", "joint", "agent"])
def test_a_decision_needs_a_source_and_a_rationale(source: str) -> None:
    told = Told(seen("a", 0, "decision", source=source), seen("b", 1, "decision", rationale="r"))
    assert contents(told) == []
    told.say(seen("c", 2, "decision", source=source, rationale="r"))
    (item,) = told.document["session_memory"]
    assert (item["decision"], item["source"], item["reversible"]) == ("tea", source, True)


def test_a_decision_without_a_rationale_stays_a_candidate_however_often_it_shows() -> None:
    assert contents(Told(*(seen(f"e{n}", n, "decision", source="user") for n in range(5)))) == []


def test_a_decision_that_supersedes_another_removes_it() -> None:
    told = Told(seen("a", 0, "decision", **REASONED))
    told.say(seen("b", 1, "decision", "coffee", supersedes="Tea", **REASONED))
    assert contents(told) == ["coffee"]
    assert [one["op"] for one in told.revisions("decision")] == ["add", "remove", "add"]


def test_without_supersedes_both_decisions_stand() -> None:
    told = Told(seen("a", 0, "decision", **REASONED))
    told.say(seen("b", 1, "decision", "coffee", **REASONED))
    assert contents(told) == ["tea", "coffee"]


@pytest.mark.parametrize(
    ("source", "left"), [("agent", ["tea", "x"]), ("joint", ["tea", "x"]), ("user", ["x"])]
)
def test_an_irreversible_decision_yields_to_the_user_alone(source: str, left: list[str]) -> None:
    fixed = seen("a", 0, "decision", reversible=False, **REASONED)
    other = seen("b", 1, "decision", "x", supersedes="tea", source=source, rationale="r")
    assert contents(Told(fixed, other)) == left
    assert contents(Told(other, fixed)) == left


# --- direct writes ----------------------------------------------------------------------------


def item(item_id: str, content: str = "tea", type_: str = "preference", **fields: Any) -> Json:
    return {"id": item_id, "type": type_, "content": content, **fields}


def test_a_direct_write_needs_no_threshold() -> None:
    (written,) = Told(wrote("a", 0, add=[item("m", scope="here")])).document["session_memory"]
    assert (written["id"], written["content"], written["scope"]) == ("m", "tea", "here")


def test_an_update_changes_the_fields_it_gives() -> None:
    told = Told(wrote("a", 0, add=[item("m", confidence=0.9)]))
    told.say(wrote("b", 1, update=[{"id": "m", "content": "coffee"}]))
    (written,) = told.document["session_memory"]
    assert (written["content"], written["confidence"]) == ("coffee", 0.9)
    assert [one["op"] for one in told.revisions("preference")] == ["add", "update"]


@pytest.mark.parametrize("reverse", [False, True])
def test_per_id_the_latest_write_wins(reverse: bool) -> None:
    writes = [wrote("a", 0, add=[item("m", "old")]), wrote("b", 1, add=[item("m", "new")])]
    assert contents(Told(*(reversed(writes) if reverse else writes))) == ["new"]


def test_a_delete_leaves_a_tombstone_for_earlier_writes() -> None:
    told = Told(wrote("b", 1, delete=["m"]), wrote("a", 0, add=[item("m")]))
    assert contents(told) == []
    assert contents(told.say(wrote("c", 2, add=[item("m")]))) == ["tea"]


@pytest.mark.parametrize("delta", [{"update": [{"id": "x", "content": "y"}]}, {"delete": ["x"]}])
def test_an_unknown_id_is_a_counted_warning(delta: Json) -> None:
    told = Told(wrote("a", 0, **delta))
    assert (told.outcomes, told.warnings) == (["applied"], ["unknown_memory_item"])
    assert contents(told) == []


def test_an_equal_type_and_content_merges() -> None:
    told = Told(wrote("a", 0, add=[item("m", confidence=0.3)]))
    told.say(wrote("b", 1, add=[item("n", "TEA", confidence=0.8), item("o", "tea", "background")]))
    merged, other = told.document["session_memory"]
    assert (merged["id"], merged["confidence"], merged["evidence"]) == ("m", 0.8, ["a", "b"])
    assert other["type"] == "background"


def test_a_direct_write_merges_with_what_was_observed() -> None:
    told = Told(seen("a", 0, "preference", explicit=True), wrote("b", 1, add=[item("m")]))
    (merged,) = told.document["session_memory"]
    assert merged["evidence"] == ["a", "b"]


def test_evidence_names_the_20_newest_events() -> None:
    told = Told(*(seen(f"e{n:02}", n, "capability_assumption") for n in range(25)))
    (known,) = told.document["session_memory"]
    assert known["evidence"] == [f"e{n:02}" for n in range(5, 25)]


def test_of_201_items_the_least_confident_falls_out_with_a_revision() -> None:
    def batch(first: int, last: int) -> Json:
        add = [item(f"m{n}", f"c{n}", confidence=0.1 if n in (7, 70) else 0.5)
               for n in range(first, last)]  # fmt: skip
        return wrote(f"e{first}", first, add=add)

    told = Told(*(batch(n, min(n + 50, 201)) for n in range(0, 201, 50)))
    assert len(contents(told)) == 200
    assert "c7" not in contents(told)
    (removed,) = (one for one in told.revisions("preference") if one["op"] == "remove")
    assert (removed["entity_id"], removed["reason"]) == ("m7", "over the cap")


def test_of_101_candidates_the_oldest_is_forgotten() -> None:
    def others(event_id: str, hours: float, count: int) -> Json:
        said = [{"type": "background", "content": f"{event_id}{n}"} for n in range(count)]
        return turn(event_id, hours, observations=said)

    told = Told(seen("a", 0, "background"), others("b", 1, 50), others("c", 2, 50))
    told.say(seen("d", 3, "background"), seen("e", 4, "background"))
    assert contents(told) == []
    assert contents(told.say(seen("f", 5, "background"))) == ["tea"]


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
    assert [row[2:4] for table, row in told.history if table == "links"] == [("b", "a")]


# --- garbage control --------------------------------------------------------------------------


def applied(path: Path, *records: Json) -> Applier:
    """Sessions kept 30 days, over a store of their own."""
    applier = Applier(Store(path / "store"), retention=30 * DAY)
    applier.apply([(encode(one), ("test", 0, at)) for at, one in enumerate(records, 1)])
    return applier


def elsewhere(days: float, **fields: Any) -> Json:
    """A turn of another session: the stream's time goes on."""
    return turn(f"x{days}", 24 * days, **fields) | {"session_id": "other"}


def count(applier: Applier, session_id: str = "s") -> int:
    rows = applier.store.entity("sessions", "default", session_id)
    return documents.session(rows)["conversation_count"] if rows.get("h") else 0


def test_a_record_too_late_to_begin_a_session_goes_to_the_history_alone(tmp_path: Path) -> None:
    applier = applied(tmp_path, elsewhere(31), turn("a", 0, user_id="u", topic="t"))
    assert (applier.counts["applied"], applier.counts["after_retention"]) == (2, 1)
    assert count(applier) == 0
    assert applier.store.entity("users", "default", "u").get("l") is None
    assert [row[0] for row in applier.rows["events"]] == ["x31", "a"]


def test_a_session_is_dropped_30_days_after_its_latest_turn(tmp_path: Path) -> None:
    applier = applied(tmp_path, turn("a", 0), elsewhere(30.1), turn("b", 24 * 30.1))
    assert count(applier) == 1
    assert applier.counts["after_retention"] == 0


def test_the_rows_of_its_tasks_are_dropped_with_it(tmp_path: Path) -> None:
    running = turn("a", 0, task_id="k", status="running")
    applier = applied(tmp_path, running, clarify("k", 1), elsewhere(31), turn("b", 24 * 31))
    rows = applier.store.entity("sessions", "default", "s")
    assert [name for letter in "tqwr" for name, _ in rows.scan(f"{letter}/")] == []


def test_a_session_within_30_days_is_kept_and_takes_older_records(tmp_path: Path) -> None:
    applier = applied(tmp_path, turn("a", 24 * 10), elsewhere(39), turn("b", 0))
    assert count(applier) == 2


def test_the_last_document_of_a_dropped_session_goes_to_the_history(tmp_path: Path) -> None:
    applier = applied(tmp_path, turn("a", 0), elsewhere(31), turn("b", 24 * 31))
    shown = [json.loads(row[6]) for row in applier.rows["sessions"]]
    assert [one["updated_at"] for one in shown] == [format_time(START)]


def test_one_wrong_date_expires_nobody(tmp_path: Path) -> None:
    wrong = elsewhere(4000, recorded_at=format_time(micros(1)))
    applier = applied(tmp_path, turn("a", 0), wrong, turn("b", 2))
    assert count(applier) == 2
    assert applier.counts["after_retention"] == 0


def test_without_retention_nothing_is_dropped(tmp_path: Path) -> None:
    applier = Applier(Store(tmp_path / "store"))
    records = [elsewhere(400), turn("a", 0), elsewhere(800), turn("b", 1)]
    applier.apply([(encode(one), ("test", 0, at)) for at, one in enumerate(records, 1)])
    assert count(applier) == 2
