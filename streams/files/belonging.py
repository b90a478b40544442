"""Whether the log and the tables of a history that `run` writes in an object store belong together.

Each commit of a table carries the number of its batch, and a note says which batch each table had
its last rows from. So a part of a history that was put back from another moment shows: the tables
have a batch that no note speaks of, or lack one that a note speaks of. Who would go on from there
would lose rows, or write them twice.
"""

import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import pyarrow as pa

from schemas.rows import TABLES
from sinks.delta import UNWRITTEN, History, written
from sinks.object_store import ObjectPath
from streams.errors import ConfigurationError
from streams.files.run_log import WAY_OUT, Note, RunLog

AT_ONCE = 4
"""Tables that are looked at at a time: each waits for some requests."""
PATIENCE, PAUSE = 10.0, 0.5
"""Seconds in which a `run` that is at work gives the tables a batch's rows."""
SHOWN = 3
"""Tables that are named."""


class Standing(NamedTuple):
    """How the tables stand to the newest note. `waiting`: rows that some have yet to get; `behind`:
    those that have not got theirs. `fault`: why nobody may go on, in words."""

    waiting: dict[str, pa.Table]
    behind: list[str]
    fault: str | None


def refuse(found: Standing, root: ObjectPath) -> None:
    """Raises ConfigurationError where nobody may go on."""
    if found.fault is not None:
        raise ConfigurationError(f"{root}: {found.fault}; {WAY_OUT}")


def check_whole(root: ObjectPath) -> None:
    """Raises ConfigurationError where tables lack rows that their history has: who would read all
    of them would not."""
    log, deadline = RunLog(root), time.monotonic() + PATIENCE
    while True:
        found = standing(log, root, log.newest())
        refuse(found, root)
        if not found.behind:
            return
        if time.monotonic() > deadline:
            raise ConfigurationError(
                f"{root}: {not_got(found.behind)}; wait for the end of the `turnfold run` that is "
                "at work, or call it again if it was ended"
            )
        time.sleep(PAUSE)


def not_got(behind: list[str]) -> str:
    """Which tables lack rows of the newest batch, in words."""
    have = "has" if len(behind) == 1 else "have"
    return f"{_listed(behind)} {have} not got the newest batch's rows yet"


def standing(log: RunLog, root: ObjectPath, newest: Note) -> Standing:
    """Looks at the tables. Raises HistoryError, StoreError."""
    waiting = log.tables(newest)  # first: they go once the tables have them
    needed = (log.of(newest.number - 1) if waiting else newest).gave
    has = _numbers(root, newest.history)
    fault = told(newest.number, needed, has)
    if fault is not None and log.read(newest.number + 1) is not None:
        fault = None  # another goes on meanwhile; who writes then is refused by the log
    behind = [name for name in waiting if has.get(name, UNWRITTEN) < newest.number]
    return Standing(waiting, sorted(behind), fault)


def told(newest: int, needed: Mapping[str, int], has: Mapping[str, int]) -> str | None:
    """What does not belong together, in words. `needed`: table -> the last batch whose rows it must
    have; `has`: table -> the last one that it has, UNWRITTEN where its rows are of none."""
    strange = sorted(name for name, number in has.items() if number == UNWRITTEN)
    newer = sorted(name for name, number in has.items() if number > newest)
    lacking = sorted(name for name, least in needed.items() if has.get(name, UNWRITTEN) < least)
    if strange:
        return f"{_named(strange)} of another history than the log in _run"
    if newer:
        most = max(has[name] for name in newer)
        return (
            f"{_named(newer)} newer than the log in _run: written up to batch {most}, which ends "
            f"with {newest}"
        )
    if lacking:
        least = max(needed[name] for name in lacking)
        return f"{_named(lacking)} older than the log in _run: rows up to batch {least} are missing"
    return None


def _named(tables: list[str]) -> str:
    return f"{_listed(tables)} {'is' if len(tables) == 1 else 'are'}"


def _listed(tables: list[str]) -> str:
    if len(tables) == 1:
        return f"the table {tables[0]}"
    more = f" and {len(tables) - SHOWN} more" if len(tables) > SHOWN else ""
    return f"the tables {', '.join(tables[:SHOWN])}{more}"


def _numbers(root: ObjectPath, history: str) -> dict[str, int]:
    """Table -> the last batch of this history that it has; those without rows ever are left out."""
    tables = History(root)

    def number(name: str) -> int | None:
        delta = tables.table(name)
        if delta is None:
            return None
        last = written(delta, history)
        return last if last != UNWRITTEN or delta.file_uris() else None

    with ThreadPoolExecutor(AT_ONCE, "looked-at") as threads:
        found = zip(TABLES, threads.map(number, TABLES), strict=True)
    return {name: last for name, last in found if last is not None}
