"""A history that sinks write, served for reading: as the fold's tables would say it."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from rocksdict import AccessType, Options, Rdict

from sinks.history import connect
from streams.files import file_runner
from streams.files.database import rows_under
from streams.folds import documents, learner
from streams.folds.session_state import HEADER
from streams.pipeline.entity import Entity
from streams.serving.backends.backend import NotReady, Table
from streams.serving.backends.readonly import HistoryBackend
from streams.serving.http.documents import user
from streams.serving.http.serve import backend_of
from streams.serving.http.settings import ServeSettings
from tests.command import ndjson, turn
from tests.waiting import WITHIN

NOW = 2**52
TENANT = "default"


@pytest.fixture(scope="module")
def store(ledger_run: Path) -> Iterator[Rdict]:
    """The tables that the fold of the same records left."""
    path = str(ledger_run / "history" / "_store")
    opened = Rdict(path, Options(raw_mode=True), access_type=AccessType.read_only())
    yield opened
    opened.close()


def stored(store: Rdict, table: Table, key: str) -> Entity:
    """The rows as `run` has them."""
    prefix = f"{table[0]}\0{TENANT}\0{key}\0".encode()
    return Entity(table, TENANT, key, rows_under(store.iter(), prefix))


def keys_of(history: Path, table: str, column: str) -> list[str]:
    """All keys of a table of snapshots."""
    with connect(history) as db:
        found = db.execute(f"SELECT DISTINCT {column} FROM {table} ORDER BY 1").fetchall()
    return [key for (key,) in found]


async def test_a_session_is_what_the_fold_made_of_it(ledger_run: Path, store: Rdict) -> None:
    history = ledger_run / "history"
    async with HistoryBackend(history) as memory:
        for key in keys_of(history, "session_current", "session_id")[:6]:
            found, rules = await memory.rows("sessions", TENANT, key)
            expected = documents.session(stored(store, "sessions", key), rules)
            assert documents.session(found, rules) == expected
        unknown = await memory.rows("sessions", TENANT, "nobody's")
        assert unknown.rows.get(HEADER) is None


async def test_a_user_is_what_the_fold_made_of_them(ledger_run: Path, store: Rdict) -> None:
    history = ledger_run / "history"
    async with HistoryBackend(history) as memory:
        known = keys_of(history, "plans", "user_id")
        assert known
        for key in known[:6]:
            found, rules = await memory.rows("users", TENANT, key)
            expected = stored(store, "users", key)
            assert user(found, rules, NOW) == user(expected, rules, NOW)
            assert user(found, rules, NOW) is not None
            if expected.get(learner.LEARNER) is not None:
                profile = learner.document(expected, rules, key)
                assert learner.document(found, rules, key) == profile


async def test_who_waits_hears_of_a_commit(tmp_path: Path) -> None:
    history = tmp_path / "h"
    file = ndjson(tmp_path / "one.ndjson", [turn("e1")])
    file_runner.run([str(file)], history)
    async with HistoryBackend(history) as memory:
        with memory.changes.of(("sessions", TENANT, "s")) as changed:
            with file.open("ab") as more:
                more.write(json.dumps(turn("e2")).encode() + b"\n")
            await asyncio.to_thread(file_runner.run, [str(file)], history)
            await asyncio.wait_for(changed.wait(), WITHIN)
        found = documents.session(*await memory.rows("sessions", TENANT, "s"))
        assert found["conversation_count"] == 2


async def test_a_promoted_generation_that_cannot_be_read_leaves_the_one_before_answering(
    tmp_path: Path,
) -> None:
    """And says so in /readyz."""
    history = tmp_path / "h"
    file_runner.run([str(ndjson(tmp_path / "one.ndjson", [turn("e1")]))], history)
    pointer = history / "generation.json"
    async with HistoryBackend(history) as memory:
        for said in ("half", '{"current": "gone"}'):
            pointer.write_text(said)
            found = documents.session(*await memory.rows("sessions", TENANT, "s"))
            assert found["conversation_count"] == 1
            assert memory.live.name == "root"
            assert "cannot be read" in memory.readiness().about
        pointer.unlink()
        await memory.rows("sessions", TENANT, "s")
        assert "cannot be read" not in memory.readiness().about


async def test_a_history_that_cannot_be_read_for_a_moment_is_not_ready(tmp_path: Path) -> None:
    """No fault of who asks, and no answer as if nothing were known; then it goes on."""
    history = tmp_path / "h"
    file_runner.run([str(ndjson(tmp_path / "one.ndjson", [turn("e1")]))], history)
    marker = history / "turnfold.json"
    kept = marker.read_bytes()
    async with HistoryBackend(history) as memory:
        marker.write_text("half")
        with pytest.raises(NotReady, match="cannot be read"):
            await memory.rows("sessions", TENANT, "s")
        marker.write_bytes(kept)
        found = documents.session(*await memory.rows("sessions", TENANT, "s"))
        assert found["conversation_count"] == 1


async def test_what_sinks_write_is_not_written_here(ledger_run: Path, tmp_path: Path) -> None:
    (tmp_path / "turnfold.json").write_text('{"format": 1}')
    (tmp_path / "_sink.json").write_text('{"sink": "s", "cluster": "c"}')
    entered = backend_of(ServeSettings(), tmp_path, None)
    async with entered as memory:
        assert memory.readiness().ready
        with pytest.raises(NotReady, match="--bootstrap"):
            await memory.submit([b"{}"], 1.0)
