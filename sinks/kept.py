"""What a history has of one owner, kept in memory for a while: who moves a clock asks the same
question again and again, of other times.

A table's files are only added to, but for `compact`, `forget` and a rebuilt generation. So what was
read once is brought up to date from the files that came since, or read again where any went.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from threading import Lock, Timer

from _duckdb import DuckDBPyConnection

from sinks.files import data_files
from sinks.generation import find_tables
from sinks.history import SETTINGS, begin, select, told
from sinks.views import SNAPSHOTS

MOST = 8
"""Owners that are kept at one time; the one that was not asked about for longest gives way."""
SECONDS = 300.0
"""How long they are, since they were read: nothing of who is forgotten stays for longer."""
KEPT: ContextVar["Kept | None"] = ContextVar("KEPT", default=None)
"""What a `Lookup` of the same history takes its rows from."""


class Kept:
    """A tenant's rows that fit the conditions of `tables`, in a database in memory. A condition is
    SQL without parameters."""

    def __init__(self, folder: Path, tenant: str, tables: Mapping[str, str]) -> None:
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
            for table, where in self.tables.items():
                self._refresh(table, where)

    def _refresh(self, table: str, where: str) -> None:
        folder, tenant = self.where
        known, files = self._files.get(table), data_files(self.db, folder / table)
        if known == files:
            return
        if known is not None and set(known) <= set(files):
            new, begins = sorted(set(files) - set(known)), f"INSERT INTO main.{table}"
        else:
            new, begins = files, f"CREATE OR REPLACE TABLE main.{table} AS"
        rows = select(table, new, tenant=tenant, more=table in SNAPSHOTS)
        self.db.execute(f"{begins} {rows} AND ({where})")
        self._files[table] = files

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


_all: OrderedDict[tuple[Path, str, str], Kept] = OrderedDict()
_lock = Lock()


@contextmanager
def kept(
    root: str | Path, tenant: str, owner: str, tables: Callable[[], Mapping[str, str]]
) -> Iterator[None]:
    """Lookups of a history, meanwhile and in this thread, take an owner's rows from memory."""
    folder = find_tables(root)
    key = folder, tenant, owner
    with _lock:
        found = _all.get(key)
        if found is not None:
            _all.move_to_end(key)
    if found is None:
        found = Kept(folder, tenant, tables())
        timer = Timer(SECONDS, forget, [key])
        timer.daemon = True
        timer.start()
    found.refresh()
    with _lock:
        _all[key] = found
        while len(_all) > MOST:
            _all.popitem(last=False)
    token = KEPT.set(found)
    try:
        yield
    finally:
        KEPT.reset(token)


def forget(key: tuple[Path, str, str] | None = None) -> None:
    """Lets go of an owner's rows, or of all."""
    with _lock:
        for one in [key] if key else list(_all):
            _all.pop(one, None)
