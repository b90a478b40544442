"""Keeping a history small, and erasing a person from it (docs/guarantees.md).

Both rewrite files, so the caller holds the writer's lock and has no torn batch to undo: after a
vacuum older versions cannot be read. In an object store there is no lock: what another writer was
faster with is done again (`sinks.fences`).
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
from sinks.delta import WRITER, History, until_first
from sinks.erasure import (
    ERASED_LAST,
    LETTER,
    conditions,
    person_conditions,
    session_conditions,
    turn_conditions,
)
from sinks.generation import own
from sinks.history import COMMIT_ORDER, NEWEST_FIRST, connect, define_over, quoted, select
from sinks.links import files_of
from sinks.locations import Location, is_url
from sinks.object_store import ObjectPath
from sinks.rewriting import merge_files, rewrite
from sinks.scope import (
    REMADE,
    erased_ids,
    judge_letters,
    scope,
    scope_made,
    scope_session,
    unclear_letters,
)
from sinks.tables import STORED
from sinks.views import SNAPSHOT_KEYS

SAFE_HOURS = 168
"""A week: what a reader with an old file list may still be at."""
SMALL = 8_000_000
"""Bytes: smaller files are merged while a server continues writing."""

SAID_BY = ("events", "sessions", "signals")
"""What a scope knows from whose events they are, and whose sessions."""

T = TypeVar("T")
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
    newest = dict(SNAPSHOT_KEYS.values())

    def compacted(table: DeltaTable) -> dict[str, int]:
        before = len(table.file_uris())
        key = newest.get(name)
        dropped = _keep_newest(history, name, key, table) if key is not None else 0
        _merge_small(history, name, table)
        table.create_checkpoint()
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
    with connect(own(history.at), views=()) as db:
        merge_files(history, db, name, table)


def _changed(history: History, name: str, change: Callable[[DeltaTable], T]) -> T:
    """Changes one table; again where another writer was faster, which only an object store lets be
    at work."""

    def changed() -> T:
        table = history.newest(name) if is_url(history.at) else history.table(name)
        assert table is not None, "it was listed"
        with history.writing(name):
            return change(table)

    return until_first(changed)


def merge(history: History) -> None:
    """Makes one of the small files that many commits have left in a day, beside readers.

    Files of some size stay as they are: what is merged often is little. `compact` does the rest,
    and deletes the old files. Raises HistoryWriteError.
    """
    for name, table in history.tables().items():
        with history.writing(name):
            table.optimize.compact(target_size=SMALL, writer_properties=WRITER)


def _keep_newest(history: History, name: str, key: str, table: DeltaTable) -> int:
    newest = f"row_number() OVER (PARTITION BY {key}, date ORDER BY {NEWEST_FIRST}) = 1"
    with connect(own(history.at), views=()) as db:
        files = readable(db, history.at / name, table)
        rows = f"SELECT *, {newest} AS newest FROM ({select(name, files, more=True)})"
        days = db.execute(
            f"SELECT date, count(*) FROM ({rows}) WHERE NOT newest GROUP BY date"
        ).fetchall()
        if days:
            kept = f"SELECT * EXCLUDE (newest) FROM ({rows}) WHERE newest"
            rewrite(history, db, name, table, kept, [day for day, _ in days])
    return sum(count for _, count in days)


class Sessions(NamedTuple):
    """The sessions in which `forget` would erase something, each as (tenant, session_id): all of
    `whole`, and a user's part of `shared`, or what came of theirs after an erasure. `erased`: the
    hashes of what goes. `heard`: the others of whose memory the user's turns are evidence."""

    whole: list[tuple[str, str]]
    shared: list[tuple[str, str]]
    erased: list[str]
    heard: list[str]


def sessions_of(
    root: Location,
    tenant: str,
    user_id: str,
    noted: Collection[str] = (),
    whole: Location | None = None,
) -> Sessions:
    """Where a person's turns are, or were by what is noted (`sinks.erased_ids`). `whole`: the
    generation that has the days which this one leaves out."""
    with until_first(lambda: _scoped(root, tenant, user_id, noted, whole)) as db:
        return Sessions(*_sessions(db, tenant), erased_ids(db, tenant), _heard(db))


def _scoped(
    root: Location,
    tenant: str,
    user_id: str,
    noted: Collection[str],
    whole: Location | None,
    heard: Collection[str] = (),
) -> duckdb.DuckDBPyConnection:
    """A connection with the tables that the conditions speak of."""
    db = _connected(root, tenant, whole)
    scope(db, tenant, user_id, noted)
    scope_made(db, tenant, user_id, noted, heard)
    return db


def _connected(root: Location, tenant: str, whole: Location | None) -> duckdb.DuckDBPyConnection:
    """A generation, with the records of `whole` beside its own in the tables that say whose events
    they are: what is made of an event may lie in days that its turn does not."""
    db = connect(own(root), tenant=tenant)
    if whole is not None:
        define_over(db, SAID_BY, [own(root), own(whole)], tenant)
    return db


def _heard(db: duckdb.DuckDBPyConnection) -> list[str]:
    return [user for (user,) in db.execute("FROM heard ORDER BY ALL").fetchall()]


def _sessions(
    db: duckdb.DuckDBPyConnection, tenant: str
) -> tuple[list[tuple[str, str]], list[tuple[str, str]]]:
    """One that goes whole for what came late is no user's own: others may speak in it yet."""
    own_session = "session_id IN (FROM own_session)"
    whole, shared = (
        db.execute(f"SELECT {quoted(tenant)}, session_id FROM {which} ORDER BY ALL").fetchall()
        for which in (
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
    whole: Location | None = None,
) -> Forgotten:
    """Erases one person from every table: their rows, then the bytes of the old files. `noted`,
    `whole`: as `sessions_of` has them. `heard`: of whom all goes that memory has made, as the
    caller makes it again from the records that are left; without it, what plans from the person's
    turns made.

    Sessions where no other user spoke go whole. Of shared sessions go their turns with the tasks
    of these, the session's snapshots, and the revisions of what their turns changed; the
    snapshots come back with the session's next turn or a rebuild. Killed half-way, the same call
    ends the work: what the scope is read from is erased last.
    """
    theirs = conditions if heard is None else person_conditions
    with until_first(lambda: _scoped(root, tenant, user_id, noted, whole, heard or ())) as db:
        erased = _erased(root, db, tenant, theirs)
        alone, shared = _sessions(db, tenant)
    receipt = {
        **salted("user", tenant, user_id),
        "sessions": len(alone),
        "shared_sessions": len(shared),
        "tables": erased,
    }
    return Forgotten(receipt, alone, shared)


def hashed(tenant: str, user_id: str) -> str:
    """How notes in a history name a person."""
    return hashlib.sha256(f"{tenant}/{user_id}".encode()).hexdigest()


def salted(kind: str, tenant: str, id: str) -> dict[str, str]:
    """How a receipt names what was erased: two receipts cannot be matched with each other, or with
    a table of hashes. Who knows the id can check it: SHA-256 of `SALT/TENANT/ID`."""
    salt = secrets.token_hex(16)
    return {
        f"{kind}_sha256": hashlib.sha256(f"{salt}/{tenant}/{id}".encode()).hexdigest(),
        "salt": salt,
    }


def erase_remade(root: Location, tenant: str, sessions: list[str]) -> None:
    """Erases the documents of these sessions that were made again for somebody else's erasure: from
    records, it may be, that are erased now."""
    with connect(own(root), tenant=tenant, views=()) as db:
        db.execute("CREATE TEMP TABLE remade AS SELECT unnest(?::VARCHAR[])", [sessions])
        made = f"t.session_id IN (FROM remade) AND t.src_topic = '{REMADE}'"
        history = History(root)
        for name in (Session.table, Task.table):
            if history.table(name) is not None:
                _erase(history, db, name, made, tenant)


def users_of(
    root: Path, tenant: str, session_id: str, event_id: str | None, whole: Location | None
) -> list[str]:
    """Those to whose memory a session, or that of a turn, has given something."""
    with _connected(root, tenant, whole) as db:
        scope_session(db, tenant, session_id, event_id)
        return _heard(db)


def forget_session(
    root: Path,
    tenant: str,
    session_id: str,
    event_id: str | None,
    users: list[str],
    whole: Location | None,
) -> Report:
    """Erases one session, or one turn of it, from every table, and all that memory has made of
    these users and of the turn's session, which the caller makes again from the records that are
    left. Killed half-way, the same call ends it."""
    theirs = session_conditions if event_id is None else turn_conditions
    with _connected(root, tenant, whole) as db:
        scope_session(db, tenant, session_id, event_id, users)
        return _erased(root, db, tenant, theirs)


def _erased(
    root: Location,
    db: duckdb.DuckDBPyConnection,
    tenant: str,
    theirs: Callable[[str], str],
) -> Report:
    """Rewrites the tables without the rows of a scope, then deletes the old files: in an object
    store the caller does (`sinks.fences.sweep`), once the documents are made again."""
    with History(root) as history:
        names = sorted(history.tables(), key=lambda one: (ERASED_LAST.get(one, 0), one))
        erased = {name: _erase(history, db, name, theirs(name), tenant) for name in names}
        if isinstance(root, Path):
            _drop_unnamed(history, root)
    return erased


def _drop_unnamed(history: History, root: Path) -> None:
    """Deletes all files in the tables' folders that no newest version names: those that were
    replaced, and what killed writers left, under whatever name, in a table that was never made,
    too. The caller alone writes. Raises HistoryWriteError."""
    for name in TABLES:
        folder = root / name
        files = [one for one in folder.rglob("*") if one.is_file()]
        if not files:
            continue
        table = history.table(name)
        named = set() if table is None else {folder / unquote(one.path) for one in files_of(table)}
        log = folder / "_delta_log"
        with history.writing(name):
            for file in files:
                if file not in named and log not in file.parents:
                    file.unlink(missing_ok=True)


def _erase(
    history: History, db: duckdb.DuckDBPyConnection, name: str, theirs: str, tenant: str
) -> dict[str, int]:
    """Rewrites the days that hold rows of theirs without them; how many there were."""
    test = f"(t.tenant = {quoted(tenant)} AND coalesce({theirs}, false))"
    is_letters = name == DeadLetter.table
    if is_letters:
        test = f"({test} OR {LETTER} IN (SELECT id FROM letter WHERE tenant = t.tenant AND goes))"

    def erased(table: DeltaTable) -> dict[str, int]:
        files = readable(db, history.at / name, table)
        rows = select(name, files, more=COMMIT_ORDER in STORED[name].names)
        if is_letters:
            judge_letters(db, rows, tenant)
        days = db.execute(
            f"SELECT t.date, count(*) FROM ({rows}) t WHERE {test} GROUP BY ALL"
        ).fetchall()
        if days:
            kept = f"SELECT t.* FROM ({rows}) t WHERE NOT {test}"
            rewrite(history, db, name, table, kept, [day for day, _ in days])
        counts = {"erased": sum(count for _, count in days), "delta_version": table.version()}
        return counts | ({"may_remain": unclear_letters(db, rows, test)} if is_letters else {})

    return _changed(history, name, erased)


def paths(table: DeltaTable) -> list[str]:
    """The Parquet files of an open table, as paths rather than the URLs Delta answers with."""
    return sorted(unquote(uri) for uri in table.file_uris())


def readable(db: duckdb.DuckDBPyConnection, place: Location, table: DeltaTable) -> list[str]:
    """The files of an open table, which the connection can read from now on."""
    if isinstance(place, Path):
        return paths(table)
    from sinks import object_files

    return object_files.readable(db, place, table)


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
