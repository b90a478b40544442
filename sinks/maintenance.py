"""Compacts a history, and erases persons and sessions from it (docs/guarantees.md).

Both rewrite files: the caller has the writer's lock and no incomplete batch to roll back, as older
versions cannot be read after a vacuum. An object store has no lock: conflicting commits are retried
(`sinks.fences`).
"""

import hashlib
import secrets
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Any, NamedTuple, TypeVar
from urllib.parse import unquote

import duckdb
from deltalake import DeltaTable

from schemas.generated.history import DeadLetter, Session, Task
from schemas.rows import TABLES
from sinks.delta import WRITER, History, retry_conflicts
from sinks.erasure import (
    ERASED_LAST,
    LETTER,
    conditions,
    person_conditions,
    session_conditions,
    turn_conditions,
)
from sinks.erasure_scope import (
    REMADE,
    erased_ids,
    judge_letters,
    scope,
    scope_made,
    scope_session,
    unclear_letters,
)
from sinks.generation import own_folder
from sinks.hard_links import files_of
from sinks.history import COMMIT_ORDER, NEWEST_FIRST, connect, define_over, quoted, select
from sinks.locations import Location, is_url
from sinks.object_store import ObjectPath
from sinks.rewrite_files import merge_files, rewrite
from sinks.tables import STORED
from sinks.views import SNAPSHOT_KEYS

SAFE_HOURS = 168
"""A week: readers with an old file list may still use its files."""
SMALL = 8_000_000
"""Bytes: smaller files are merged while a server continues writing."""

SCOPE_TABLES = ("events", "sessions", "signals")
"""Tables that assign events and sessions to users, for a scope."""

T = TypeVar("T")
Report = dict[str, dict[str, int]]


class ErasedPerson(NamedTuple):
    """Result of `forget`.

    `receipt` names the person only by hash. `sessions` were erased completely, `shared` have
    several users, each as (tenant, session_id): the caller erases their rows elsewhere.
    """

    receipt: dict[str, Any]
    sessions: list[tuple[str, str]]
    shared: list[tuple[str, str]]


def compact(root: Location, retention_hours: int = SAFE_HOURS) -> Report:
    """Merges small files, keeps the newest document per key and day, deletes old files and logs.

    Table -> {"files_before", "files_after", "rows_dropped", "files_deleted"}. Files that no
    version younger than `retention_hours` reads are deleted.
    """
    with History(root) as history:
        return {name: _compacted(history, name, retention_hours) for name in history.tables()}


def _compacted(history: History, name: str, retention_hours: int) -> dict[str, int]:
    newest = dict(SNAPSHOT_KEYS.values())

    def compacted(table: DeltaTable) -> dict[str, int]:
        before = len(table.file_uris())
        key = newest.get(name)
        dropped = _keep_newest(history, name, key, table) if key is not None else 0
        _merge_small(history, name, table)
        table.create_checkpoint()
        history.flush()  # before anything is deleted
        table.cleanup_metadata()
        return {
            "files_before": before,
            "files_after": len(table.file_uris()),
            "rows_dropped": dropped,
            "files_deleted": len(vacuum(table, retention_hours)),
        }

    return _changed(history, name, compacted)


def _merge_small(history: History, name: str, table: DeltaTable) -> None:
    if not isinstance(history.at, ObjectPath):
        table.optimize.compact(writer_properties=WRITER)
        return
    with connect(own_folder(history.at), views=()) as db:
        merge_files(history, db, name, table)


def _changed(history: History, name: str, change: Callable[[DeltaTable], T]) -> T:
    """Changes one table; retries conflicts, which only occur in an object store."""

    def changed() -> T:
        table = history.newest(name) if is_url(history.at) else history.table(name)
        assert table is not None, "it was listed"
        with history.writing(name):
            result = change(table)
        history.flush()  # the order of tables counts after a loss of power, too
        return result

    return retry_conflicts(changed)


def merge(history: History) -> None:
    """Merges the small files of many commits in a day, while readers continue.

    Larger files stay unchanged, so frequent merges are cheap. `compact` merges the rest, and
    deletes old files. Raises HistoryWriteError.
    """
    for name, table in history.tables().items():
        with history.writing(name):
            table.optimize.compact(target_size=SMALL, writer_properties=WRITER)


def _keep_newest(history: History, name: str, key: str, table: DeltaTable) -> int:
    newest = f"row_number() OVER (PARTITION BY {key}, date ORDER BY {NEWEST_FIRST}) = 1"
    with connect(own_folder(history.at), views=()) as db:
        files = readable(db, history.at / name, table)
        rows = f"SELECT *, {newest} AS newest FROM ({select(name, files, commit_order=True)})"
        days = db.execute(
            f"SELECT date, count(*) FROM ({rows}) WHERE NOT newest GROUP BY date"
        ).fetchall()
        if days:
            remaining = f"SELECT * EXCLUDE (newest) FROM ({rows}) WHERE newest"
            rewrite(history, db, name, table, remaining, [day for day, _ in days])
    return sum(count for _, count in days)


class Sessions(NamedTuple):
    """Scope of a `forget`: sessions as (tenant, session_id), `whole` to be erased completely,
    `shared` in part, including rows that arrived after an earlier erasure. `erased`: hashes of the
    erased ids. `heard`: other users with memory that rests on the user's turns."""

    whole: list[tuple[str, str]]
    shared: list[tuple[str, str]]
    erased: list[str]
    heard: list[str]


def sessions_of(
    root: Location,
    tenant: str,
    user_id: str,
    noted: Collection[str] = (),
    complete: Location | None = None,
) -> Sessions:
    """Scope of a person, by their turns and by notes of earlier erasures (`sinks.erased_ids`).
    `complete`: generation with the days that this one leaves out."""
    with retry_conflicts(lambda: _scoped(root, tenant, user_id, noted, complete)) as db:
        return Sessions(*_sessions(db, tenant), erased_ids(db, tenant), _other_users(db))


def _scoped(
    root: Location,
    tenant: str,
    user_id: str,
    noted: Collection[str],
    complete: Location | None,
    heard: Collection[str] = (),
) -> duckdb.DuckDBPyConnection:
    """Connection with the tables that the conditions use."""
    db = _connected(root, tenant, complete)
    scope(db, tenant, user_id, noted)
    scope_made(db, tenant, user_id, noted, heard)
    return db


def _connected(root: Location, tenant: str, complete: Location | None) -> duckdb.DuckDBPyConnection:
    """Connection to a generation; its scope tables also show the rows of `complete`: memory derived
    from an event may be in days that do not include its turn."""
    db = connect(own_folder(root), tenant=tenant)
    if complete is not None:
        define_over(db, SCOPE_TABLES, [own_folder(root), own_folder(complete)], tenant)
    return db


def _other_users(db: duckdb.DuckDBPyConnection) -> list[str]:
    return [user for (user,) in db.execute("FROM heard ORDER BY ALL").fetchall()]


def _sessions(
    db: duckdb.DuckDBPyConnection, tenant: str
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """Sessions as `whole` and `shared`. A session that is only in scope for late rows counts as
    shared: other users may still write to it."""
    own_session = "session_id IN (FROM own_session)"
    whole, shared = (
        db.execute(f"SELECT {quoted(tenant)}, session_id FROM {relation} ORDER BY ALL").fetchall()
        for relation in (
            f"whole_session WHERE {own_session}",
            f"their_session WHERE NOT ({own_session} AND session_id IN (FROM whole_session))",
        )
    )
    return whole, shared


def forget(
    root: Location,
    tenant: str,
    user_id: str,
    noted: Collection[str] = (),
    heard: Collection[str] | None = None,
    complete: Location | None = None,
) -> ErasedPerson:
    """Erases one person from every table: their rows, then the bytes of the old files. `noted`,
    `complete`: see `sessions_of`. `heard`: users: their derived memory is erased completely, as the
    caller rebuilds it from the remaining records; without it, memory from plans of the person's
    turns is erased.

    Sessions without other users are erased completely. In shared sessions the person's turns with
    their tasks, the session's snapshots, and the revisions of entities that the turns changed are
    erased; the snapshots return with the session's next turn or a rebuild. After a kill, the same
    call completes the work: the rows that define the scope are erased last.
    """
    condition = conditions if heard is None else person_conditions
    with retry_conflicts(
        lambda: _scoped(root, tenant, user_id, noted, complete, heard or ())
    ) as db:
        erased = _erased(root, db, tenant, condition)
        alone, shared = _sessions(db, tenant)
    receipt = {
        **salted("user", tenant, user_id),
        "sessions": len(alone),
        "shared_sessions": len(shared),
        "tables": erased,
    }
    return ErasedPerson(receipt, alone, shared)


def salted(kind: str, tenant: str, id: str) -> dict[str, str]:
    """Salted hash of an erased id for a receipt: receipts cannot be matched with each other or with
    a table of hashes. It is verified with the id: SHA-256 of `SALT/TENANT/ID`."""
    salt = secrets.token_hex(16)
    return {
        f"{kind}_sha256": hashlib.sha256(f"{salt}/{tenant}/{id}".encode()).hexdigest(),
        "salt": salt,
    }


def erase_remade(root: Location, tenant: str, sessions: list[str]) -> None:
    """Erases documents of these sessions that were rebuilt for another user's erasure: their
    records may be erased now."""
    with connect(own_folder(root), tenant=tenant, views=()) as db:
        db.execute("CREATE TEMP TABLE remade AS SELECT unnest(?::VARCHAR[])", [sessions])
        condition = f"t.session_id IN (FROM remade) AND t.src_topic = '{REMADE}'"
        history = History(root)
        for name in (Session.table, Task.table):
            if history.table(name) is not None:
                _erase(history, db, name, condition, tenant)


def users_of(
    root: Path, tenant: str, session_id: str, event_id: str | None, complete: Location | None
) -> list[str]:
    """Users with memory derived from a session, or from the session of a turn."""
    with _connected(root, tenant, complete) as db:
        scope_session(db, tenant, session_id, event_id)
        return _other_users(db)


def forget_session(
    root: Path,
    tenant: str,
    session_id: str,
    event_id: str | None,
    users: list[str],
    complete: Location | None,
) -> Report:
    """Erases one session, or one turn of it, from every table, with all derived memory of these
    users and the turn's session, which the caller rebuilds from the remaining records. After a
    kill, the same call completes the work."""
    condition = session_conditions if event_id is None else turn_conditions
    with _connected(root, tenant, complete) as db:
        scope_session(db, tenant, session_id, event_id, users)
        return _erased(root, db, tenant, condition)


def _erased(
    root: Location,
    db: duckdb.DuckDBPyConnection,
    tenant: str,
    condition: Callable[[str], str],
) -> Report:
    """Rewrites the tables without the rows of a scope, then deletes the old files; in an object
    store the caller deletes them (`sinks.fences.sweep`), after rebuilding the documents."""
    with History(root) as history:
        names = sorted(history.tables(), key=lambda name: (ERASED_LAST.get(name, 0), name))
        erased = {name: _erase(history, db, name, condition(name), tenant) for name in names}
        if isinstance(root, Path):
            _drop_unnamed(history, root)
    return erased


def _drop_unnamed(history: History, root: Path) -> None:
    """Deletes all files that no table's newest version references: replaced files, and leftovers of
    killed writers, even of tables that were never created. The caller is the only writer. Raises
    HistoryWriteError."""
    for name in TABLES:
        folder = root / name
        files = [entry for entry in folder.rglob("*") if entry.is_file()]
        if not files:
            continue
        table = history.table(name)
        current = (
            set() if table is None else {folder / unquote(entry.path) for entry in files_of(table)}
        )
        log = folder / "_delta_log"
        with history.writing(name):
            for file in files:
                if file not in current and log not in file.parents:
                    file.unlink(missing_ok=True)


def _erase(
    history: History, db: duckdb.DuckDBPyConnection, name: str, condition: str, tenant: str
) -> dict[str, int]:
    """Rewrites the days that contain rows of the condition without them; returns counts."""
    test = f"(t.tenant = {quoted(tenant)} AND coalesce({condition}, false))"
    is_letters = name == DeadLetter.table
    if is_letters:
        test = f"({test} OR {LETTER} IN (SELECT id FROM letter WHERE tenant = t.tenant AND goes))"

    def erased(table: DeltaTable) -> dict[str, int]:
        files = readable(db, history.at / name, table)
        rows = select(name, files, commit_order=COMMIT_ORDER in STORED[name].names)
        if is_letters:
            judge_letters(db, rows, tenant)
        days = db.execute(
            f"SELECT t.date, count(*) FROM ({rows}) t WHERE {test} GROUP BY ALL"
        ).fetchall()
        if days:
            remaining = f"SELECT t.* FROM ({rows}) t WHERE NOT {test}"
            rewrite(history, db, name, table, remaining, [day for day, _ in days])
        counts = {"erased": sum(count for _, count in days), "delta_version": table.version()}
        return counts | ({"may_remain": unclear_letters(db, rows, test)} if is_letters else {})

    return _changed(history, name, erased)


def paths(table: DeltaTable) -> list[str]:
    """Parquet files of an open table, as decoded paths."""
    return sorted(unquote(uri) for uri in table.file_uris())


def readable(db: duckdb.DuckDBPyConnection, place: Location, table: DeltaTable) -> list[str]:
    """Files of an open table; makes them readable for the connection."""
    if isinstance(place, Path):
        return paths(table)
    from sinks import object_files

    return object_files.readable(db, place, table)


def vacuum(table: DeltaTable, hours: int, *, full: bool = True) -> list[str]:
    """Deletes and returns the files that no version younger than `hours` reads.

    `full`: including files that no version references, as a killed writer leaves them.
    """
    return table.vacuum(
        retention_hours=hours, dry_run=False, enforce_retention_duration=False, full=full
    )


def drop_unnamed(table: DeltaTable, folder: Path) -> None:
    """Deletes files in a table's folder that no version references; the caller is the only writer.

    Raises DeltaError, OSError.
    """
    known_files, all_files = (
        set(table.vacuum(0, dry_run=True, enforce_retention_duration=False, full=full))
        for full in (False, True)
    )
    for path in all_files - known_files:
        (folder / path).unlink(missing_ok=True)
