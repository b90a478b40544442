"""What was erased of a person, noted as hashes: which later rows are theirs by it."""

import json
from pathlib import Path
from typing import Any

import pytest

from sinks.erased_ids import EVENT, SESSION, TASK, WHOLE, hash_of, hash_sql
from sinks.history import connect, connect_empty, quoted, read
from sinks.maintenance import forget, sessions_of
from tests.unit.test_sinks_support import row, write

pytestmark = pytest.mark.nightly

IDS = ("a", "a b", "a/b", "1 a", "ä é", "\U0001f98a", "it's", "\x1f\\", "")


def test_python_and_sql_make_the_same_hash_of_an_id() -> None:
    with connect_empty() as db:
        for one in IDS:
            for other in IDS:
                sql = hash_sql("'task'", quoted(one), quoted(other), quoted(one + other))
                ((found,),) = db.execute(f"SELECT {sql}").fetchall()
                assert found == hash_of(TASK, one, other, one + other)


def test_no_two_ids_have_one_hash() -> None:
    every = [(one, two, three) for one in IDS for two in IDS for three in IDS]
    assert len({hash_of(EVENT, *ids) for ids in every}) == len(every)
    assert hash_of(EVENT, "t", "s", "1") != hash_of(TASK, "t", "s", "1")


def noted(*ids: tuple[str, str, str]) -> set[str]:
    return {hash_of(kind, "default", session, one) for kind, session, one in ids}


OF_ANN = noted(
    (SESSION, "group", "group"), (EVENT, "group", "a1"), (TASK, "group", "ta"),
    (EVENT, "group", "1"), (WHOLE, "own", "own"), (EVENT, "own", "o1"),
)  # fmt: skip
"""Of ann two events of `group` were erased, and `own`."""
BOBS = {"events": [row("events", event_id="b1", session_id="group", user_id="bob", task_id="tb")]}


def dead(**fields: Any) -> tuple[Any, ...]:
    return row("dead_letters", reason="r", **fields)


def said(**fields: str) -> bytes:
    return json.dumps(fields).encode()


LATE: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a task": ("tasks", row("tasks", session_id="group", task_id="ta")),
    "a session": ("sessions", row("sessions", session_id="group", user_id="bob")),
    "a recursion": ("recursions", row("recursions", session_id="group", task_id="ta")),
    "a tool result": ("tool_results", row("tool_results", session_id="group", task_id="ta")),
    "a link from": ("links", row("links", owner_id="group", provisional=True,
                                 from_event_id="a1", to_event_id="b1")),
    "a link to": ("links", row("links", owner_id="bob", session_id="group",
                               from_event_id="b1", to_event_id="a1")),
    "a thread": ("threads", row("threads", owner_id="bob", session_id="group", event_id="a1")),
    "a plan": ("plans", row("plans", plan_id="p", user_id="bob", event_id="a1",
                             doc='{"session_id": "group"}')),
    "an affect": ("affects", row("affects", session_id="group", event_id="a1")),
    "a revision": ("revisions", row("revisions", owner_id="group", entity_type="session_memory",
                                    entity_id="m", evidence_event_ids=["b1", "a1"])),
    "a letter of an event": ("dead_letters", dead(payload=said(session_id="group", event_id="a1"))),
    "a letter of a task": ("dead_letters", dead(payload=said(session_id="group", task_id="ta"))),
    "a letter's key": ("dead_letters", dead(key="default/group", payload=b"\xff")),
    "a whole session's task": ("tasks", row("tasks", session_id="own", task_id="t")),
    "a whole session's recursion": ("recursions", row("recursions", session_id="own")),
    "a whole session's plan of another": ("plans", row("plans", plan_id="p", user_id="bob",
                                                       event_id="o1",
                                                       doc='{"session_id": "own"}')),
    "a whole session's end": ("revisions", row("revisions", owner_id="own", entity_type="session",
                                               entity_id="own")),
}  # fmt: skip


@pytest.mark.parametrize("name", LATE)
def test_guarantee_8_a_late_row_is_theirs_by_what_is_noted(name: str, tmp_path: Path) -> None:
    table, late = LATE[name]
    write(tmp_path / "h", **BOBS, **{table: [late]})
    done = forget(tmp_path / "h", "default", "ann", OF_ANN)
    erased = {one for one, count in done.receipt["tables"].items() if count["erased"]}
    assert erased == {table}
    assert forget(tmp_path / "h", "default", "ann", OF_ANN).shared == []


OTHERS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "another task": ("tasks", row("tasks", session_id="group", task_id="tb")),
    "an event's id as a task's": ("tasks", row("tasks", session_id="group", task_id="a1")),
    "another session's": ("tasks", row("tasks", session_id="other", task_id="ta")),
    "another tenant's": ("tasks", row("tasks", session_id="group", task_id="ta", tenant="other")),
    "a document made again": ("sessions", row("sessions", session_id="group", user_id="bob",
                                              src_topic="forget")),
    "a task made again": ("tasks", row("tasks", session_id="group", task_id="ta",
                                       src_topic="forget")),
    "an id that somebody has used since": ("events", row("events", session_id="group",
                                                         event_id="1", user_id="bob")),
    "whose session somebody has begun anew": ("events", row("events", session_id="own",
                                                            event_id="1")),
    "a plan of what somebody has said there since": (
        "plans", row("plans", plan_id="p", user_id="bob", event_id="b9",
                     doc='{"session_id": "own"}')),
    "another letter": ("dead_letters", dead(key="default/x", payload=said(session_id="group"))),
    "a user called as the session": ("revisions", row("revisions", owner_id="own",
                                                      entity_type="state", entity_id="x")),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
def test_others_rows_stay(name: str, tmp_path: Path) -> None:
    table, other = OTHERS[name]
    rows = {**BOBS, table: [*BOBS.get(table, []), other]}
    write(tmp_path / "h", **rows)
    if "used since" in name:  # a link to it is theirs, too
        link = row("links", owner_id="group", provisional=True, from_event_id="1", to_event_id="b1")
        write(tmp_path / "h", 1, links=[link])
    done = forget(tmp_path / "h", "default", "ann", OF_ANN)
    assert {one["erased"] for one in done.receipt["tables"].values()} == {0}
    with connect(tmp_path / "h") as db:
        assert read(db, f"SELECT count(*) FROM {table}").rows == [(len(rows[table]),)]


def test_what_a_call_erases_is_what_is_noted(tmp_path: Path) -> None:
    events = [
        row("events", event_id="a1", session_id="group", user_id="ann", task_id="ta"),
        row("events", event_id="1", session_id="own", user_id="ann"),
    ]
    write(tmp_path / "h", events=[*BOBS["events"], *events])
    found = sessions_of(tmp_path / "h", "default", "ann")
    assert (found.whole, found.shared) == ([("default", "own")], [("default", "group")])
    assert set(found.erased) == noted(
        (SESSION, "group", "group"), (EVENT, "group", "a1"), (TASK, "group", "ta"),
        (WHOLE, "own", "own"), (EVENT, "own", "1"),
    )  # fmt: skip
