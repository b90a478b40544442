"""Retention on a real broker: what is sent again, who comes back, a worker that is killed."""

import asyncio
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from schemas.base import DAY, format_time
from sinks.digest import digest
from streams.folds import documents
from streams.kafka.client.topic_names import changelog_name
from streams.pipeline.entity import COLD
from streams.serving.backends.replica import ReplicaBackend
from streams.serving.backends.replica_disk import DiskStore
from streams.serving.backends.replica_tables import ReplicaStore
from streams.topology import SESSION_AGENT
from tests.command import folded, ndjson, rows, turn
from tests.kafka.working import APP, Working, message
from tests.waiting import WITHIN, eventually

NOW = time.time_ns() // 1000
SESSIONS = 120
EACH = 5
KEPT = ("--retention-days", "30")
TOPICS = ("sessions", "session-contexts", "tasks")
encode = msgspec.json.Encoder().encode
Json = dict[str, Any]


def ago(days: float, event_id: str, **fields: Any) -> Json:
    return turn(event_id, occurred_at=format_time(NOW - int(days * DAY)), **fields)


def old(days: float = 60) -> list[Json]:
    """Some sessions of two months ago, each with a task."""
    said = []
    for number in range(SESSIONS):
        session = {"session_id": f"old-{number}", "user_id": f"u{number % 7}"}
        said += [
            ago(days - place / 100, f"{number}-{place}", topic="algebra", **session)
            for place in range(EACH)
        ]
        said.append(
            {"type": "recursion", "session_id": f"old-{number}", "task_id": "t", "trace_id": "r",
             "iteration_index": 0, "action": {"action_type": "REFLECT"},
             "occurred_at": format_time(NOW - int(days * DAY))}
        )  # fmt: skip
    return said


def today(prefix: str, count: int = 24) -> list[Json]:
    """Turns of today, in sessions that lie in every partition."""
    return [ago(0, f"{prefix}{number}", session_id=f"new-{number}") for number in range(count)]


def send(working: Working, records: Sequence[Json]) -> None:
    working.send(message(encode(one)) for one in records)


def ended(working: Working, topic: str) -> set[str]:
    """The old sessions whose newest message is a tombstone."""
    return {key.decode().split("/")[1] for key, one in working.newest(topic).items() if one is None}


def stored(working: Working) -> dict[bytes, set[bytes]]:
    """The names of the rows of each session, by the changelog."""
    kept: dict[bytes, set[bytes]] = {}
    for one in working.read(changelog_name(APP, SESSION_AGENT)):
        where, _, name = one.key.rpartition(b"\0")
        names = kept.setdefault(where, set())
        (names.discard if one.value is None else names.add)(name)
    return {where: names for where, names in kept.items() if where.startswith(b"s\0") and names}


def check_cold(working: Working, cold: bool) -> None:
    """Whether each old session is one row."""
    found = {where: names for where, names in stored(working).items() if b"\0old-" in where}
    assert len(found) == SESSIONS
    assert all((names == {COLD.encode()}) == cold for names in found.values())


def test_what_is_sent_again_is_not_applied_again(working: Working, tmp_path: Path) -> None:
    """A file of two months ago, a turn of today, the same file again; then people come back."""
    working.start(*KEPT)
    working.await_ready()
    send(working, old())
    assert working.await_done()["applied"] == len(old())
    send(working, today("a"))
    working.await_done()
    check_cold(working, True)
    assert ended(working, "sessions") == {f"old-{number}" for number in range(SESSIONS)}
    send(working, old())
    counts = working.await_done()
    assert (counts["applied"], counts["duplicate"]) == (len(old()) + 24, len(old()))
    check_cold(working, True)

    back = [ago(0, f"back-{number}", session_id=f"old-{number}") for number in range(SESSIONS)]
    send(working, back)
    working.await_done()
    check_cold(working, False)
    newest = working.newest("sessions")
    for number in range(SESSIONS):
        found = [
            one["task_id"] for one in newest[f"default/old-{number}".encode()]["conversations"]
        ]
        assert found == [*(f"{number}-{place}" for place in range(EACH)), f"back-{number}"]
    for topic in TOPICS:
        assert ended(working, topic) == set()

    quiet = tmp_path / "quiet"
    folded(ndjson(tmp_path / "all.ndjson", [*old(), *today("a"), *back]), history=quiet)
    by_kafka = working.history(tmp_path / "by-kafka")
    assert digest(by_kafka)["memory"] == digest(quiet)["memory"]
    every = "SELECT count(*), count(DISTINCT (session_id, event_id)) FROM events"
    assert rows(by_kafka, every) == rows(quiet, every)


@pytest.mark.parametrize("store", ["memory", "rocksdb"])
def test_a_worker_killed_while_sessions_become_cold(
    working: Working, tmp_path: Path, store: str
) -> None:
    """Sessions that were open, for no retention was set, become cold; kill after kill."""
    on_disk = ("--store", "rocksdb", "--data", str(tmp_path / "tables"))
    options = ("--max-records", "5", *(on_disk if store == "rocksdb" else ()))
    worker = working.start(*options)
    working.await_ready()
    send(working, old())
    working.await_done()
    check_cold(working, False)
    assert ended(working, "sessions") == set()
    worker.terminate()
    assert worker.wait(WITHIN) == 0

    chance, sent = random.Random(3), list(old())
    for kill in range(3):
        working.start(*options, *KEPT)
        working.await_ready()
        send(working, some := today(f"k{kill}-"))
        sent += some
        time.sleep(chance.uniform(0, 0.3))
        working.kill()
    working.start(*options, *KEPT)
    working.await_ready()
    send(working, some := today("last"))
    sent += some
    counts = working.await_done()
    assert (counts["applied"], counts["duplicate"]) == (len(sent), 0)
    check_cold(working, True)
    assert counts["sessions_cooled"] == SESSIONS
    assert ended(working, "tasks") == {f"old-{number}" for number in range(SESSIONS)}
    send(working, old())
    counts = working.await_done()
    assert (counts["applied"], counts["duplicate"]) == (len(sent), len(old()))

    quiet = tmp_path / "quiet"
    folded(ndjson(tmp_path / "all.ndjson", sent), history=quiet)
    assert digest(working.history(tmp_path / "by-kafka"))["memory"] == digest(quiet)["memory"]


@pytest.mark.parametrize("on_disk", [False, True], ids=["memory", "disk"])
def test_a_server_reads_a_session_past_its_retention_as_before(
    working: Working, tmp_path: Path, on_disk: bool
) -> None:
    """As it follows the changelog, and restored from it."""
    working.start(*KEPT)
    working.await_ready()

    async def conversations(memory: ReplicaBackend, number: int) -> list[str]:
        found, rules = await memory.rows("sessions", "default", f"old-{number}")
        return [one["task_id"] for one in documents.session(found, rules)["conversations"]]

    async def all_read() -> None:
        kafka = working.settings
        for restored in (False, True):
            store = DiskStore(tmp_path / "rows") if on_disk else ReplicaStore()
            async with ReplicaBackend(kafka, APP, store=store) as memory:
                await eventually(lambda: memory.readiness().ready)
                if not restored:
                    outcomes = await memory.submit([encode(one) for one in old()], 60)
                    assert {one.ending for one in outcomes} == {"applied"}
                    again = await memory.submit([encode(one) for one in old()], 60)
                    assert {one.ending for one in again} == {"duplicate"}
                for number in range(1, SESSIONS):
                    expected = [f"{number}-{place}" for place in range(EACH)]
                    assert await conversations(memory, number) == expected
                said = encode(ago(0, f"back-{restored}", session_id="old-0"))
                assert [one.ending for one in await memory.submit([said], 60)] == ["applied"]
                assert (await conversations(memory, 0))[-1] == f"back-{restored}"
                if restored:
                    continue
                later, _ = await memory.rows("sessions", "default", "old-1")
                assert later.cold is not None  # type: ignore[attr-defined]

    asyncio.run(all_read())
