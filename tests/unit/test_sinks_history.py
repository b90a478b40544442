"""What the views and macros say of a history (docs/tables.md)."""

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import pytest

from sinks.history import QueryError, catalog, columns, connect, query, read, table_names
from sinks.root import HistoryError, open_root
from sinks.tables import STORED
from sinks.views import ALL_VIEWS, MACROS
from tests.unit.test_sinks_support import row, state, write

pytestmark = pytest.mark.nightly

STATE_COLUMNS = (
    "tenant owner_id state_id kind body_text payload confidence valid_from valid_to "
    "last_confirmed_at status evidence_event_ids updated_at"
)


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


def test_an_ended_turn_beats_the_running_one(tmp_path: Path) -> None:
    root = tmp_path / "history"
    running = row(
        "events", event_id="e", session_id="s", status="running", recorded_at="2026-03-02"
    )
    ended = row("events", event_id="e", session_id="s", status="done", recorded_at="2026-03-01")
    other = row("events", event_id="e", session_id="t", status="done")
    write(root, events=[running, ended, other])
    found = ask(root, "SELECT session_id, status FROM event_current ORDER BY 1")
    assert found == [("s", "done"), ("t", "done")]


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


def test_as_of_on_both_clocks(tmp_path: Path) -> None:
    """Lived in Kyoto from January; told in March of a move in February; corrected in April."""
    root = tmp_path / "history"
    write(
        root,
        revisions=[
            state("home", 0, "2026-01-01", body_text="Kyoto"),
            state("home", 1, "2026-02-01", body_text="Osaka", op="supersede",
                  recorded_at="2026-03-01"),
            state("home", 2, "2026-02-01", body_text="Kobe", op="update", recorded_at="2026-04-01"),
            state("job", 3, "2026-01-01", body_text="baker", valid_to="2026-01-20T00:00:00Z",
                  status="closed", op="close", recorded_at="2026-01-20"),
        ],
    )  # fmt: skip

    def told(valid_at: str, known_at: str | None) -> list[str]:
        rows = ask(root, "SELECT body_text FROM state_as_of(?, ?) ORDER BY 1", valid_at, known_at)
        return [text for (text,) in rows]

    assert told("2025-12-31", None) == []
    assert told("2026-01-10", None) == ["Kyoto", "baker"]
    assert told("2026-01-20", None) == ["Kyoto"]  # [from, to)
    assert told("2026-02-01", None) == ["Kobe"]
    assert told("2026-02-10", "2026-02-15") == ["Kyoto"]
    assert told("2026-02-10", "2026-03-01") == ["Osaka"]  # known when <= known_at
    assert told("2026-02-10", "2026-03-31T23:59:59.999999Z") == ["Osaka"]
    assert told("2026-02-10", "2026-04-01") == ["Kobe"]
    assert told("2026-01-10", "2025-12-31") == []
    current = ask(root, "SELECT state_id, body_text, status FROM state_current ORDER BY 1")
    assert current == [("home", "Kobe", "active"), ("job", "baker", "closed")]


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


def test_states_of_one_id_belong_to_their_owner_and_tenant(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        revisions=[
            state("x", 0, "2026-01-01", body_text="of u1"),
            state("x", 0, "2026-02-01", body_text="of u2", owner_id="u2"),
            row("revisions", tenant="other", owner_id="u1", entity_type="state", entity_id="x",
                after=json.dumps({"body_text": "elsewhere", "valid_from": "2026-01-01T00:00:00Z"})),
        ],
    )  # fmt: skip
    found = ask(root, "SELECT body_text FROM state_current", tenant="default")
    assert sorted(found) == [("of u1",), ("of u2",)]
    assert ask(root, "SELECT body_text FROM state_as_of('2026-03-01', NULL)", tenant="other") == [
        ("elsewhere",)
    ]
    assert len(ask(root, "SELECT * FROM why('x')", tenant="default")) == 2


def test_the_mood_is_its_one_state(tmp_path: Path) -> None:
    root = tmp_path / "history"
    numbers = {"baseline_vad": {"v": 0.1, "a": 0.0, "d": 0.0}, "last_at": "2026-01-02T00:00:00Z"}
    write(
        root,
        revisions=[
            state("mood", 0, "2026-01-01", kind="long_mood_state", body_text="calm"),
            state("mood", 1, "2026-01-02", kind="long_mood_state", payload=numbers),
            state("fact", 2, "2026-01-02"),
        ],
    )
    ((payload,),) = ask(root, "SELECT payload FROM mood_current")
    assert json.loads(payload) == numbers
    for view in ("state_current", "mood_current", "state_as_of(NULL, NULL)"):
        names = ask(root, f"SELECT list(column_name) FROM (DESCRIBE FROM {view})")[0][0]
        assert names == STATE_COLUMNS.split()


def test_preferences_stand_as_last_revised(tmp_path: Path) -> None:
    root = tmp_path / "history"

    def preference(name: str, seq: int, after: dict[str, Any] | None) -> tuple[Any, ...]:
        made = {"owner_id": "u1", "entity_type": "preference", "entity_id": name, "seq": seq}
        return row("revisions", **made, after=None if after is None else json.dumps(after))

    tea = {"domain": "drink", "subject": "tea", "status": "candidate", "evidence_event_ids": ["e"]}
    write(
        root,
        revisions=[
            preference("tea", 0, tea),
            preference("tea", 1, tea | {"status": "confirmed"}),
            preference("gone", 2, tea),
            preference("gone", 3, None),
        ],
    )
    sql = "SELECT preference_id, subject, status, evidence_event_ids, note FROM preference_current"
    assert ask(root, sql) == [("tea", "tea", "confirmed", ["e"], None)]


def test_of_several_moments_a_plans_then_the_latest(tmp_path: Path) -> None:
    root = tmp_path / "history"

    def moment(event: str, text: str, day: str, from_plan: bool, offset: int) -> tuple[Any, ...]:
        keys = {"event_id": event, "user_id": "u", "text": text, "src_offset": offset}
        return row(
            "affects", **keys, from_plan=from_plan, occurred_at=day, recorded_at="2026-03-09"
        )

    write(
        root,
        affects=[
            moment("a", "turn", "2026-03-05", False, 3),
            moment("a", "plan", "2026-03-01", True, 1),
            moment("b", "late", "2026-03-05", False, 1),
            moment("b", "old", "2026-03-01", False, 2),
            moment("c", "one", "2026-03-01", True, 1),
            moment("c", "two", "2026-03-01", True, 2),
        ],
    )
    found = ask(root, "SELECT event_id, text FROM affect_current ORDER BY 1")
    assert found == [("a", "plan"), ("b", "late"), ("c", "two")]


def link(
    op: str, one: str, to: str, seq: int, provisional: bool = True, label: str = "reply_to"
) -> tuple[Any, ...]:
    ends = {"from_event_id": one, "to_event_id": to, "label": label}
    owner = "s" if provisional else "u1"
    session = "s" if provisional else None
    return row(
        "links", op=op, owner_id=owner, session_id=session, **ends, seq=seq, provisional=provisional
    )


def test_links_are_moved_removed_and_replaced_by_a_plan(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(
        root,
        links=[
            link("put", "moved", "a", 0),
            link("put", "moved", "b", 1),
            link("put", "moved2", "a", 3),
            link("put", "moved2", "b", 5),
            link("remove", "moved2", "a", 6),
            link("put", "gone", "a", 2),
            link("remove", "gone", "a", 3),
            link("put", "planned", "a", 9),
            link("put", "planned", "c", 0, provisional=False),
            link("put", "unplanned", "a", 9),
            link("put", "unplanned", "c", 0, provisional=False),
            link("remove", "unplanned", "c", 1, provisional=False),
            link("put", "topic", "a", 9),
            link("put", "topic", "c", 0, provisional=False, label="same_topic"),
        ],
    )
    found = ask(root, "SELECT from_event_id, to_event_id, label FROM link_current ORDER BY ALL")
    assert found == [
        ("moved", "b", "reply_to"),
        ("moved2", "b", "reply_to"),
        ("planned", "c", "reply_to"),
        ("topic", "a", "reply_to"),
        ("topic", "c", "same_topic"),
        ("unplanned", "a", "reply_to"),
    ]


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
        "SELECT * FROM read_text('{outside}')",
        "SELECT 1; DROP VIEW events",
        "SELECT 1; SELECT 2",
        "SELECT 1 AS a; EXPLAIN SELECT 2;",
        "CREATE TABLE t AS SELECT 1",
        "SET enable_external_access = true",
        "ATTACH '{outside}.duckdb'",
        "SELECT * FROM nowhere",
        "SELEC 1",
        "",
    ],
)
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
