"""What a history has of one owner, kept in memory for a while: who moves a clock asks the same
question again and again, of other times.

A table's files are only added to, but for `compact`, `forget` and a rebuilt generation. So what was
read once is brought up to date from the files that came since, or read again where any went.
"""

import atexit
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from threading import Lock, Timer
from typing import NamedTuple

from _duckdb import DuckDBPyConnection

from sinks.files import data_files
from sinks.generation import find_tables
from sinks.history import SETTINGS, begin, select, told
from sinks.locations import Location
from sinks.views import SNAPSHOTS

MOST = 8
"""Owners that are kept at one time; the one that was not asked about for longest gives way."""
SECONDS = 300.0
"""How long they are, since they were read: nothing of who is forgotten stays for longer."""
KEPT: ContextVar["Kept | None"] = ContextVar("KEPT", default=None)
"""What a `Lookup` of the same history takes its rows from."""


class Part(NamedTuple):
    """Rows of a table that fit a condition (SQL without parameters), with these columns or all."""

    where: str
    columns: tuple[str, ...] | None = None


Tables = Mapping[str, tuple[Part, ...]]
"""What is kept of each table; a column that a part does not have is NULL in it."""


class Kept:
    """A tenant's rows in a database in memory."""

    def __init__(self, folder: Location, tenant: str, tables: Tables) -> None:
        self.where = folder, tenant
        self.tables = tables
        self.db = begin()
        self._files: dict[str, list[str]] = {}
        self._lock = Lock()
        self._schemas = 0

    def refresh(self) -> None:
        """Brings the rows up to date."""
        with self._lock:
            told(self.db)
            for table, parts in self.tables.items():
                self._refresh(table, parts)

    def _refresh(self, table: str, parts: tuple[Part, ...]) -> None:
        folder, tenant = self.where
        known, files = self._files.get(table), data_files(self.db, folder / table)
        if known == files:
            return
        if known is not None and set(known) <= set(files):
            new, begins = sorted(set(files) - set(known)), f"INSERT INTO main.{table} BY NAME"
        else:
            new, begins = files, f"CREATE OR REPLACE TABLE main.{table} AS"
        more = table in SNAPSHOTS
        rows = " UNION ALL BY NAME ".join(
            f"({select(table, new, tenant=tenant, more=more, only=one.columns)} AND ({one.where}))"
            for one in parts
        )
        self.db.execute(f"{begins} {rows}")
        self._files[table] = files

    def has(self, table: str, wanted: Sequence[str] | None) -> bool:
        """Whether a table is kept with these columns, or with all."""
        names = [one.columns for one in self.tables.get(table, ())]
        if not names or None in names:
            return bool(names)
        held = {name for some in names for name in some or ()}
        return wanted is not None and held.issuperset(wanted)

    def cursor(self) -> DuckDBPyConnection:
        """A connection to the rows, with a schema of its own for what one question makes."""
        with self._lock:
            self._schemas += 1
            name = f"asked_{self._schemas}"
        cursor = self.db.cursor()
        told(cursor)
        cursor.execute(f"{SETTINGS} CREATE SCHEMA {name}; SET schema = '{name}'")
        return cursor

    def left(self, cursor: DuckDBPyConnection) -> None:
        """The end of a question."""
        (name,) = cursor.execute("SELECT current_schema()").fetchall()[0]
        cursor.execute(f"SET schema = 'main'; DROP SCHEMA {name} CASCADE")
        cursor.close()


_all: OrderedDict[tuple[Location, str, str], Kept] = OrderedDict()
_timers: dict[tuple[Location, str, str], Timer] = {}
_lock = Lock()


@contextmanager
def kept(root: Location, tenant: str, owner: str, tables: Tables) -> Iterator[None]:
    """Lookups of a history, meanwhile and in this thread, take an owner's rows from memory."""
    folder = find_tables(root)
    key = folder, tenant, owner
    with _lock:
        found = _all.get(key)
        if found is not None:
            _all.move_to_end(key)
    if found is None:
        found = Kept(folder, tenant, tables)
    found.refresh()
    _keep(key, found)
    token = KEPT.set(found)
    try:
        yield
    finally:
        KEPT.reset(token)


def _keep(key: tuple[Location, str, str], found: Kept) -> None:
    with _lock:
        if key in _all:
            return
        while len(_all) >= MOST:
            _drop(next(iter(_all)))
        timer = Timer(SECONDS, forget, [key])
        timer.daemon = True
        timer.start()
        _all[key], _timers[key] = found, timer


def _drop(key: tuple[Location, str, str]) -> Timer | None:
    """Its timer is stopped, and returned."""
    _all.pop(key, None)
    timer = _timers.pop(key, None)
    if timer is not None:
        timer.cancel()
    return timer


def owners() -> list[tuple[Location, str, str]]:
    """Of whom something is kept: folder, tenant, owner."""
    with _lock:
        return list(_all)


def forget(key: tuple[Location, str, str] | None = None) -> None:
    """Lets go of an owner's rows, or of all."""
    with _lock:
        for one in [key] if key else list(_all):
            _drop(one)


def _end() -> None:
    """Before Python ends. From a thread that is still there it would not free DuckDB, which then
    writes of leaks to stderr."""
    with _lock:
        timers = [_drop(one) for one in list(_all)]
    for timer in timers:
        if timer is not None:
            timer.join(1.0)


atexit.register(_end)
