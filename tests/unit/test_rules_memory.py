"""Long-term memory, rule by rule (design 04, Long-term memory; seed 003 §§2-4).

`Memory` folds JSON records into one user's rows, as the runtime does but without a store. Times
are days of January 2026 (`day(3)`), revisions and rows are shown under their column names.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from schemas.base import DAY, format_time, parse_time
from schemas.rows import TABLES, Source
from streams import reading
from streams.folds import memory, preferences, states
from streams.folds.ids import make_id
from streams.folds.rows import Effects, Input, Refused, UserSignal
from streams.runtime import local
from streams.runtime.apply import Applier
from streams.runtime.decode import decode
from streams.runtime.entity import Entity
from streams.runtime.store import Store
from tests.command import ndjson

Json = dict[str, Any]
SOURCE = ("records.ndjson", 0, 1)


def day(number: float) -> str:
    """A time in January 2026: day 1.5 is noon of the first."""
    return format_time(parse_time("2026-01-01T00:00:00Z") + round((number - 1) * DAY))


def plan(plan_id: str = "p1", at: float = 1, **fields: Any) -> Json:
    return {
        "type": "write_plan",
        "plan_id": plan_id,
        "user_id": "u",
        "occurred_at": day(at),
        "extractor": {"name": "extractor"},
        **fields,
    }


def says(body_text: str = "I live in Kyoto", kind: str = "fact", **fields: Any) -> Json:
    """An upsert of a state."""
    return {"op": "upsert", "kind": kind, "body_text": body_text, **fields}


def given(record: Json) -> Input:
    """The record as the fold gets it; the tests' own must be valid."""
    read = decode(json.dumps(record).encode(), SOURCE)
    assert isinstance(read, Input), read
    return read


class Memory:
    """One user's rows, and the history rows the records caused."""

    def __init__(self) -> None:
        self.rows = Entity("users", "default", "u", {})
        self.history: list[tuple[str, Json]] = []
        self.warnings: list[str] = []

    def give(self, record: Json) -> str:
        """Folds one record; raises Refused, with the rows as they were."""
        read = given(record)
        out = self._effects(read)
        try:
            outcome = memory.fold(self.rows, read, out)
        except Refused:
            self.rows.rollback()
            raise
        self._keep(out)
        return outcome

    def hear(self, record: Json, signal: UserSignal) -> None:
        """What an ended turn means for the user."""
        out = self._effects(given(record))
        memory.fold_signal(self.rows, signal, out)
        self._keep(out)

    def tell(self, *updates: Json, plan_id: str = "p1", at: float = 1, **fields: Any) -> list[Json]:
        """A plan of state updates; returns the revisions it made."""
        return self.made(plan(plan_id, at, state_updates=list(updates), **fields))

    def made(self, record: Json) -> list[Json]:
        """Gives a record that must apply; returns the revisions it made."""
        before = len(self.table("revisions"))
        assert self.give(record) == "applied"
        return self.table("revisions")[before:]

    def table(self, name: str) -> list[Json]:
        """The rows of one table of the history."""
        return [row for table, row in self.history if table == name]

    def states(self) -> dict[str, Json]:
        """The current version of every state by its id."""
        found: Iterator[tuple[str, states.State]] = self.rows.scan("s/")
        return {row.state_id: states.document(row, row.versions[-1]) for _, row in found}

    def state(self) -> Json:
        """The only state there is."""
        (only,) = self.states().values()
        return only

    def preferences(self) -> dict[tuple[str, str], str]:
        """(polarity, subject) -> status."""
        found: Iterator[tuple[str, preferences.Preference]] = self.rows.scan("p/")
        return {(row.polarity, row.subject): row.status for _, row in found}

    def _effects(self, read: Input) -> Effects:
        self.rows.keep()
        return Effects("u", ("default", "users", "u"), read.record)

    def _keep(self, out: Effects) -> None:
        for table, _, values in out.rows:
            columns = [c for c in TABLES[table].model_fields if c not in Source.model_fields]
            row = dict(zip(columns, values, strict=True))
            for name in {"before", "after"} & row.keys():
                row[name] = None if row[name] is None else json.loads(row[name])
            self.history.append((table, row))
        self.warnings += out.warnings


@pytest.fixture
def user() -> Memory:
    return Memory()


# --- upsert -----------------------------------------------------------------------------------


def test_an_upsert_without_id_makes_a_state_whose_id_comes_of_plan_and_ordinal(
    user: Memory,
) -> None:
    revisions = user.tell(says("one"), says("two"))
    ids = [make_id("state", "default", "u", "p1", ordinal) for ordinal in (0, 1)]
    assert [one["entity_id"] for one in revisions] == ids
    assert [(one["op"], one["before"]) for one in revisions] == [("insert", None)] * 2
    assert {key: one["body_text"] for key, one in user.states().items()} == dict(
        zip(ids, ("one", "two"), strict=True)
    )


def test_the_same_plan_makes_the_same_ids_and_revisions_everywhere(user: Memory) -> None:
    assert user.tell(says()) == Memory().tell(says())


def test_an_upsert_with_an_unknown_id_makes_a_state_with_that_id(user: Memory) -> None:
    user.tell(says(state_id="home"))
    assert user.state()["state_id"] == "home"


def test_an_upsert_with_an_unknown_id_and_no_text_is_refused(user: Memory) -> None:
    with pytest.raises(Refused, match="body_text"):
        user.tell(says("", state_id="home"))
    assert user.states() == {}


def test_a_new_state_is_active_and_confirmed_at_the_plans_time(user: Memory) -> None:
    user.tell(says(confidence=0.7, entities=["Kyoto"]), at=5)
    assert user.state() | {"state_id": "", "evidence_event_ids": []} == {
        "state_id": "",
        "kind": "fact",
        "body_text": "I live in Kyoto",
        "payload": {},
        "confidence": 0.7,
        "entities": ["Kyoto"],
        "valid_from": day(5),
        "valid_to": None,
        "last_confirmed_at": day(5),
        "status": "active",
        "evidence_event_ids": [],
        "updated_at": day(5),
    }


def test_a_later_valid_from_ends_the_version_there_and_begins_a_new_one(user: Memory) -> None:
    user.tell(says("Kyoto", state_id="home", valid_from=day(1)))
    (revision,) = user.tell(says("Nara", state_id="home", valid_from=day(10)), plan_id="p2", at=11)
    assert (revision["op"], revision["entity_id"]) == ("supersede", "home")
    assert (revision["before"]["body_text"], revision["before"]["valid_from"]) == ("Kyoto", day(1))
    assert (revision["after"]["body_text"], revision["after"]["valid_from"]) == ("Nara", day(10))
    assert user.state()["body_text"] == "Nara"


@pytest.mark.parametrize("since", [{}, {"valid_from": day(1)}])
def test_no_valid_from_or_the_same_corrects_the_version(user: Memory, since: Json) -> None:
    user.tell(says("Kyoto", state_id="home", valid_from=day(1)))
    (revision,) = user.tell(says("Nara", state_id="home", **since), plan_id="p2", at=11)
    assert (revision["op"], revision["before"]["body_text"]) == ("update", "Kyoto")
    assert revision["after"]["body_text"] == "Nara"
    assert revision["after"]["valid_from"] == day(1)
    assert revision["after"]["last_confirmed_at"] == day(11)
    assert len(user.rows.get("s/home").versions) == 1


def test_an_empty_body_text_keeps_the_old_one(user: Memory) -> None:
    user.tell(says("Kyoto", state_id="home", confidence=0.4))
    user.tell(says("", state_id="home", confidence=0.9), plan_id="p2")
    assert (user.state()["body_text"], user.state()["confidence"]) == ("Kyoto", 0.9)


def test_an_earlier_valid_from_leaves_the_current_version_current(user: Memory) -> None:
    user.tell(says("Nara", state_id="home", valid_from=day(10)))
    user.tell(says("Kyoto", state_id="home", valid_from=day(1)), plan_id="p2", at=11)
    assert user.state()["body_text"] == "Nara"
    assert [one.body_text for one in user.rows.get("s/home").versions] == ["Kyoto", "Nara"]


def test_the_history_tells_what_held_when_and_what_was_known_when(tmp_path: Path) -> None:
    told = [
        plan("p1", 10, state_updates=[says("Nara", state_id="home", valid_from=day(10))]),
        plan("p2", 12, state_updates=[says("Kyoto", state_id="home", valid_from=day(1))]),
        plan("p3", 20, state_updates=[says("Osaka", state_id="home", valid_from=day(20))]),
        plan("p4", 25, state_updates=[says("Nara city", state_id="home", valid_from=day(10))]),
    ]
    local.run([str(ndjson(tmp_path / "records.ndjson", told))], tmp_path / "history")

    def held(valid_at: float, known_at: float | None = None) -> list[str]:
        known = None if known_at is None else parse_time(day(known_at))
        moment = parse_time(day(valid_at))
        found = reading.states(tmp_path / "history", "default", "u", moment, known)
        return [one["body_text"] for one in found]

    assert held(5) == ["Kyoto"]
    assert held(5, known_at=11) == []
    assert held(15) == ["Nara city"]
    assert held(15, known_at=24) == ["Nara"]
    assert held(20) == held(31) == ["Osaka"]


def test_valid_from_defaults_to_when_the_thing_spoken_of_began(user: Memory) -> None:
    user.tell(says(), at=9, event_annotations={"about_start": day(2)})
    assert (user.state()["valid_from"], user.state()["last_confirmed_at"]) == (day(2), day(9))


def test_valid_from_defaults_to_the_plans_time_where_nothing_else_is_said(user: Memory) -> None:
    user.tell(says(), at=9)
    assert user.state()["valid_from"] == day(9)


def test_a_valid_from_that_is_given_beats_the_annotation(user: Memory) -> None:
    user.tell(says(valid_from=day(3)), at=9, event_annotations={"about_start": day(2)})
    assert user.state()["valid_from"] == day(3)


def test_states_of_one_kind_coexist(user: Memory) -> None:
    for kind in ("fact", "relation", "task", "summary"):
        user.tell(says("one", kind), says("two", kind), plan_id=kind)
    assert len(user.states()) == 8


def test_an_upsert_whose_made_id_exists_changes_nothing(user: Memory) -> None:
    made = make_id("state", "default", "u", "p2", 0)
    user.tell(says("Kyoto", state_id=made))
    assert user.tell(says("Nara"), plan_id="p2") == []
    assert user.state()["body_text"] == "Kyoto"


def test_an_upsert_of_another_kind_is_refused(user: Memory) -> None:
    user.tell(says(state_id="home"))
    with pytest.raises(Refused) as refused:
        user.tell(says("later", "task", state_id="home"), plan_id="p2")
    assert refused.value.reason == "kind_differs"


def test_a_write_that_changes_nothing_makes_no_revision(user: Memory) -> None:
    user.tell(says(state_id="home"))
    assert user.tell(says(state_id="home"), plan_id="p2") == []
    assert len(user.table("plans")) == 2


# --- close and mark_done ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "notes", "until"),
    [
        ({"valid_to": day(4)}, {"about_end": day(6)}, 4),
        ({}, {"about_end": day(6)}, 6),
        ({}, {}, 9),
    ],
    ids=["given", "about_end", "event's time"],
)
def test_close_ends_a_state(user: Memory, said: Json, notes: Json, until: float) -> None:
    user.tell(says(state_id="home"))
    close = {"op": "close", "state_id": "home", **said}
    (revision,) = user.tell(close, plan_id="p2", at=9, event_annotations=notes)
    assert revision["op"] == "close"
    assert revision["before"]["valid_to"] is None
    closed = user.state()
    assert (closed["valid_to"], closed["status"]) == (day(until), "closed")
    assert closed["last_confirmed_at"] == day(9)


def test_a_new_task_is_open(user: Memory) -> None:
    user.tell(says("buy milk", "task", payload={"shop": "corner"}))
    assert user.state()["payload"] == {"shop": "corner", "status": "open"}
    assert user.state()["status"] == "active"


def test_mark_done_sets_the_status_and_leaves_validity(user: Memory) -> None:
    user.tell(says("buy milk", "task", state_id="milk", payload={"shop": "corner"}))
    done = {"op": "mark_done", "state_id": "milk"}
    (revision,) = user.tell(done, plan_id="p2", at=3)
    assert revision["op"] == "done"
    task = user.state()
    assert task["payload"] == {"shop": "corner", "status": "done"}
    assert (task["status"], task["valid_from"], task["valid_to"]) == ("done", day(1), None)
    assert task["last_confirmed_at"] == day(3)


def test_mark_done_is_for_tasks_only(user: Memory) -> None:
    user.tell(says(state_id="home"))
    with pytest.raises(Refused) as refused:
        user.tell({"op": "mark_done", "state_id": "home"}, plan_id="p2")
    assert refused.value.reason == "not_a_task"


@pytest.mark.parametrize("op", ["close", "mark_done"])
def test_what_ends_an_unknown_state_is_refused(user: Memory, op: str) -> None:
    with pytest.raises(Refused) as refused:
        user.tell({"op": op, "state_id": "home"})
    assert refused.value.reason == "unknown_state"


# --- evidence ---------------------------------------------------------------------------------


def test_evidence_names_the_event_a_plan_was_made_from(user: Memory) -> None:
    (revision,) = user.tell(says(evidence_event_ids=["e1"]), event_id="e2")
    assert set(revision["evidence_event_ids"]) == {"e1", "e2"}
    assert set(user.state()["evidence_event_ids"]) == {"e1", "e2"}


def test_every_change_of_a_plan_has_its_event_as_evidence(user: Memory) -> None:
    revisions = user.tell(
        says(),
        event_id="e1",
        preference_updates=[prefers("confirm")],
        context_updates={
            "threads": [{"thread_key": "trip", "event_id": "e0"}],
            "links": [link()],
        },
        event_affect={"vad": {"v": 0.5, "a": 0, "d": 0}},
    )
    kinds = {"state", "preference", "thread", "link"}
    assert {one["entity_type"] for one in revisions} == kinds
    assert all("e1" in one["evidence_event_ids"] for one in revisions)


def test_evidence_may_be_empty_where_no_event_caused_the_change(user: Memory) -> None:
    (revision,) = user.tell(says())
    assert revision["evidence_event_ids"] == []


def test_a_state_keeps_the_20_newest_events_as_evidence(user: Memory) -> None:
    for number in range(25):
        user.tell(says(state_id="home"), plan_id=f"p{number}", event_id=f"e{number}")
    assert user.state()["evidence_event_ids"] == [f"e{number}" for number in range(5, 25)]


def test_a_revision_has_the_updates_reason_else_the_extractors_name(user: Memory) -> None:
    told, silent = user.tell(says("one", reason="the user said so"), says("two"))
    assert (told["reason"], silent["reason"]) == ("the user said so", "extractor")
    assert (told["plan_id"], told["occurred_at"]) == ("p1", parse_time(day(1)))


# --- plans: once, whole or not at all ---------------------------------------------------------


def test_a_plan_given_twice_is_a_duplicate(user: Memory) -> None:
    user.tell(says())
    history = list(user.history)
    assert user.give(plan(state_updates=[says()])) == "duplicate"
    assert user.history == history


def test_a_plan_with_other_content_under_its_id_is_refused(user: Memory) -> None:
    user.tell(says("Kyoto"))
    with pytest.raises(Refused) as refused:
        user.give(plan(state_updates=[says("Nara")]))
    assert refused.value.reason == "conflicting_duplicate"
    assert user.state()["body_text"] == "Kyoto"


class Runner:
    """The real runtime over a store on disk."""

    def __init__(self, path: Path) -> None:
        self.applier = Applier(Store(path))

    def give(self, record: Json) -> dict[str, list[str]]:
        """The rows the record caused: the first column of each, by table."""
        self.applier.apply([(json.dumps(record).encode(), SOURCE)])
        rows = self.applier.take_rows()
        return {table: [row[0] for row in found] for table, found in rows.items()}

    def rows(self) -> dict[str, Any]:
        entity = self.applier.store.entity("users", "default", "u")
        return dict(entity.scan(""))


@pytest.fixture
def runner(tmp_path: Path) -> Iterator[Runner]:
    running = Runner(tmp_path / "tables")
    running.give(plan("p0", state_updates=[says(state_id="home")]))
    yield running
    running.applier.store.close()


REFUSALS = {
    "unknown_state": {"state_updates": [{"op": "close", "state_id": "nowhere"}]},
    "not_a_task": {"state_updates": [{"op": "mark_done", "state_id": "home"}]},
    "kind_differs": {"state_updates": [says("home", "task", state_id="home")]},
    "mood_cannot_close": {
        "state_updates": [
            {"op": "close", "state_id": make_id("long_mood_state", "default", "u")},
        ]
    },
    "unknown_preference": {
        "preference_updates": [
            {"op": "revoke", "domain": "food", "polarity": "like", "subject": "milk"}
        ]
    },
    "invalid": {"state_updates": [{"op": "close"}]},
}


@pytest.mark.parametrize("reason", REFUSALS)
def test_a_plan_applies_whole_or_not_at_all(runner: Runner, reason: str) -> None:
    rows = runner.rows()
    refused = REFUSALS[reason]
    first = {
        "preference_updates": [prefers("confirm"), *refused.get("preference_updates", [])],
        "state_updates": [
            says("written before the fault"),
            says("Nara", state_id="home"),
            *refused.get("state_updates", []),
        ],
        "event_affect": {"event_id": "e1", "vad": {"v": 1, "a": 0, "d": 0}},
    }
    assert runner.give(plan("p1", 2, **first)) == {"dead_letters": [reason]}
    assert runner.rows() == rows
    assert runner.applier.counts["dead"] == 1


@pytest.mark.parametrize("op", ["close", "mark_done"])
def test_a_refused_plan_can_be_replayed_once_its_state_exists(runner: Runner, op: str) -> None:
    early = plan("p1", 2, state_updates=[{"op": op, "state_id": "milk"}])
    assert runner.give(early) == {"dead_letters": ["unknown_state"]}
    runner.give(plan("p2", 1, state_updates=[says("buy milk", "task", state_id="milk")]))
    assert set(runner.give(early)) == {"plans", "revisions"}
    assert runner.applier.counts["applied"] == 3
    assert runner.give(early) == {}
    assert runner.applier.counts["duplicate"] == 1


# --- preferences ------------------------------------------------------------------------------


def prefers(op: str, subject: str = "tea", polarity: str = "like", **fields: Any) -> Json:
    return {"op": op, "domain": "food", "polarity": polarity, "subject": subject, **fields}


def told(user: Memory, *updates: Json) -> list[Json]:
    """A plan of preference updates of its own; returns the revisions it made."""
    plan_id = f"p{len(user.table('plans'))}"
    return user.made(plan(plan_id, preference_updates=list(updates)))


def test_a_candidate_is_a_candidate_until_confirmed(user: Memory) -> None:
    told(user, prefers("upsert_candidate"))
    assert user.preferences() == {("like", "tea"): "candidate"}
    (revision,) = told(user, prefers("confirm"))
    assert revision["op"] == "update"
    assert (revision["before"]["status"], revision["after"]["status"]) == ("candidate", "confirmed")


def test_confirm_creates_a_preference_that_is_absent(user: Memory) -> None:
    (revision,) = told(user, prefers("confirm"))
    assert (revision["op"], revision["before"]) == ("insert", None)
    assert user.preferences() == {("like", "tea"): "confirmed"}


def test_a_candidate_never_demotes_a_confirmed_preference(user: Memory) -> None:
    told(user, prefers("confirm"))
    told(user, prefers("upsert_candidate", confidence=0.9))
    assert user.preferences() == {("like", "tea"): "confirmed"}


def test_a_candidate_revives_a_revoked_preference(user: Memory) -> None:
    told(user, prefers("confirm"))
    (revision,) = told(user, prefers("revoke"))
    assert (revision["op"], revision["after"]["status"]) == ("revoke", "revoked")
    told(user, prefers("upsert_candidate"))
    assert user.preferences() == {("like", "tea"): "candidate"}


def test_confirm_revokes_a_confirmed_opposite_with_a_revision_of_its_own(user: Memory) -> None:
    told(user, prefers("confirm"))
    made, revoked = told(user, prefers("confirm", polarity="dislike"))
    assert (made["op"], revoked["op"]) == ("insert", "revoke")
    assert made["entity_id"] != revoked["entity_id"]
    assert user.preferences() == {("like", "tea"): "revoked", ("dislike", "tea"): "confirmed"}


def test_a_candidate_opposite_stays(user: Memory) -> None:
    told(user, prefers("upsert_candidate"))
    assert len(told(user, prefers("confirm", polarity="dislike"))) == 1
    assert user.preferences() == {("like", "tea"): "candidate", ("dislike", "tea"): "confirmed"}


def test_a_candidate_revokes_no_opposite(user: Memory) -> None:
    told(user, prefers("confirm"))
    told(user, prefers("upsert_candidate", polarity="dislike"))
    assert user.preferences() == {("like", "tea"): "confirmed", ("dislike", "tea"): "candidate"}


def test_a_subject_is_one_however_it_is_written(user: Memory) -> None:
    told(user, prefers("upsert_candidate", "Green Tea"))
    told(user, prefers("confirm", "  ｇｒｅｅｎ\u3000tea "))  # full-width letters and space
    assert user.preferences() == {("like", "Green Tea"): "confirmed"}


def test_another_domain_is_another_preference(user: Memory) -> None:
    told(user, prefers("confirm"), prefers("confirm", domain="drinks"))
    assert len(list(user.rows.scan("p/"))) == 2


def test_revoking_an_unknown_preference_is_refused(user: Memory) -> None:
    told(user, prefers("confirm"))
    with pytest.raises(Refused) as refused:
        told(user, prefers("revoke", polarity="dislike"))
    assert refused.value.reason == "unknown_preference"


def test_a_preference_said_again_without_news_makes_no_revision(user: Memory) -> None:
    told(user, prefers("confirm"))
    assert told(user, prefers("confirm")) == []


# --- the context graph ------------------------------------------------------------------------


def link(op: str = "put", label: str = "caused_by", **fields: Any) -> Json:
    return {"op": op, "from_event_id": "e2", "to_event_id": "e1", "label": label, **fields}


def thread(op: str, thread_key: str, event_id: str | None = None, **fields: Any) -> Json:
    return {"op": op, "thread_key": thread_key, **fields} | (
        {"event_id": event_id} if event_id else {}
    )


def graphed(user: Memory, **updates: list[Json]) -> list[tuple[str, str]]:
    """A plan of graph updates of its own; (op, what) of each revision it made.

    Each change is one row of `threads` or `links` and one revision of the same op.
    """
    plan_id = f"p{len(user.table('plans'))}"
    tables = ("threads", "links")
    before = {name: len(user.table(name)) for name in tables}
    revisions = user.made(plan(plan_id, context_updates=updates))
    for name in tables:
        rows = user.table(name)[before[name] :]
        ops = [one["op"] for one in revisions if f"{one['entity_type']}s" == name]
        assert [row["op"] for row in rows] == ops
    shown = [one["after"] or one["before"] for one in revisions]
    what = [one.get("thread_key", one.get("label", "")) for one in shown]
    return [
        (one["op"], f"{name} {ids['event_id']}" if "event_id" in ids else name)
        for one, name, ids in zip(revisions, what, shown, strict=True)
    ]


def members(user: Memory) -> dict[str, float]:
    """`thread event` -> confidence."""
    found = user.rows.scan("x/")
    return {name[2:].replace("\x1f", " "): member.confidence for name, member in found}


def test_an_event_may_be_in_many_threads(user: Memory) -> None:
    made = graphed(user, threads=[thread("put", "trip", "e1"), thread("put", "money", "e1")])
    assert made == [("put", "trip e1"), ("put", "money e1")]
    assert members(user) == {"trip e1": 0.5, "money e1": 0.5}


def test_an_event_put_into_a_thread_twice_is_there_once(user: Memory) -> None:
    graphed(user, threads=[thread("put", "trip", "e1")])
    assert graphed(user, threads=[thread("put", "trip", "e1")]) == []
    again = [thread("put", "trip", "e1", confidence=0.9)]
    assert graphed(user, threads=again) == [("put", "trip e1")]
    assert members(user) == {"trip e1": 0.9}


def test_remove_takes_an_event_out_of_a_thread(user: Memory) -> None:
    graphed(user, threads=[thread("put", "trip", "e1")])
    assert graphed(user, threads=[thread("remove", "trip", "e1")]) == [("remove", "trip e1")]
    assert members(user) == {}
    assert graphed(user, threads=[thread("remove", "trip", "e1")]) == []


def test_merge_into_moves_every_event_and_the_surer_membership_stands(user: Memory) -> None:
    graphed(
        user,
        threads=[
            thread("put", "trip", "e1", confidence=0.9),
            thread("put", "trip", "e2"),
            thread("put", "trip", "e3"),
            thread("put", "travel", "e1", confidence=0.3),
            thread("put", "travel", "e3", confidence=0.8),
        ],
    )
    made = graphed(user, threads=[thread("merge_into", "trip", into="travel")])
    assert sorted(made) == [
        ("put", "travel e1"),
        ("put", "travel e2"),
        ("remove", "trip e1"),
        ("remove", "trip e2"),
        ("remove", "trip e3"),
    ]
    assert members(user) == {"travel e1": 0.9, "travel e2": 0.5, "travel e3": 0.8}


def test_a_link_is_unique_by_its_ends_and_label(user: Memory) -> None:
    assert graphed(user, links=[link(), link(label="same_topic")]) == [
        ("put", "caused_by"),
        ("put", "same_topic"),
    ]
    assert graphed(user, links=[link()]) == []
    assert graphed(user, links=[link(confidence=0.8)]) == [("put", "caused_by")]
    assert len(list(user.rows.scan("k/"))) == 2


def test_remove_takes_a_link_away_once(user: Memory) -> None:
    graphed(user, links=[link()])
    assert graphed(user, links=[link("remove")]) == [("remove", "caused_by")]
    assert graphed(user, links=[link("remove")]) == []
    assert list(user.rows.scan("k/")) == []


def test_a_plans_link_is_not_provisional(user: Memory) -> None:
    graphed(user, links=[link(label="reply_to")])
    assert [row["provisional"] for row in user.table("links")] == [False]


# --- tidying ----------------------------------------------------------------------------------


def plans(user: Memory, upto: int) -> None:
    """Plans that say nothing, until the user has had that many."""
    for number in range(len(user.table("plans")), upto):
        user.made(plan(f"empty-{number}"))


def repeated(times: int, **fields: Any) -> list[Json]:
    return [says(valid_from=day(1), **fields) for _ in range(times)]


def tidied(user: Memory) -> list[Json]:
    return [one for one in user.table("revisions") if one["reason"] == "tidy_memory"]


def open_states(user: Memory) -> list[Json]:
    return [one for one in user.states().values() if one["valid_to"] is None]


def test_of_states_that_say_the_same_the_oldest_stays_confirmed_as_late_as_any(
    user: Memory,
) -> None:
    user.tell(says(valid_from=day(1), state_id="z-oldest"), at=2)
    user.tell(says(valid_from=day(1), state_id="a-newest"), plan_id="p2", at=8)
    user.tell(says(valid_from=day(1), state_id="between"), plan_id="p3", at=4)
    plans(user, 9)
    assert tidied(user) == []
    user.made(plan("tenth", 20))
    kept, *closed = sorted(user.states().values(), key=lambda one: one["status"])
    assert (kept["state_id"], kept["last_confirmed_at"]) == ("z-oldest", day(8))
    assert {one["state_id"]: one["valid_to"] for one in closed} == {
        "a-newest": day(20),
        "between": day(20),
    }
    assert sorted(one["op"] for one in tidied(user)) == ["close", "close", "update"]


def test_tidying_has_its_reason_and_no_evidence(user: Memory) -> None:
    user.tell(*repeated(2))
    plans(user, 9)
    (revision,) = user.made(plan("tenth", 20, event_id="e1"))
    assert (revision["reason"], revision["evidence_event_ids"]) == ("tidy_memory", [])
    assert (revision["plan_id"], revision["occurred_at"]) == ("tenth", parse_time(day(20)))


@pytest.mark.parametrize(
    "other",
    [
        says("I live in Nara", valid_from=day(1)),
        says(kind="summary", valid_from=day(1)),
        says(valid_from=day(1), payload={"since": 1}),
        says(valid_from=day(2)),
        says(valid_from=day(1), valid_to=day(30)),
    ],
    ids=["text", "kind", "payload", "valid_from", "not open-ended"],
)
def test_states_that_differ_are_left_alone(user: Memory, other: Json) -> None:
    user.tell(says(valid_from=day(1)), other)
    plans(user, 10)
    assert tidied(user) == []


def test_tidying_comes_at_the_10th_then_every_200th_plan(user: Memory) -> None:
    came = []
    for number in range(1, 402):
        made = user.made(plan(f"p{number}", state_updates=repeated(1)))
        came.extend([number] if any(one["reason"] == "tidy_memory" for one in made) else [])
    assert came == [10, 200, 400]


def test_only_plans_that_applied_are_counted(user: Memory) -> None:
    user.tell(*repeated(2))
    plans(user, 9)
    assert user.give(plan(state_updates=repeated(2))) == "duplicate"
    with pytest.raises(Refused):
        user.tell({"op": "close", "state_id": "nowhere"}, plan_id="refused")
    assert len(open_states(user)) == 2
    user.made(plan("tenth"))
    assert len(open_states(user)) == 1


def test_a_run_closes_at_most_200_states(user: Memory) -> None:
    user.tell(*repeated(150))
    user.tell(*repeated(150), plan_id="p2")
    plans(user, 10)
    assert len(open_states(user)) == 100
    plans(user, 200)
    assert len(open_states(user)) == 1


def test_tidying_never_touches_the_mood(user: Memory) -> None:
    vad = {"v": 0.5, "a": 0, "d": 0}
    user.made(plan("felt", event_id="e1", event_affect={"text": "glad", "vad": vad}))
    user.tell(says("glad", "long_mood_state"))
    mood = user.rows.get("a")
    plans(user, 10)
    assert tidied(user) == []
    assert user.rows.get("a") == mood
