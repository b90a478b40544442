"""Making an index of a tenant's part of a history, and keeping it up to date.

Where `streams.search.place` says lie `TENANT.N.sqlite`, TENANT being a hash. The greatest N is
the index; it is written under another name and gets its own when it is whole, so a killed build
leaves the one before. One process updates, others continue with what they find.
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

from sinks.locations import Location
from sinks.locks import taken
from sinks.object_store import ObjectPath
from sinks.root import HistoryError, HistoryWriteError
from streams.search import retracted, revising, source, vectors
from streams.search.doc import Doc
from streams.search.opening import connected, notes
from streams.search.place import FOLDER as FOLDER
from streams.search.place import folder_of
from streams.search.readers import READERS
from streams.search.source import News
from streams.search.store import FORMAT, Index

T = TypeVar("T")
log = logging.getLogger(__name__)

WAIT_FOR_FIRST = 5
"""Seconds for which a search waits for another process's first build."""
WAIT_FOR_OTHERS = 1.0
"""Seconds for which a search waits while another search adds what is new to the index: it would
miss what was written just before."""
LITTLE = 1_000_000
"""Bytes of new files, a second's work or two: a question does not wait for more."""
READ_ONLY = {errno.EACCES, errno.EPERM, errno.EROFS}
SUFFIX = ".sqlite"
GROWTH = 1.2
"""Of the documents: then it is counted again how common a term is."""


class NotIndexed(HistoryError):  # noqa: N818 - a state, not a fault
    """There is no index of this tenant yet; try again in a while."""

    exit_code = 5


def current(folder: Location, tenant: str) -> Path | None:
    """The newest whole index of a tenant, if there is one."""
    at, begins = folder_of(folder), f"{_hash(tenant)}."
    try:
        with os.scandir(at) as files:
            named = [one.name for one in files if one.name.startswith(begins)]
    except OSError:
        return None
    whole = [name for name in named if name.endswith(SUFFIX)]
    return at / max(whole, key=_number) if whole else None


def update(
    folder: Location,
    tenant: str,
    *,
    rebuild: bool = False,
    at_once: bool = False,
    ending: Event | None = None,
) -> Path:
    """The index of a tenant as the tables stand now, in a generation's folder.

    Where another is at it, the index that there is. Raises NotIndexed where that one is building
    the first, and takes its time; with `at_once` wherever it would take its time; once `ending` is
    set, which leaves all as it was. HistoryWriteError; not where the folder is read-only and the
    index lacks nothing.
    """
    try:
        folder_of(folder).mkdir(exist_ok=True)
        return _updated(folder, tenant, rebuild, at_once, ending or Event())
    except (OSError, sqlite3.Error) as error:
        if isinstance(error, OSError) and error.errno in READ_ONLY and not rebuild:
            return _as_it_is(folder, tenant, error)
        raise HistoryWriteError(f"{folder_of(folder)}: {error}") from error


def _as_it_is(folder: Location, tenant: str, error: OSError) -> Path:
    """The index in a folder that cannot be written. Raises HistoryWriteError if it lacks rows."""
    at = current(folder, tenant)
    with whole(folder, at) as db:
        if at is not None and db is not None:
            return at
    lacks = "has no index of this tenant" if at is None else "its index lacks the newest records"
    raise HistoryWriteError(
        f"{folder_of(folder)}: cannot be written ({error.strerror}) and {lacks}: run the search "
        "once as a user who may write there, or search a copy of the history"
    )


@contextmanager
def whole(folder: Location, path: Path | None) -> Iterator[sqlite3.Connection | None]:
    """An index, open, that has all that the tables have now; None where it lacks something, is
    broken, or there is none (any more)."""
    with ExitStack() as opened:
        try:
            db = None if path is None else opened.enter_context(READERS.reading(path))
            lacks = db is None or not _has_all(folder, notes(db))
        except sqlite3.Error:
            lacks = True
        yield None if lacks else db


def _has_all(folder: Location, known: dict[str, Any]) -> bool:
    return known.get("format") == FORMAT and all(
        source.is_newest(
            folder / name if isinstance(folder, ObjectPath) else f"{folder}/{name}", known[name]
        )
        for name in source.TABLES
    )


def _updated(folder: Location, tenant: str, rebuild: bool, at_once: bool, ending: Event) -> Path:
    known = at_once or current(folder, tenant) is not None
    with _lock(
        folder, tenant, math.inf if rebuild else WAIT_FOR_OTHERS if known else WAIT_FOR_FIRST
    ) as ours:
        at = current(folder, tenant)
        if at is None and (at_once or not ours):
            raise NotIndexed("the first index of this tenant is being built; try again in a while")
        if at is not None and not ours:
            return at
        most = LITTLE if at_once else None
        if at is not None and not rebuild and _brought_up(folder, tenant, at, most, ending):
            return at
        if at_once:
            raise NotIndexed("the index has to be built again; try again in a while")
        return _built(folder, tenant, at, ending)


@contextmanager
def unbuilt(folders: Iterable[Location], tenant: str, within: float = math.inf) -> Iterator[None]:
    """Nobody builds the indexes of a tenant in these generations' folders. Raises NotIndexed where
    somebody does, for so many seconds."""
    with ExitStack() as stack:
        for folder in folders:
            folder_of(folder).mkdir(exist_ok=True)
            if not stack.enter_context(_lock(folder, tenant, within)):
                raise NotIndexed("an index of this tenant is being built; try again in a while")
        yield


def forget(
    folder: Location, tenant: str, users: Iterable[str], session_id: str | None = None
) -> None:
    """Removes a tenant's index with all that it leaves on disk, and the vectors of these users and
    of a session; the next search makes the index again.

    To be called within `unbuilt`, when the tables have been erased from: what is built later holds
    nothing of it.
    """
    _remove(folder, tenant)
    vectors.forget(folder_of(folder), tenant, users, session_id)


@contextmanager
def _lock(folder: Location, tenant: str, wait: float) -> Iterator[bool]:
    """Whether the lock is ours, after so many seconds at most."""
    with (folder_of(folder) / f"{_hash(tenant)}.lock").open("a") as lock:
        yield taken(lock, within=wait)


def _brought_up(folder: Location, tenant: str, path: Path, most: int | None, ending: Event) -> bool:
    """Adds what the tables have gained; False where it has to be built again. Raises NotIndexed
    where that is more than `most` bytes."""
    try:
        return _added_to(folder, tenant, path, most, ending)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError as error:
        log.warning("%s: %s; building it anew", path, error)
        return False


def _added_to(folder: Location, tenant: str, path: Path, most: int | None, ending: Event) -> bool:
    with closing(Index(connected(path))) as index:
        if (made := index.value("format")) != FORMAT:
            log.warning("%s: of format %s, not %s; building it anew", path, made, FORMAT)
            return False
        found = {name: source.news(folder / name, index.value(name)) for name in source.TABLES}
        gained = {name: one for name, one in found.items() if one is not None}
        if len(gained) < len(found):
            return False
        if most is not None and sum(one.size for one in gained.values()) > most:
            raise NotIndexed("much is being added to the index; try again in a while")
        if any(one.version != index.value(name) for name, one in gained.items()):
            with source.opened() as db:
                for name, one in gained.items():
                    source.make_readable(db, folder / name, one)
                _add(db, index, tenant, gained, ending)
        return True


def _built(folder: Location, tenant: str, before: Path | None, ending: Event) -> Path:
    number = _number(before.name) + 1 if before else 0
    path = folder_of(folder) / f"{_hash(tenant)}.{number}{SUFFIX}"
    making = path.with_suffix(".making")
    _remove(folder, tenant, but=before)  # what a killed build left
    with source.opened() as db, closing(Index.create(making)) as index:
        found = {name: source.whole(db, folder / name) for name in source.TABLES}
        index.note("format", FORMAT)
        index.note("id", uuid4().hex)
        _add(db, index, tenant, found, ending)
        index.finish()
    with making.open("rb") as whole:
        os.fsync(whole.fileno())
    making.replace(path)
    _remove(folder, tenant, but=path)
    return path


def _remove(folder: Location, tenant: str, but: Path | None = None) -> None:
    for file in folder_of(folder).glob(f"{_hash(tenant)}.*"):
        if file.suffix != ".lock" and (but is None or not file.name.startswith(but.name)):
            with suppress(FileNotFoundError):  # SQLite removes some itself
                file.unlink()


def _add(
    db: DuckDBPyConnection, index: Index, tenant: str, found: dict[str, News], ending: Event
) -> None:
    """All of it or, killed or `ending`, nothing: the tables' versions are part of the
    transaction."""
    index.db.execute("BEGIN IMMEDIATE")
    are_retracted = retracted.is_any(index)
    for docs in _until(ending, source.events(db, found["events"].files, tenant)):
        _add_events(index, docs)
        if are_retracted:
            retracted.take_in(index, docs)
    revisions = found["revisions"].files
    for changes in _until(ending, source.changes(db, revisions, tenant)):
        revising.apply(index, changes)
    for table in source.TOUCHES:
        for touched in _until(ending, source.touches(db, table, found[table].files, tenant)):
            for kind, id, at in touched:
                index.touch(kind, id, at)
    for plans in _until(ending, source.planned(db, found["plans"].files, tenant)):
        index.plan(plans)
    for retracting in _until(ending, source.retracting(db, found["plans"].files, tenant)):
        retracted.apply(index, retracting)
    index.settle_counts()
    for name, one in found.items():
        index.note(name, one.version)
    index.note("docs", index.docs)
    if index.docs > GROWTH * (index.value("counted") or 0):
        index.count()
    index.db.execute("COMMIT")


def _until(ending: Event, batches: Iterator[T]) -> Iterator[T]:
    for batch in batches:
        if ending.is_set():
            raise NotIndexed("indexing was interrupted; the next search starts it again")
        yield batch


def _add_events(index: Index, docs: list[Doc]) -> None:
    """New ones are added; an ended one takes the place of the same that was running."""
    fresh: dict[tuple[int | None, str], Doc] = {}
    begun: dict[tuple[int | None, str], Doc] = {}
    for doc in docs:
        where = index.owner(doc), doc.key
        known = fresh.get(where)
        stored = [] if known else index.versions("event", *where)
        seq = known.seq if known else stored[0].seq if stored else -1
        if doc.seq < seq:
            begun[where] = doc
        elif doc.seq > seq and stored:
            index.replace(stored[0].number, doc)
        elif doc.seq > seq:
            fresh[where] = doc
            if known:
                begun[where] = known
    index.add(fresh.values())
    for where, doc in begun.items():
        (ended,) = index.versions("event", *where)
        index.begin(ended.number, doc)


def _number(name: str) -> int:
    return int(name.split(".")[1])


def _hash(tenant: str) -> str:
    return hashlib.sha256(tenant.encode()).hexdigest()[:32]
