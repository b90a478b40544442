"""A run that stores sessions cold, killed between its batches: nothing is lost or doubled."""

import shutil
import time
from contextlib import suppress
from itertools import islice
from pathlib import Path

from sinks.digest import digest
from streams.files.store import Store
from streams.pipeline.entity import Entity
from tests.acceptance import sgd
from tests.command import folded, killed, ndjson, start, turn
from tests.shared_data import SGD, shared

TURNS = 20_000
A_BATCH = 200_000
"""Bytes in the store's log that only a batch of a pass writes."""
LATER = "2020-03-01T00:00:00Z"


def entities(history: Path) -> dict[tuple[str, str], Entity]:
    """Every session in the store."""
    store = Store(history / "_store")
    try:
        return {at: store.committed("sessions", *at) for at in store.entities("sessions")}
    finally:
        store.close()


def test_a_run_killed_while_sessions_become_cold_continues(tmp_path: Path) -> None:
    said = [
        one | {"occurred_at": one["occurred_at"].replace("2026", "2020")}
        for one in islice(sgd.records(shared(*SGD)), TURNS)
    ]
    first = ndjson(tmp_path / "first.ndjson", said)
    folded(first, history=tmp_path / "quiet")
    shutil.copytree(tmp_path / "quiet", tmp_path / "killed")
    more = ndjson(tmp_path / "more.ndjson", [turn("later", occurred_at=LATER)])
    folded(more, history=tmp_path / "quiet")
    rows = {at: dict(one.scan("")) for at, one in entities(tmp_path / "quiet").items()}

    history, cold = tmp_path / "killed", []
    while True:
        before = set((history / "_store").glob("*.log"))  # of the run before; this one has its own
        run = start("run", more, "--history", history, "--retention-days", "30", "-o", "json")
        while run.poll() is None and logged(history, before) < A_BATCH:
            time.sleep(0.0005)
        ended = not killed(run)
        found = entities(history)
        assert {at: dict(one.scan("")) for at, one in found.items() if at in rows} == {
            at: one for at, one in rows.items() if at in found
        }
        cold.append(sum(one.cold is not None for one in found.values()))
        if ended:
            break
    folded(more, history=history)
    done = folded_cold(more, history)
    assert done == len(rows)
    assert any(0 < count < done for count in cold), f"no kill struck in a pass: {cold}"
    assert {at: dict(one.scan("")) for at, one in entities(history).items()} == rows
    again = ndjson(tmp_path / "again.ndjson", said)
    counts = folded(again, history=history)
    assert (counts["applied"], counts["duplicate"]) == (0, len(said))
    assert digest(history)["memory"] == digest(tmp_path / "quiet")["memory"]
    assert folded_cold(more, history) == done


def logged(history: Path, before: set[Path]) -> int:
    """Bytes in the store's logs that came since, and may go while one looks."""
    size = 0
    for path in set((history / "_store").glob("*.log")) - before:
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def folded_cold(file: Path, history: Path) -> int:
    """How many sessions are cold after one more run with retention."""
    run = start("run", file, "--history", history, "--retention-days", "30", "-o", "json")
    out, error = run.communicate()
    assert run.returncode == 0, error.decode() + out.decode()
    return sum(one.cold is not None for one in entities(history).values())
