"""Faults that are no kill: a full disk, two writers, Ctrl-C. Real processes, real files."""

import json
import os
import resource
import signal
import subprocess
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import pytest

from sinks import locks
from sinks.digest import digest
from streams.files import file_runner
from tests.acceptance import sgd
from tests.command import (
    PROGRAM,
    checked,
    environment,
    folded,
    ndjson,
    rows,
    start,
    turn,
    turnfold,
    words,
)
from tests.fault.disk import can_mount, mounted
from tests.fault.kill_run import found
from tests.shared_data import SGD, shared
from tests.waiting import until

TURNS = 10_000
TOO_LONG = 120.0


@pytest.fixture(scope="module")
def turns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """10,000 turns."""
    folder = tmp_path_factory.mktemp("turns")
    return ndjson(folder / "turns.ndjson", islice(sgd.records(shared(*SGD)), TURNS))


@pytest.fixture(scope="module")
def quiet(turns: Path) -> dict[str, object]:
    """The digest of a run that nothing disturbed."""
    history = turns.parent / "quiet"
    checked(file_runner.run([str(turns)], history))
    return digest(history)


def exactly_once(history: Path, turns: Path, quiet: dict[str, object]) -> None:
    """A run without the fault ends the work: every turn once, memory and log as in quiet."""
    counts = folded(turns, history=history)
    assert counts["read"] == counts["applied"]
    sql = "SELECT count(*), count(DISTINCT event_id), max(src_offset) FROM events"
    assert rows(history, sql) == [(TURNS, TURNS, TURNS)]
    assert digest(history) == quiet


def limited(size: int) -> Any:
    """For a child process: no file may grow beyond this (Python ignores the signal: EFBIG)."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def test_no_room_for_the_tables_is_said_and_the_next_run_continues(
    tmp_path: Path, turns: Path, quiet: dict[str, object]
) -> None:
    history = tmp_path / "history"
    done = turnfold("run", turns, "--history", history, preexec_fn=limited(100_000))
    assert done.code == 1
    assert "turnfold: events: " in done.err and "File too large" in done.err
    exactly_once(history, turns, quiet)


def test_no_room_for_the_store_is_reported(tmp_path: Path, turns: Path) -> None:
    done = turnfold("run", turns, "--history", tmp_path / "history", preexec_fn=limited(2_000_000))
    assert done.code == 1
    assert "turnfold: " in done.err and "_store" in done.err


def test_after_no_room_for_the_store_the_next_run_continues(
    tmp_path: Path, turns: Path, quiet: dict[str, object]
) -> None:
    history = tmp_path / "history"
    stopped = subprocess.run(
        [PROGRAM, *words("run", turns, "--history", history)],
        capture_output=True,
        check=False,
        preexec_fn=limited(2_000_000),
        env=environment(),
    )
    assert stopped.returncode == 1
    assert found(history).note is not None, "the tables were written, the store was not"
    exactly_once(history, turns, quiet)


if can_mount():  # the limits above do where it cannot be

    @pytest.fixture
    def small_disk(tmp_path: Path) -> Iterator[Path]:
        """A file system of 1 MB."""
        with mounted(tmp_path / "disk", 1) as folder:
            yield folder

    def test_a_full_disk_is_said_and_with_more_room_the_next_run_continues(
        small_disk: Path, turns: Path, quiet: dict[str, object]
    ) -> None:
        history = small_disk / "history"
        done = turnfold("run", turns, "--history", history)
        assert done.code == 1 and "No space left on device" in done.err
        subprocess.run(["mount", "-o", "remount,size=200m", str(small_disk)], check=True)
        exactly_once(history, turns, quiet)


def test_a_second_run_on_the_same_history_is_refused(tmp_path: Path) -> None:
    history = tmp_path / "history"
    first = subprocess.Popen(
        [PROGRAM, *words("run", "-", "--history", history, "-o", "json")],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(),
    )
    until((history / "_store" / "CURRENT").exists, every=0.001)
    file = ndjson(tmp_path / "more.ndjson", [turn("e2")])
    second = turnfold("run", file, "--history", history)
    third = turnfold("admin", "compact", "--history", history)
    assert second.code == third.code == 3
    assert "another turnfold is writing" in second.err
    assert "another turnfold is writing" in third.err
    out, error = first.communicate(json.dumps(turn("e1")).encode() + b"\n", timeout=TOO_LONG)
    assert first.returncode == 0, error
    assert json.loads(out)["applied"] == 1
    assert folded(file, history=history)["applied"] == 1
    assert rows(history, "SELECT event_id FROM events ORDER BY 1") == [("e1",), ("e2",)]


@pytest.mark.component
def test_reading_continues_while_a_run_writes(tmp_path: Path) -> None:
    history = tmp_path / "history"
    folded(ndjson(tmp_path / "one.ndjson", [turn("e1")]), history=history)
    writer = subprocess.Popen(
        [PROGRAM, *words("run", "-", "--history", history)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        env=environment(),
    )
    until(lambda: locks.is_taken(locks.history_lock(history)))
    done = turnfold("sql", "SELECT event_id FROM events", "--history", history, "-o", "json")
    assert (done.code, done.json()) == (0, [{"event_id": "e1"}])
    assert writer.poll() is None, "it was still at work"
    writer.communicate(b"", timeout=TOO_LONG)
    assert writer.returncode == 0


def interrupted(process: "subprocess.Popen[bytes]") -> None:
    """Sends Ctrl-C; the command says so and ends with 130."""
    os.kill(process.pid, signal.SIGINT)
    _, error = process.communicate(timeout=TOO_LONG)
    assert process.returncode == 130, error.decode()
    assert b"interrupted" in error and b"Traceback" not in error


def test_ctrl_c_while_folding_ends_with_130_and_the_next_run_continues(
    tmp_path: Path, turns: Path, quiet: dict[str, object]
) -> None:
    history = tmp_path / "history"
    process = start("run", turns, "--history", history)
    until((history / "_store" / "CURRENT").exists, every=0.001)
    interrupted(process)
    exactly_once(history, turns, quiet)


@pytest.mark.component
def test_ctrl_c_while_writing_ends_with_130_and_the_next_run_continues(
    tmp_path: Path, turns: Path, quiet: dict[str, object]
) -> None:
    history = tmp_path / "history"
    process = start("run", turns, "--history", history)
    until((history / "events" / "_delta_log").exists, every=0.001)
    interrupted(process)
    exactly_once(history, turns, quiet)


def test_terminating_a_run_loses_nothing(
    tmp_path: Path, turns: Path, quiet: dict[str, object]
) -> None:
    history = tmp_path / "history"
    process = start("run", turns, "--history", history)
    until((history / "_store" / "CURRENT").exists, every=0.001)
    process.terminate()
    process.communicate(timeout=TOO_LONG)
    assert process.returncode != 0
    exactly_once(history, turns, quiet)
