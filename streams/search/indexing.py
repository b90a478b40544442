"""Builds and updates the index of a tenant's part of a history.

The folder of `streams.search.index_path` has files `TENANT.N.sqlite`, TENANT being a hash. The
greatest N is the index; a build writes another file name and renames it when it is complete, so
that a killed build leaves the previous index. One process updates at a time; others use the index
as it is.
"""

import errno
import hashlib
import logging
import math
import os
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from threading import Event
from typing import Any, TypeVar
from uuid import uuid4

from _duckdb import DuckDBPyConnection

from sinks.history_root import HistoryError, HistoryWriteError
from sinks.locations import Location
from sinks.locks import acquire
from sinks.object_store import ObjectPath
from streams.search import history_source, retracted, vectors, versions
from streams.search.connections import READERS
from streams.search.document import Doc
from streams.search.history_source import TableFiles
from streams.search.index_path import FOLDER as FOLDER
from streams.search.index_path import folder_of
from streams.search.open_index import connected, read_meta
from streams.search.store import FORMAT, Index

T = TypeVar("T")
log = logging.getLogger(__name__)

WAIT_FOR_FIRST = 5
"""Seconds that a search waits for another process's first build."""
WAIT_FOR_OTHERS = 1.0
"""Seconds that a search waits for an update by another search: without it, it would miss the newest
records."""
LITTLE = 1_000_000
"""Bytes of new files for which an `at_once` query waits, a second or two."""
READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
SUFFIX = ".sqlite"
GROWTH = 1.2
"""Growth of the number of documents after which the frequencies of terms are recounted."""


class NotIndexed(HistoryError):  # noqa: N818 - a state, not a fault
    """The index of this tenant is not available yet; try again later."""

    exit_code = 5


def current(folder: Location, tenant: str) -> Path | None:
    """Returns the newest complete index of a tenant, or None."""
    index_folder, prefix = folder_of(folder), f"{_hash(tenant)}."
    try:
        with os.scandir(index_folder) as files:
            names = [file.name for file in files if file.name.startswith(prefix)]
    except OSError:
        return None
    complete = [name for name in names if name.endswith(SUFFIX)]
    return index_folder / max(complete, key=_number) if complete else None


def update(
    folder: Location,
    tenant: str,
    *,
    rebuild: bool = False,
    at_once: bool = False,
    ending: Event | None = None,
) -> Path:
    """Updates the index of a tenant in a generation's folder; returns its file.

    Returns the present index while another process updates it. Raises NotIndexed while another
    process builds the first index, with `at_once` if the update would take long, and, without
    changes, once `ending` is set. Raises HistoryWriteError, but not for a current index in a
    read-only folder.
    """
    try:
        folder_of(folder).mkdir(exist_ok=True)
        return _updated(folder, tenant, rebuild, at_once, ending or Event())
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, OSError) and error.errno in READ_ONLY and not rebuild:
            return _read_only_index(folder, tenant, error)
        raise HistoryWriteError(f"{folder_of(folder)}: {error}") from error


def _read_only_index(folder: Location, tenant: str, error: OSError) -> Path:
    """The index in a read-only folder. Raises HistoryWriteError if it is not current."""
    path = current(folder, tenant)
    with open_current(folder, path) as db:
        if path is not None and db is not None:
            return path
    fault = "has no index of this tenant" if path is None else "its index lacks the newest records"
    raise HistoryWriteError(
        f"{folder_of(folder)}: cannot be written ({error.strerror}) and {fault}: run the search "
        "once as a user who may write there, or search a copy of the history"
    )


@contextmanager
def open_current(folder: Location, path: Path | None) -> Iterator[sqlite3.Connection | None]:
    """Opens an index that has all rows of the tables; yields None for one that is missing, broken
    or not current."""
    with ExitStack() as stack:
        try:
            db = None if path is None else stack.enter_context(READERS.reading(path))
            is_current = db is not None and _is_current(folder, read_meta(db))
        except sqlite3.Error:
            is_current = False
        yield db if is_current else None


def _is_current(folder: Location, meta: dict[str, Any]) -> bool:
    return meta.get("format") == FORMAT and all(
        history_source.is_newest(
            folder / name if isinstance(folder, ObjectPath) else f"{folder}/{name}", meta[name]
        )
        for name in history_source.TABLES
    )


def _updated(folder: Location, tenant: str, rebuild: bool, at_once: bool, ending: Event) -> Path:
    exists = at_once or current(folder, tenant) is not None
    with _lock(
        folder, tenant, math.inf if rebuild else WAIT_FOR_OTHERS if exists else WAIT_FOR_FIRST
    ) as is_locked:
        path = current(folder, tenant)
        if path is None and (at_once or not is_locked):
            raise NotIndexed("the first index of this tenant is being built; try again in a while")
        if path is not None and not is_locked:
            return path
        most = LITTLE if at_once else None
        if path is not None and not rebuild and _try_update(folder, tenant, path, most, ending):
            return path
        if at_once:
            raise NotIndexed("the index has to be built again; try again in a while")
        return _build(folder, tenant, path, ending)


@contextmanager
def build_locks(
    folders: Iterable[Location], tenant: str, within: float = math.inf
) -> Iterator[None]:
    """Takes the build locks of a tenant's indexes in these generations' folders. Raises NotIndexed
    if another process keeps one for `within` seconds."""
    with ExitStack() as stack:
        for folder in folders:
            folder_of(folder).mkdir(exist_ok=True)
            if not stack.enter_context(_lock(folder, tenant, within)):
                raise NotIndexed("an index of this tenant is being built; try again in a while")
        yield


def forget(
    folder: Location, tenant: str, users: Iterable[str], session_id: str | None = None
) -> None:
    """Deletes a tenant's index with all its files, and the vectors of these users and of a session;
    the next search rebuilds the index.

    Call it within `build_locks`, after the erasure from the tables, so that a later build has no
    erased rows.
    """
    _remove(folder, tenant)
    vectors.forget(folder_of(folder), tenant, users, session_id)


@contextmanager
def _lock(folder: Location, tenant: str, wait: float) -> Iterator[bool]:
    """Takes the build lock within `wait` seconds; yields whether it is taken."""
    with (folder_of(folder) / f"{_hash(tenant)}.lock").open("a") as lock:
        yield acquire(lock, within=wait)


def _try_update(folder: Location, tenant: str, path: Path, most: int | None, ending: Event) -> bool:
    """Adds the new files of the tables; False if the index has to be rebuilt. Raises NotIndexed for
    more than `most` bytes."""
    try:
        return _add_new_files(folder, tenant, path, most, ending)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        log.warning("%s: %s; rebuilding it", path, error)
        return False


def _add_new_files(
    folder: Location, tenant: str, path: Path, most: int | None, ending: Event
) -> bool:
    with closing(Index(connected(path))) as index:
        if (index_format := index.get_meta("format")) != FORMAT:
            log.warning("%s: format %s, not %s; rebuilding it", path, index_format, FORMAT)
            return False
        versions = {name: index.get_meta(name) for name in history_source.TABLES}
        tables: dict[str, TableFiles] = {}
        for name, version in versions.items():
            files = history_source.new_files(folder / name, version)
            if files is None:
                return False
            tables[name] = files
        if most is not None and sum(files.size for files in tables.values()) > most:
            raise NotIndexed("much is being added to the index; try again in a while")
        if any(files.version != versions[name] for name, files in tables.items()):
            with history_source.open_duckdb() as db:
                for name, files in tables.items():
                    history_source.make_readable(db, folder / name, files)
                _add(db, index, tenant, tables, ending)
        return True


def _build(folder: Location, tenant: str, previous: Path | None, ending: Event) -> Path:
    number = _number(previous.name) + 1 if previous else 0
    path = folder_of(folder) / f"{_hash(tenant)}.{number}{SUFFIX}"
    temporary = path.with_suffix(".making")
    _remove(folder, tenant, but=previous)  # the files of killed builds
    with history_source.open_duckdb() as db, closing(Index.create(temporary)) as index:
        tables = {
            name: history_source.all_files(db, folder / name) for name in history_source.TABLES
        }
        index.set_meta("format", FORMAT)
        index.set_meta("id", uuid4().hex)
        _add(db, index, tenant, tables, ending)
        index.finish()
    with temporary.open("rb") as file:
        os.fsync(file.fileno())
    temporary.replace(path)
    _remove(folder, tenant, but=path)
    return path


def _remove(folder: Location, tenant: str, but: Path | None = None) -> None:
    for file in folder_of(folder).glob(f"{_hash(tenant)}.*"):
        if file.suffix != ".lock" and (but is None or not file.name.startswith(but.name)):
            with suppress(FileNotFoundError):  # SQLite removes some itself
                file.unlink()


def _add(
    db: DuckDBPyConnection, index: Index, tenant: str, tables: dict[str, TableFiles], ending: Event
) -> None:
    """Adds all files in one transaction, which includes the tables' versions: a killed or ended
    update has no effect."""
    index.db.execute("BEGIN IMMEDIATE")
    are_retracted = retracted.is_any(index)
    for docs in _until(ending, history_source.events(db, tables["events"].files, tenant)):
        _add_events(index, docs)
        if are_retracted:
            retracted.take_in(index, docs)
    revisions = tables["revisions"].files
    for changes in _until(ending, history_source.changes(db, revisions, tenant)):
        versions.apply(index, changes)
    for table in history_source.TOUCHES:
        for touches in _until(
            ending, history_source.touches(db, table, tables[table].files, tenant)
        ):
            for kind, id, at in touches:
                index.touch(kind, id, at)
    for plans in _until(ending, history_source.plans(db, tables["plans"].files, tenant)):
        index.plan(plans)
    for retracting in _until(ending, history_source.retracting(db, tables["plans"].files, tenant)):
        retracted.apply(index, retracting)
    index.settle_counts()
    for name, files in tables.items():
        index.set_meta(name, files.version)
    index.set_meta("docs", index.docs)
    if index.docs > GROWTH * (index.get_meta("counted") or 0):
        index.count()
    index.db.execute("COMMIT")


def _until(ending: Event, batches: Iterator[T]) -> Iterator[T]:
    for batch in batches:
        if ending.is_set():
            raise NotIndexed("indexing was interrupted; the next search starts it again")
        yield batch


def _add_events(index: Index, docs: list[Doc]) -> None:
    """Adds new events; an ended one replaces its running version."""
    new: dict[tuple[int | None, str], Doc] = {}
    running: dict[tuple[int | None, str], Doc] = {}
    for doc in docs:
        key = index.owner(doc), doc.key
        earlier = new.get(key)
        stored = [] if earlier else index.versions("event", *key)
        seq = earlier.seq if earlier else stored[0].seq if stored else -1
        if doc.seq < seq:
            running[key] = doc
        elif doc.seq > seq and stored:
            index.replace(stored[0].number, doc)
        elif doc.seq > seq:
            new[key] = doc
            if earlier:
                running[key] = earlier
    index.add(new.values())
    for key, doc in running.items():
        (ended,) = index.versions("event", *key)
        index.begin(ended.number, doc)


def _number(name: str) -> int:
    return int(name.split(".")[1])


def _hash(tenant: str) -> str:
    return hashlib.sha256(tenant.encode()).hexdigest()[:32]
