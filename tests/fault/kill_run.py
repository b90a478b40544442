"""Kills `turnfold run` again and again over a file that grows, and compares with a quiet run.

Each attempt adds turns to the file, starts the command, and sends it SIGKILL: at a random moment,
or when something shows from outside: the note of the batch in the store's log, the n-th table's
new commit. Where the kill struck is then read off what lies on disk, not off what was meant.
"""

import json
import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from deltalake import DeltaTable
from rocksdict import AccessType, Options, Rdict

from sinks.digest import digest
from streams.files import file_runner
from streams.files.store import VALUES
from tests.acceptance import sgd
from tests.command import OUTCOMES, checked, killed, rows, start

TABLES = ("events", "links", "profiles", "sessions")
"""The tables that turns like these write."""
STEP = 5_000
MEANT = ("random", "note", "table 2", "repair", "table 4", "random", "table 1", "table 3", "repair")
WHOLE = ("before the note", "after the commit")
"""Where a kill leaves no half-written batch."""
TOO_LONG = 120.0


class Found(NamedTuple):
    """What lies on disk: the batch's note, the batches done, and each table's Delta version."""

    note: dict[str, int] | None
    batch: int
    versions: dict[str, int]


class Result(NamedTuple):
    """Where the kills struck, the last run's counts, and what both histories say."""

    struck: Counter[str]
    turns: int
    totals: dict[str, int]
    disturbed: dict[str, object]
    quiet: dict[str, object]
    events: tuple[int, int, int, int]
    """Rows, distinct ids, distinct lines and the greatest line."""

    @property
    def torn(self) -> int:
        """Kills that left a half-written batch behind."""
        return sum(count for name, count in self.struck.items() if name not in WHOLE)


def stored(history: Path) -> dict[str, Any]:
    """The runner's own values in the store; nothing is changed by looking."""
    path = history / "_store"
    if not (path / "CURRENT").exists():
        return {}
    store = Rdict(str(path), Options(raw_mode=True), access_type=AccessType.read_only())
    try:
        kept = {name: store.get(VALUES + name.encode()) for name in ("writing", "batch", "counts")}
    finally:
        store.close()
    return {name: msgspec.msgpack.decode(one) for name, one in kept.items() if one is not None}


def found(history: Path) -> Found:
    """What a killed run left."""
    values = stored(history)
    versions = {
        name: DeltaTable(str(history / name)).version()
        for name in TABLES
        if any((history / name / "_delta_log").glob("*.json"))
    }
    return Found(values.get("writing"), values.get("batch", 0), versions)


def phase(before: Found, after: Found) -> str:
    """Where a kill struck."""
    if after.note is None:
        return "after the commit" if after.batch > before.batch else "before the note"
    if after.note == before.note:
        return "in the repair of the batch before"
    advanced = torn_tables(after)
    if advanced == len(TABLES):
        return "all tables, before the commit"
    return f"{advanced} of {len(TABLES)} tables" if advanced else "after the note"


def torn_tables(found: Found) -> int:
    """How many tables stand further than the note says."""
    note = found.note
    if note is None:
        return 0
    return sum(note.get(name, -1) < version for name, version in found.versions.items())


def attempt(file: Path, history: Path, meant: str, chance: random.Random) -> bool:
    """Starts a run and kills it as meant; False where it ended first."""
    commits, log, to_repair = _commits(history), _log_bytes(history), torn_tables(found(history))
    process = start("run", file, "--history", history, "-o", "json")
    deadline = time.monotonic() + (chance.uniform(0.1, 3) if meant == "random" else TOO_LONG)
    while process.poll() is None and time.monotonic() < deadline:
        made = _commits(history) - commits
        if meant == "note" and commits and _log_bytes(history) > log + 20:
            break
        if meant == "repair" and made:
            break
        if meant.startswith("table") and made >= to_repair + int(meant[-1]):
            break
        time.sleep(0.0005)
    return killed(process)


def _commits(history: Path) -> int:
    """How many commits the tables have, together."""
    return sum(
        entry.name.endswith(".json")
        for name in TABLES
        if (history / name / "_delta_log").is_dir()
        for entry in os.scandir(history / name / "_delta_log")
    )


def _log_bytes(history: Path) -> int:
    """Of the store's write-ahead logs, which come and go while one looks."""
    size = 0
    for path in (history / "_store").glob("*.log"):
        with suppress(FileNotFoundError):
            size += path.stat().st_size
    return size


def lines(source: Path) -> Iterator[bytes]:
    """SGD's turns without end, each repetition in sessions of its own."""
    yield from (msgspec.json.encode(one) + b"\n" for one in sgd.records(source, repeat=100))


def kill_run(source: Path, folder: Path, kills: int, seed: int, step: int = STEP) -> Result:
    """Kills that many runs over a growing file, ends it, and folds it again in quiet."""
    file, history = folder / "turns.ndjson", folder / "killed"
    chance, more, struck = random.Random(seed), lines(source), Counter[str]()
    for meant in cycle(MEANT):
        with file.open("ab") as out:
            out.writelines(islice(more, step))
        before = found(history)
        if attempt(file, history, meant, chance):
            struck[phase(before, found(history))] += 1
        if sum(struck.values()) == kills:
            break
    return _compare(file, folder, struck)


def _compare(file: Path, folder: Path, struck: Counter[str]) -> Result:
    history, quiet = folder / "killed", folder / "quiet"
    last = start("run", file, "--history", history, "-o", "json")
    out, error = last.communicate()
    assert last.returncode == 0, error.decode()
    checked(json.loads(out))
    checked(file_runner.run([str(file)], quiet))
    sql = (
        "SELECT count(*), count(DISTINCT event_id), count(DISTINCT src_offset), max(src_offset) "
        "FROM events"
    )
    with file.open("rb") as turns:
        count = sum(1 for _ in turns)
    totals = {name: stored(history)["counts"].get(name, 0) for name in ("read", *OUTCOMES)}
    (events,) = rows(history, sql)
    return Result(struck, count, totals, digest(history), digest(quiet), events)


def problems(result: Result) -> list[str]:
    """What is wrong; empty where nothing is."""
    wrong = [
        f"{name} differs from the quiet run's: {_differing(result)}"
        for name in ("memory", "log")
        if result.disturbed[name] != result.quiet[name]
    ]
    if result.events != (result.turns,) * 4:
        wrong.append(f"events {result.events}, not {result.turns} of each")
    if result.totals["read"] != result.turns or result.totals["applied"] != result.turns:
        wrong.append(f"counts {result.totals}, not {result.turns} read and applied")
    return wrong


def _differing(result: Result) -> list[str]:
    one, other = result.disturbed["tables"], result.quiet["tables"]
    assert isinstance(one, dict) and isinstance(other, dict)
    return [name for name in one if one[name] != other[name]]
