"""Digests, compaction, and the erasure of a person down to the bytes."""

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pytest

from schemas.rows import TABLES
from sinks.delta import History
from sinks.digest import digest
from sinks.history import connect, read
from sinks.maintenance import compact, forget
from tests.unit.test_sinks_support import row, state, write

pytestmark = pytest.mark.nightly

SECRET = "the heron sleeps at midnight"


def some_rows() -> dict[str, list[tuple[Any, ...]]]:
    return {
        "events": [row("events", event_id=f"e{n}", session_id="s", doc=f'"{n}"')
                   for n in range(40)],
        "recursions": [
            row("recursions", session_id="s", task_id="t", trace_id=f"{n}", iteration_index=n,
                status="done", action_type="ANSWER" if n == 5 else "REFLECT")
            for n in range(9)
        ],
        "revisions": [state(f"x{n % 7}", n, f"2026-03-{1 + n % 5:02}") for n in range(30)],
        "affects": [row("affects", event_id=f"e{n % 9}", from_plan=n == 4, src_offset=n, v=n / 30)
                    for n in range(30)],
        "links": [row("links", op="put", owner_id="s", from_event_id=f"e{n}", seq=n,
                      to_event_id=f"e{n // 2}", label="reply_to", provisional=True)
                  for n in range(30)],
        "dead_letters": [row("dead_letters", reason="r", payload=b"\xff\x00")] * 2,
    }  # fmt: skip


def moved(table: str, given: tuple[Any, ...], topic: str, delay: int) -> tuple[Any, ...]:
    """The same row, read from elsewhere and recorded later."""
    *own, tenant, recorded_at, _, partition, offset, date = given
    return (*own, tenant, recorded_at + delay, topic, partition, offset, date)


def test_guarantee_1_a_digest_knows_no_order_and_no_source(tmp_path: Path) -> None:
    rows = some_rows()
    write(tmp_path / "a", **rows)
    chance = random.Random(7)
    parts: list[dict[str, list[tuple[Any, ...]]]] = [{}, {}, {}]
    for table, given in rows.items():
        for one in chance.sample(given, len(given)):
            elsewhere = moved(table, one, "other", 9_000_000)
            chance.choice(parts).setdefault(table, []).append(elsewhere)
    for version, part in enumerate(parts):
        write(tmp_path / "b", version, **part)
    assert digest(tmp_path / "a") == digest(tmp_path / "b")


def test_a_digest_notices_what_changed(tmp_path: Path) -> None:
    rows = some_rows()
    write(tmp_path / "a", **rows)
    first = digest(tmp_path / "a")
    again = row("events", event_id="e0", session_id="s", doc='"0"', recorded_at="2026-05-01")
    write(tmp_path / "a", 1, events=[again])
    second = digest(tmp_path / "a")
    assert second["memory"] == first["memory"]
    assert second["tables"] == first["tables"]  # the same event twice is one event
    assert second["log"] != first["log"]
    write(tmp_path / "a", 2, revisions=[state("x0", 99, "2026-03-09", body_text="else")])
    third = digest(tmp_path / "a")
    assert third["memory"] != second["memory"]
    changed = {name for name in third["tables"] if third["tables"][name] != second["tables"][name]}
    assert changed == {"revisions", "state_current"}
    assert set(TABLES) < set(third["tables"])


def test_a_digest_is_of_one_tenant(tmp_path: Path) -> None:
    write(tmp_path / "a", events=[row("events", tenant="x", event_id="e", session_id="s")])
    write(tmp_path / "b", events=[row("events", tenant=t, event_id="e", session_id="s")
                                  for t in ("x", "y")])  # fmt: skip
    assert digest(tmp_path / "a") != digest(tmp_path / "b")
    assert digest(tmp_path / "a", "x") == digest(tmp_path / "b", "x")


def test_compact_merges_files_and_keeps_the_newest_document_of_a_day(tmp_path: Path) -> None:
    root = tmp_path / "history"
    for n in range(6):
        day = f"2026-03-0{1 + n // 3}"
        write(
            root,
            n,
            events=[row("events", event_id=f"e{n}", session_id="s")],
            sessions=[row("sessions", session_id=s, updated_at=day, doc=f'"{s}{n}"') for s in "ab"],
        )
    before = digest(root)
    report = compact(root, retention_hours=0)
    assert digest(root) == before
    assert report["events"]["files_before"] == 6
    assert report["events"]["files_after"] == 1
    assert report["sessions"]["rows_dropped"] == 8
    with connect(root) as db:
        docs = read(db, "SELECT doc FROM sessions ORDER BY doc").rows
    assert docs == [('"a2"',), ('"a5"',), ('"b2"',), ('"b5"',)]
    assert len(list((root / "sessions").rglob("*.parquet"))) == 2 + len(
        list((root / "sessions" / "_delta_log").glob("*.parquet"))
    )
    with History(root) as history:  # what was written stays known
        assert history.versions("test") == {"events": 5, "sessions": 5}
    write(root, 6, sessions=[row("sessions", session_id="a", updated_at="2026-03-02", doc='"new"')])
    with connect(root) as db:
        assert read(db, "SELECT doc FROM session_current ORDER BY 1").rows == [
            ('"b5"',),
            ('"new"',),
        ]


def test_compact_leaves_fresh_files_to_readers(tmp_path: Path) -> None:
    root = tmp_path / "history"
    for n in range(3):
        write(root, n, events=[row("events", event_id=f"e{n}", session_id="s")])
    with connect(root) as reader:
        compact(root)
        assert read(reader, "SELECT count(*) FROM events").rows == [(3,)]


def holds(root: Path, text: str) -> list[str]:
    """Files whose bytes hold the text, as they lie or within Parquet's pages."""
    found = [str(p) for p in root.rglob("*") if p.is_file() and text.encode() in p.read_bytes()]
    with connect(root) as db:
        for path in root.rglob("*.parquet"):
            sql = "SELECT count(*) FROM read_parquet(?) t WHERE contains(to_json(t)::VARCHAR, ?)"
            if read(db, sql, str(path), text).rows != [(0,)]:
                found.append(str(path))
    return found


def people() -> dict[str, list[tuple[Any, ...]]]:
    """ann alone in `own`, with bob in `group`; eve elsewhere. ann's rows hold the secret."""
    told = {"user_input": SECRET, "doc": json.dumps({"user_input": SECRET})}

    def dead(key: str, payload: bytes) -> tuple[Any, ...]:
        return row("dead_letters", reason="r", key=key, payload=payload)

    return {
        "events": [
            row("events", event_id="a1", session_id="own", user_id="ann", **told),
            row("events", event_id="a2", session_id="own", **told),
            row("events", event_id="a3", session_id="group", user_id="ann", task_id="ta", **told),
            row("events", event_id="b1", session_id="group", user_id="bob", task_id="tb"),
            row("events", event_id="v1", session_id="eves", user_id="eve"),
            row("events", event_id="o1", session_id="own", user_id="ann", tenant="other"),
        ],
        "recursions": [
            row("recursions", session_id=s, task_id=t, trace_id=t, observe=text)
            for s, t, text in (("own", "x", SECRET), ("group", "ta", SECRET), ("group", "tb", ""))
        ],
        "tasks": [
            row("tasks", session_id="group", task_id=t, doc=text)
            for t, text in (("ta", f'"{SECRET}"'), ("tb", "{}"))
        ],
        "sessions": [
            row("sessions", session_id=s, user_id=u, doc=f'"{text}"')
            for s, u, text in (
                ("own", "ann", SECRET), ("group", "bob", SECRET), ("eves", "eve", "")
            )
        ],
        "profiles": [
            row("profiles", user_id="ann", doc=f'"{SECRET}"'), row("profiles", user_id="eve"),
        ],
        "revisions": [
            state("sa", 0, "2026-03-01", owner_id="ann", body_text=SECRET, evidence=["a1"]),
            state("se", 0, "2026-03-01", owner_id="eve"),
            row("revisions", owner_id="eve", entity_type="state", entity_id="s", seq=1,
                plan_id="told", after=f'"{SECRET}"', evidence_event_ids=["a3"], revision_id="told"),
            *(
                row("revisions", owner_id="group", entity_type="session_memory", entity_id=item,
                    seq=n, after=f'"{text}"', evidence_event_ids=[event], revision_id=f"g{n}")
                for n, (item, event, text) in enumerate(
                    (("i1", "a3", SECRET), ("i1", "b1", SECRET), ("i2", "b1", ""))
                )
            ),
        ],
        "affects": [row("affects", event_id="a3", user_id="ann", text=SECRET)],
        "links": [
            row("links", op="put", owner_id="group", from_event_id="b1", to_event_id="a3"),
            row("links", op="put", owner_id="eves", from_event_id="v1", to_event_id="v0"),
        ],
        "threads": [row("threads", op="put", owner_id="group", event_id="a3", thread_key=SECRET)],
        "plans": [
            row("plans", plan_id="p", user_id="ann", event_id="a3", doc=f'"{SECRET}"'),
            row("plans", plan_id="told", user_id="eve", event_id="a3", doc=f'"{SECRET}"'),
        ],
        "signals": [row("signals", signal_id="g", user_id="ann", doc=f'"{SECRET}"')],
        "dead_letters": [
            dead("default/x", json.dumps({"user_id": "ann", "text": SECRET}).encode()),
            dead("default/x", json.dumps({"session_id": "own", "text": SECRET}).encode()),
            dead("default/own", b"\xff" + SECRET.encode()),
            dead("default/eves", json.dumps({"user_id": "eve"}).encode()),
            dead("default/eves", b"\xff"),
        ],
    }  # fmt: skip


def test_guarantee_8_a_person_is_gone_to_the_last_byte_and_others_stay(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, **people())
    assert holds(root, SECRET)
    stranger = digest(root, "other")
    done = forget(root, "default", "ann")
    assert holds(root, SECRET) == []
    assert digest(root, "other") == stranger
    assert done.sessions == [("default", "own")]
    assert done.shared == [("default", "group")]
    receipt = done.receipt
    named = f"{receipt['salt']}/default/ann".encode()
    assert receipt["user_sha256"] == hashlib.sha256(named).hexdigest()
    again = forget(root, "default", "ann").receipt
    assert again["user_sha256"] != receipt["user_sha256"], "receipts cannot be compared"
    counts = {name: one["erased"] for name, one in receipt["tables"].items()}
    assert counts == {
        "events": 3, "recursions": 2, "tasks": 1, "sessions": 2, "profiles": 1, "revisions": 4,
        "affects": 1, "links": 1, "threads": 1, "plans": 2, "signals": 1, "dead_letters": 3,
    }  # fmt: skip
    assert "ann" not in json.dumps(receipt)
    with connect(root) as db:
        left = "SELECT event_id FROM events WHERE tenant = 'default' ORDER BY 1"
        assert read(db, left).rows == [("b1",), ("v1",)]
        assert read(db, "SELECT task_id FROM task_current").rows == [("tb",)]
        assert read(db, "SELECT state_id FROM state_current").rows == [("se",)]
    assert {one["delta_version"] for one in receipt["tables"].values()} == {1}


def test_another_persons_event_of_the_same_id_stays(tmp_path: Path) -> None:
    """Event ids are unique within a session only."""
    root = tmp_path / "history"
    asked = json.dumps({"session_id": "anns", "event_id": "1"}).encode()
    other = json.dumps({"session_id": "bobs", "event_id": "1"}).encode()
    told = {
        "events": [
            row("events", event_id="1", session_id="anns", user_id="ann"),
            row("events", event_id="1", session_id="bobs", user_id="bob"),
            row("events", event_id="2", session_id="group", user_id="ann"),
            row("events", event_id="1", session_id="group", user_id="bob"),
            row("events", event_id="3", session_id="ann", user_id="bob"),
        ],
        "affects": [
            row("affects", event_id="1", user_id="bob", session_id=session, text=text)
            for session, text in (("bobs", "own"), (None, "unclear"), ("anns", "hers"))
        ],
        "plans": [
            row("plans", plan_id=f"p{n}", user_id="bob", event_id=event, doc=json.dumps(doc))
            for n, (event, doc) in enumerate(
                (("1", {"session_id": "bobs"}), ("1", {}), ("1", {"session_id": "anns"}), ("2", {}))
            )
        ],
        "links": [
            row("links", op="put", owner_id=owner, from_event_id="1", to_event_id="9",
                provisional=owner != "bob")
            for owner in ("bobs", "anns", "bob", "group", "ann")
        ],
        "threads": [
            row("threads", op="put", owner_id="bob", session_id=session, event_id="1",
                thread_key="k")
            for session in ("bobs", "anns", None)
        ],
        "revisions": [
            row("revisions", owner_id=owner, entity_type=what, entity_id="1", seq=0,
                evidence_event_ids=["1"], revision_id=f"{owner} {what}")
            for owner, what in (("group", "link"), ("bobs", "link"), ("ann", "link"),
                                ("ann", "state"), ("anns", "link"))
        ],
        "dead_letters": [
            row("dead_letters", reason="r", key="default/x", payload=payload, src_offset=n)
            for n, payload in enumerate((asked, other, b"{ann", b"{joanne said it"))
        ],
    }  # fmt: skip
    write(root, **told)
    forget(root, "default", "ann")

    def left(columns: str, table: str) -> list[tuple[Any, ...]]:
        with connect(root) as db:
            return read(db, f"SELECT {columns} FROM {table} ORDER BY ALL").rows

    assert left("session_id, event_id", "events") == [("ann", "3"), ("bobs", "1"), ("group", "1")]
    assert left("text", "affects") == [("own",), ("unclear",)]
    assert left("plan_id", "plans") == [("p0",), ("p1",)]
    assert left("owner_id", "links") == [("ann",), ("bob",), ("bobs",), ("group",)]
    assert left("session_id", "threads") == [("bobs",), (None,)]
    assert left("revision_id", "revisions") == [("ann link",), ("bobs link",), ("group link",)]
    assert left("payload", "dead_letters") == [(other,), (b"{joanne said it",)]


RESTS_ON = {
    "a state": {"state_updates": [{"op": "close"}, {"evidence_event_ids": ["b1", "a3"]}]},
    "a preference": {"preference_updates": [{"evidence_event_ids": ["a3"]}]},
    "an end": {"ends": [{"evidence_event_ids": ["a3"]}]},
    "a moment of affect": {"event_affect": {"event_id": "a3"}},
    "what a model read": {"extraction": {"event_ids": ["b1", "a3"]}},
}


@pytest.mark.parametrize("where", [{}, {"session_id": "group"}], ids=["anywhere", "a session"])
@pytest.mark.parametrize("made", RESTS_ON.values(), ids=RESTS_ON)
def test_guarantee_8_a_plan_that_rests_on_their_event_goes_whoever_it_is_of(
    made: dict[str, Any], where: dict[str, str], tmp_path: Path
) -> None:
    """Applied or refused; one that only puts their event into a thread stays."""
    placed = {"context_updates": {"threads": [{"thread_key": "k", "event_id": "a3"}]}}
    docs = [json.dumps({"event_id": "b1", **where, **one}) for one in (made, placed)]
    plans = [
        row("plans", plan_id=f"p{n}", user_id="bob", event_id="b1", doc=doc)
        for n, doc in enumerate(docs)
    ]
    letters = [
        row("dead_letters", reason="r", key="default/bob", payload=doc.encode(), src_offset=n)
        for n, doc in enumerate(docs)
    ]
    write(tmp_path, events=people()["events"], plans=plans, dead_letters=letters)
    forget(tmp_path, "default", "ann")
    with connect(tmp_path) as db:
        assert read(db, "SELECT plan_id FROM plans").rows == [("p1",)]
        assert read(db, "SELECT src_offset FROM dead_letters").rows == [(1,)]


@pytest.mark.nightly
def test_forgetting_again_ends_what_a_kill_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Killed after each of the tables in turn: the second call leaves nothing."""
    import sinks.maintenance as at_work

    erase = at_work._erase
    for count in range(1, 13):
        root = tmp_path / str(count)
        write(root, **people())
        left = [count]

        def kill(*given: Any, left: list[int] = left) -> dict[str, int]:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return erase(*given)

        monkeypatch.setattr(at_work, "_erase", kill)
        if count < 12:
            with pytest.raises(KeyboardInterrupt):
                forget(root, "default", "ann")
        monkeypatch.setattr(at_work, "_erase", erase)
        forget(root, "default", "ann")
        assert holds(root, SECRET) == [], count


def test_writing_continues_after_forgetting(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, **people())
    forget(root, "default", "ann")
    with History(root) as history:
        assert set(history.versions("test").values()) == {0}
    write(root, 1, sessions=[row("sessions", session_id="group", user_id="bob")])
    with connect(root) as db:
        found = read(db, "SELECT session_id FROM session_current ORDER BY 1").rows
    assert found == [("eves",), ("group",)]


def test_forgetting_nobody_changes_nothing(tmp_path: Path) -> None:
    root = tmp_path / "history"
    write(root, **people())
    before = digest(root)
    done = forget(root, "default", "it's nobody")
    assert digest(root) == before
    assert {one["erased"] for one in done.receipt["tables"].values()} == {0}
    again = forget(root, "default", "it's nobody").receipt
    assert again["user_sha256"] != done.receipt["user_sha256"]
