"""What the views and macros say of a history (docs/tables.md)."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sinks.history import QueryError, catalog, columns, connect, query, read, table_names
from sinks.history_root import HistoryError, open_root
from sinks.tables import STORED
from sinks.views import ALL_VIEWS, MACROS
from tests.unit.test_sinks_support import row, state, write

pytestmark = pytest.mark.nightly


def ask(root: Path, sql: str, *given: Any, tenant: str | None = None) -> list[tuple[Any, ...]]:
    with connect(root, tenant=tenant) as db:
        return read(db, sql, *given).rows


def test_every_view_is_there_before_any_row(tmp_path: Path) -> None:
    root = open_root(tmp_path / "history")
    with connect(root) as db:
        for view in [*table_names(), *(one for one in ALL_VIEWS if one not in MACROS)]:
            assert db.execute(f"SELECT * FROM {view}").fetchall() == []
        for call in ("state_as_of(now(), NULL)", "why('x')", "thread('x')", "reply_chain('x')"):
            assert db.execute(f"SELECT * FROM {call}").fetchall() == []
        types = db.execute("SELECT column_name, column_type FROM (DESCRIBE events)").fetchall()
    named = {"TIMESTAMPTZ": "TIMESTAMP WITH TIME ZONE"}
    assert dict(types) == {name: named.get(kind, kind) for name, kind in columns("events").items()}


def test_types_do_not_depend_on_whether_there_are_rows(tmp_path: Path) -> None:
    empty, full = open_root(tmp_path / "empty"), tmp_path / "full"
    write(full, **{table: [row(table)] for table in STORED})
    for view in [*table_names(), *(one for one in ALL_VIEWS if one not in MACROS)]:
        assert ask(empty, f"DESCRIBE {view}") == ask(full, f"DESCRIBE {view}"), view


def test_no_history_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(HistoryError, match="no history here"):
        connect(tmp_path / "nowhere")


def step(index: int, trace: str, kind: str = "CALL_TOOL", /, **given: Any) -> tuple[Any, ...]:
    doc = {name: given.pop(name) for name in ("final", "max_iteration") if name in given}
    keys = {"session_id": "s", "task_id": "t", "trace_id": trace, "iteration_index": index}
    values = {"status": "done", "action_type": kind, "occurred_at": f"2026-03-01T10:{index:02}:00Z"}
    return row("recursions", **keys, **{**values, **given}, doc=json.dumps(doc))


def after(root: Path) -> list[str]:
    rows = ask(root, "SELECT trace_id FROM recursion_current WHERE after_finish ORDER BY ALL")
    return [trace for (trace,) in rows]


def test_versions_of_a_recursion(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        recursions=[
            step(1, "a", thought="ended"),
            step(1, "a", status="running", thought="running", occurred_at="2026-03-02"),
            step(2, "b", thought="old"),
            step(2, "b", thought="late", occurred_at="2026-03-02"),
            step(3, "c", thought="less", max_iteration=10),
            step(3, "c", thought="more", max_iteration=20),
        ],
    )
    found = ask(root, "SELECT trace_id, thought FROM recursion_current ORDER BY 1")
    assert found == [("a", "ended"), ("b", "late"), ("c", "more")]


@pytest.mark.parametrize(
    ("steps", "turns", "late"),
    [
        ([step(1, "a", "ANSWER"), step(1, "b"), step(2, "c")], [], ["b", "c"]),
        ([step(1, "a", "ANSWER", status="running"), step(2, "b")], [], []),
        ([step(1, "a", status="error"), step(2, "b")], [], []),
        ([step(1, "a", status="error", final=True), step(2, "b")], [], ["b"]),
        ([step(1, "a", max_iteration=2), step(2, "b"), step(3, "c")], [], ["c"]),
        ([step(1, "a", max_iteration=2), step(2, "b", max_iteration=3), step(3, "c")], [], []),
        # a CLARIFY at the limit waits; the next that ends makes the stop
        ([step(1, "a", "CLARIFY", max_iteration=1)], [], []),
        ([step(1, "a", "CLARIFY", max_iteration=1), step(2, "b"), step(3, "c")], [], ["c"]),
        # unless a later turn answers it: then the stop stands at the CLARIFY
        (
            [step(1, "a", "CLARIFY", max_iteration=1), step(2, "b"), step(3, "c")],
            ["2026-03-01T11:00:00Z"],
            ["b", "c"],
        ),
        (
            [step(1, "a", "CLARIFY", max_iteration=1), step(2, "b"), step(3, "c")],
            ["2026-03-01T09:00:00Z"],
            ["c"],
        ),
        ([step(n, f"{n:02}") for n in range(1, 13)], [], ["11", "12"]),  # the default limit
    ],
)
def test_what_comes_after_a_task_ended(
    tmp_path: Path, steps: list[Any], turns: list[str], late: list[str]
) -> None:
    root = tmp_path / "history"
    events = [row("events", event_id=t, session_id="s", occurred_at=t) for t in turns]
    write(root, recursions=steps[::-1], **({"events": events} if events else {}))
    assert after(root) == late


def test_the_document_written_last_stands_whatever_its_time(tmp_path: Path) -> None:
    """A late record's document is the newer one though its record is older."""
    root = tmp_path / "history"
    early = {"session_id": "s", "updated_at": "2026-03-02", "src_offset": 9}
    write(root, sessions=[row("sessions", **early, doc='"first"', recorded_at="2026-03-02")])
    late = [
        row("sessions", **early, doc='"between"', recorded_at="2026-03-01"),
        row("sessions", **early | {"src_offset": 1}, doc='"last"', recorded_at="2026-03-01"),
    ]
    write(root, 1, sessions=late)
    assert ask(root, "SELECT doc FROM session_current") == [('"last"',)]
    assert (
        "commit_order" not in ask(root, "SELECT list(column_name) FROM (DESCRIBE sessions)")[0][0]
    )


def test_clocks_of_state_as_of_may_be_omitted(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        revisions=[
            state("home", 0, "2026-01-01", body_text="Kyoto"),
            state("home", 1, "2026-02-01", body_text="Osaka", recorded_at="2026-03-01"),
            state("job", 2, "9999-01-01", body_text="baker"),
        ],
    )

    def told(clocks: str) -> list[str]:
        return [text for (text,) in ask(root, f"SELECT body_text FROM state_as_of({clocks})")]

    assert told("") == told("now()") == told("NULL, NULL") == told("now(), now()") == ["Osaka"]
    assert told("'2026-01-10'") == told("'2026-01-10', NULL") == ["Kyoto"]
    assert told("known_at := '2026-02-15'") == told("NULL, '2026-02-15'") == ["Kyoto"]
    assert told("valid_at := '2025-01-10'") == []


def test_what_is_known_never_shrinks(tmp_path: Path) -> None:
    """A revision that follows a later-recorded one was not known before it."""
    root = tmp_path / "history"
    write(
        root,
        revisions=[
            state("x", 0, "2026-01-01", body_text="one", recorded_at="2026-03-01"),
            state("x", 1, "2026-01-01", body_text="two", recorded_at="2026-02-01"),
        ],
    )
    sql = "SELECT body_text FROM state_as_of('2026-05-01', ?)"
    assert ask(root, sql, "2026-02-15") == []
    assert ask(root, sql, "2026-03-01") == [("two",)]


def link(
    op: str, one: str, to: str, seq: int, provisional: bool = True, label: str = "reply_to"
) -> tuple[Any, ...]:
    ends = {"from_event_id": one, "to_event_id": to, "label": label}
    owner = "s" if provisional else "u1"
    session = "s" if provisional else None
    return row(
        "links", op=op, owner_id=owner, session_id=session, **ends, seq=seq, provisional=provisional
    )


def test_threads_show_their_events_in_order(tmp_path: Path) -> None:
    root = tmp_path / "history"

    def member(op: str, key: str, event: str, seq: int) -> tuple[Any, ...]:
        return row("threads", op=op, thread_key=key, event_id=event, seq=seq, owner_id="s")

    write(
        root,
        threads=[
            member("put", "trip", "e2", 0),
            member("put", "trip", "e1", 1),
            member("put", "trip", "e3", 2),
            member("remove", "trip", "e3", 3),
            member("put", "food", "e3", 4),
        ],
        events=[
            row("events", event_id=f"e{n}", session_id="s", occurred_at=f"2026-03-0{n}",
                user_input=f"text {n}")
            for n in (3, 2, 1)
        ],
    )  # fmt: skip
    sql = "SELECT thread_key, event_id, user_input FROM thread('trip')"
    assert ask(root, sql) == [("trip", "e1", "text 1"), ("trip", "e2", "text 2")]
    assert ask(root, "SELECT event_id FROM thread(thread_key := 'food')") == [("e3",)]


def test_a_chain_of_replies_goes_back_to_the_start_and_a_cycle_ends(tmp_path: Path) -> None:
    root = tmp_path / "history"
    names = [f"e{n:03}" for n in range(100)]
    write(
        root,
        events=[row("events", event_id=one, session_id="s") for one in [*names, "x", "y", "z"]],
        links=[
            *(link("put", one, to, n) for n, (to, one) in enumerate(pairwise(names))),
            *(link("put", one, to, 0) for one, to in ("xy", "yz", "zx")),
        ],
    )
    chain = ask(root, "SELECT event_id FROM reply_chain('e099')")
    assert [one for (one,) in chain] == names[::-1]
    assert ask(root, "SELECT depth, event_id FROM reply_chain('y')") == [
        (0, "y"),
        (1, "z"),
        (2, "x"),
    ]
    assert ask(root, "SELECT event_id FROM reply_chain('nobody')") == []


def test_why_tells_the_revisions_with_their_evidence(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        events=[
            row("events", event_id="e1", session_id="s", user_input="I moved", status="running"),
            row("events", event_id="e1", session_id="s", user_input="I moved", agent_answer="ok"),
            row("events", event_id="e2", session_id="s", user_input="to Kobe"),
        ],
        revisions=[
            state("x", 4, "2026-02-01", evidence=["e2", "e1"], reason="told", before="{}"),
            state("x", 3, "2026-01-01", evidence=["e1"], reason="first"),
            state("x", 5, "2026-02-01", reason="tidy_memory"),
            state("y", 6, "2026-02-01", evidence=["e1"]),
        ],
    )
    sql = "SELECT reason, evidence_event_id, user_input, agent_answer FROM why('x')"
    assert ask(root, sql) == [
        ("first", "e1", "I moved", "ok"),
        ("told", "e2", "to Kobe", ""),
        ("told", "e1", "I moved", "ok"),
        ("tidy_memory", None, None, None),
    ]
    assert ask(root, 'SELECT count("before"), count("after") FROM why(\'x\')') == [(2, 4)]


def test_a_tenant_sees_only_its_own(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        events=[row("events", tenant=t, event_id=t, session_id="s") for t in ("a", "it's")],
        sessions=[row("sessions", tenant=t, session_id="s") for t in ("a", "it's")],
    )
    assert ask(root, "SELECT event_id FROM event_current", tenant="it's") == [("it's",)]
    assert ask(root, "SELECT tenant FROM session_current", tenant="a") == [("a",)]
    assert ask(root, "SELECT count(*) FROM events") == [(2,)]


def test_only_the_views_asked_for_are_made(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    with connect(root, views=["reply_chain", "session_current"]) as db:
        made = {one for (one,) in db.execute("SELECT view_name FROM duckdb_views()").fetchall()}
        assert {"events", "links", "session_current"} <= made
        assert not {"revisions", "sessions"} & made
        assert db.execute("SELECT event_id FROM reply_chain('a')").fetchall() == [("a",)]


@pytest.mark.parametrize(
    "sql",
    [
        "COPY (SELECT 1) TO '{root}/events/x.csv'",
        "EXPLAIN ANALYZE COPY (SELECT 1) TO '{root}/events/x.csv'",
        "SELECT * FROM read_text('{outside}')", "SELECT 1; DROP VIEW events", "SELECT 1; SELECT 2",
        "SELECT 1 AS a; EXPLAIN SELECT 2;", "CREATE TABLE t AS SELECT 1",
        "SET enable_external_access = true", "ATTACH '{outside}.duckdb'", "SELECT * FROM nowhere",
        "SELEC 1", "",
    ],
)  # fmt: skip
def test_sql_of_others_only_reads_the_history(tmp_path: Path, sql: str) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    outside = tmp_path / "outside.txt"
    outside.write_text("secret")
    before = sorted(tmp_path.rglob("*"))
    with pytest.raises(QueryError) as refused:
        query(root, sql.format(root=root, outside=outside))
    assert refused.value.exit_code == 2
    assert sorted(tmp_path.rglob("*")) == before


def test_a_query_reads_the_views(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    half = "TIMESTAMPTZ '2026-03-01 09:00:00.5+00'"
    result = query(root, f"SELECT event_id, occurred_at, {half} AS event_id FROM events;")
    assert result.names == ["event_id", "occurred_at", "event_id_1"]  # each its own name
    assert result.rows == [("a", "2026-03-01T09:00:00Z", "2026-03-01T09:00:00.500000Z")]
    for sql in (
        "SELECT 1 AS one -- a word",
        "SELECT 1 AS one; -- a word",
        "FROM (SELECT 1 AS one)",
    ):
        assert query(root, sql).objects() == [{"one": 1}]
    assert ("events",) in query(root, "SHOW TABLES").rows
    assert query(root, "EXPLAIN SELECT 1").rows
    ordered = query(root, "SELECT now() AS t, n FROM range(5) r(n) ORDER BY n DESC").rows
    assert [n for _, n in ordered] == [4, 3, 2, 1, 0]


@pytest.mark.parametrize(
    "sql",
    [
        'SELECT count(*) FROM "EVENTS"',
        "SELECT count(*) FROM Event_Current",
        "SELECT count(*) FROM query_table('ev' || 'ents')",
        "SELECT count(*) FROM query('FROM ev' || 'ents')",
        "SELECT count(*) FROM duckdb_views() WHERE view_name = 'ev' || 'ents'",
        "SELECT count(*) FROM information_schema.tables WHERE table_name = 'events'",
    ],
)
def test_a_query_finds_a_view_however_it_names_it(tmp_path: Path, sql: str) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    assert query(root, sql).rows == [(1,)]


def test_a_view_that_does_not_exist_is_answered_with_the_nearest(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, events=[row("events", event_id="a", session_id="s")])
    with pytest.raises(QueryError, match=r"(?s)event_curent does not exist.*event_current"):
        query(root, "SELECT 1 FROM events JOIN event_curent USING (event_id)")


def test_a_catalog_is_a_database_with_the_views(tmp_path: Path) -> None:
    root, file = tmp_path / "history", tmp_path / "memory.duckdb"
    write(root, events=[row("events", event_id="a", session_id="s")])
    catalog(root, file)
    write(root, 1, events=[row("events", event_id="b", session_id="s")])
    with duckdb.connect(str(file), read_only=True) as db:
        assert db.execute("SELECT event_id FROM event_current").fetchall() == [("a",)]
    catalog(root, file)
    with duckdb.connect(str(file), read_only=True) as db:
        assert db.execute("SELECT count(*) FROM event_current").fetchall() == [(2,)]
        assert db.execute("SELECT * FROM why('x')").fetchall() == []
    (tmp_path / "text.txt").write_text("not a database, and long enough to look at" * 20)
    with pytest.raises(HistoryError, match=r"text\.txt"):
        catalog(root, tmp_path / "text.txt")
