"""Keeping a history small, and erasing a person from it (docs/laws.md).

Both rewrite files, so the caller holds the writer's lock and has no torn batch to undo: after a
vacuum older versions cannot be read.
"""

import hashlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import duckdb
import pyarrow as pa
from deltalake import DeltaTable, write_deltalake

from sinks.delta import WRITER, History, was_overtaken
from sinks.erasure import (
    ERASED_LAST,
    conditions,
    scope,
    scope_session,
    session_conditions,
)
from sinks.errors import HistoryWriteError
from sinks.generation import own
from sinks.history import COMMIT_ORDER, connect, quoted, select
from sinks.locations import Location
from sinks.tables import STORED
from sinks.views import SNAPSHOT_KEYS

SAFE_HOURS = 168
"""A week: what a reader with an old file list may still be at."""
SMALL = 8_000_000
"""Bytes: smaller files are merged while a server continues writing."""

ATTEMPTS = 10

Report = dict[str, dict[str, int]]


class Forgotten(NamedTuple):
    """What `forget` did.

    `receipt` names the person by hash alone. `sessions` are those erased whole, `shared` those of
    several users, each as (tenant, session_id): their rows elsewhere are the caller's to erase.
    """

    receipt: dict[str, Any]
    sessions: list[tuple[str, str]]
    shared: list[tuple[str, str]]


def compact(root: Location, retention_hours: int = SAFE_HOURS) -> Report:
    """Merges small files, keeps the newest document of a key and day, drops old files and logs.

    Table -> {"files_before", "files_after", "rows_dropped", "files_deleted"}. Files that no
    version younger than `retention_hours` reads are deleted.
    """
    with History(root) as history:
        return {name: _compacted(history, name, retention_hours) for name in history.tables()}


def _compacted(history: History, name: str, retention_hours: int) -> dict[str, int]:
    """One table; again where a sink was faster, which only an object store lets be at work."""
    newest = dict(SNAPSHOT_KEYS.values())
    for left in reversed(range(ATTEMPTS)):
        table = history.table(name)
        assert table is not None, "it was listed"
        before = len(table.file_uris())
        try:
            with history.writing(name):
                key = newest.get(name)
                dropped = _keep_newest(history.at, name, key, table) if key is not None else 0
                table.optimize.compact(writer_properties=WRITER)
                table.create_checkpoint()
                table.cleanup_metadata()
                deleted = vacuum(table, retention_hours)
        except HistoryWriteError as error:
            if not left or not was_overtaken(error):
                raise
            continue
        return {
            "files_before": before,
            "files_after": len(table.file_uris()),
            "rows_dropped": dropped,
            "files_deleted": len(deleted),
        }
    raise AssertionError("the last attempt raises")


def merge(history: History) -> None:
    """Makes one of the small files that many commits have left in a day, beside readers.

    Files of some size stay as they are: what is merged often is little. `compact` does the rest,
    and deletes the old files. Raises HistoryWriteError.
    """
    for name, table in history.tables().items():
        with history.writing(name):
            table.optimize.compact(target_size=SMALL, writer_properties=WRITER)


def _keep_newest(root: Location, name: str, key: str, table: DeltaTable) -> int:
    newest = f"row_number() OVER (PARTITION BY {key}, date ORDER BY {COMMIT_ORDER} DESC) = 1"
    with connect(own(root), views=[name]) as db:
        rows = f"SELECT *, {newest} AS newest FROM ({select(name, paths(table), more=True)})"
        days = db.execute(
            f"SELECT date, count(*) FROM ({rows}) WHERE NOT newest GROUP BY date"
        ).fetchall()
        if days:
            kept = f"SELECT * EXCLUDE (newest) FROM ({rows}) WHERE newest"
            _rewrite(db, name, table, kept, [day for day, _ in days])
    return sum(count for _, count in days)


class Sessions(NamedTuple):
    """The sessions in which `forget` would erase something, each as (tenant, session_id): all of
    `whole`, and a user's part of `shared`."""

    whole: list[tuple[str, str]]
    shared: list[tuple[str, str]]


def sessions_of(root: Path, tenant: str, user_id: str) -> Sessions:
    """Where a person's turns are."""
    with connect(own(root), tenant=tenant) as db:
        scope(db, tenant, user_id)
        return _sessions(db, tenant)


def _sessions(db: duckdb.DuckDBPyConnection, tenant: str) -> Sessions:
    return Sessions(*(
        db.execute(f"SELECT {quoted(tenant)}, session_id FROM {one} ORDER BY ALL").fetchall()
        for one in ("whole_session", "shared_session")
    ))  # fmt: skip


def forget(root: Path, tenant: str, user_id: str) -> Forgotten:
    """Erases one person from every table: their rows, then the bytes of the old files.

    Sessions where no other user spoke go whole. Of shared sessions go their turns with the tasks
    of these, the session's snapshots, and the revisions of what their turns changed; the
    snapshots come back with the session's next turn or a rebuild. Killed half-way, the same call
    ends the work: what the scope is read from is erased last.
    """
    with connect(own(root), tenant=tenant) as db:
        scope(db, tenant, user_id)
        erased = _erased(root, db, tenant, conditions)
        whole, shared = _sessions(db, tenant)
    person = hashlib.sha256(f"{tenant}/{user_id}".encode()).hexdigest()
    receipt = {
        "user_sha256": person,
        "sessions": len(whole),
        "shared_sessions": len(shared),
        "tables": erased,
    }
    return Forgotten(receipt, whole, shared)


def users_of(root: Path, tenant: str, session_id: str) -> list[str]:
    """Those to whose memory a session has given something."""
    with connect(own(root), tenant=tenant) as db:
        scope_session(db, tenant, session_id)
        return [user for (user,) in db.execute("FROM heard ORDER BY ALL").fetchall()]


def forget_session(root: Path, tenant: str, session_id: str, users: list[str]) -> Report:
    """Erases one session from every table, and all that memory has made of these users, which the
    caller makes again from the records that are left. Killed half-way, the same call ends it."""
    with connect(own(root), tenant=tenant) as db:
        scope_session(db, tenant, session_id, users)
        return _erased(root, db, tenant, session_conditions)


def _erased(
    root: Path,
    db: duckdb.DuckDBPyConnection,
    tenant: str,
    theirs: Callable[[str], str],
) -> Report:
    """Rewrites the tables without the rows of a scope, then deletes the old files."""
    erased: Report = {}
    with History(root) as history:
        tables = history.tables()
        for name in sorted(tables, key=lambda one: (ERASED_LAST.get(one, 0), one)):
            count = _erase(db, name, tables[name], theirs(name), tenant)
            erased[name] = {"erased": count, "delta_version": tables[name].version()}
        for table in tables.values():
            vacuum(table, 0)
    return erased


def _erase(
    db: duckdb.DuckDBPyConnection, name: str, table: DeltaTable, theirs: str, tenant: str
) -> int:
    """Rewrites the days that hold rows of theirs without them; how many there were."""
    test = f"(t.tenant = {quoted(tenant)} AND coalesce({theirs}, false))"
    rows = select(name, paths(table), more=COMMIT_ORDER in STORED[name].names)
    days = db.execute(
        f"SELECT t.date, count(*) FROM ({rows}) t WHERE {test} GROUP BY ALL"
    ).fetchall()
    if days:
        kept = f"SELECT t.* FROM ({rows}) t WHERE NOT {test}"
        _rewrite(db, name, table, kept, [day for day, _ in days])
    return sum(count for _, count in days)


def _rewrite(
    db: duckdb.DuckDBPyConnection, name: str, table: DeltaTable, kept: str, days: list[Any]
) -> None:
    """Replaces whole days of a table by the rows that are kept, in one commit."""
    listed = ", ".join(f"DATE '{day}'" for day in days)
    columns = ", ".join(f'"{column}"' for column in STORED[name].names)
    found = db.sql(f"SELECT {columns} FROM ({kept}) WHERE date IN ({listed})")
    batches: Iterator[pa.RecordBatch] = iter(found.to_arrow_reader(20_000))
    typed = (batch.cast(STORED[name]) for batch in batches if batch.num_rows)
    write_deltalake(
        table,
        pa.RecordBatchReader.from_batches(STORED[name], typed),
        mode="overwrite",
        predicate="date IN ({})".format(", ".join(f"'{day}'" for day in days)),
        writer_properties=WRITER,
    )


def paths(table: DeltaTable) -> list[str]:
    """The Parquet files of an open table, as paths rather than the URLs Delta answers with."""
    return sorted(unquote(uri) for uri in table.file_uris())


def vacuum(table: DeltaTable, hours: int, *, full: bool = True) -> list[str]:
    """Deletes the files that no version younger than so many hours reads; which they were.

    `full`: also those that no version ever named, as a killed writer leaves them.
    """
    return table.vacuum(
        retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=full
    )


def drop_unnamed(table: DeltaTable, folder: Path) -> None:
    """Deletes what lies in a table's folder and no version ever named; the caller alone writes.

    Raises DeltaError, OSError.
    """
    named, found = (
        set(table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=full))
        for full in (False, True)
    )
    for one in found - named:
        (folder / one).unlink(missing_ok=True)
