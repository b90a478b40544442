"""Erasing from tables in an object store while others write them (docs/object-stores.md).

An object store has no lock. But Delta rejects a commit if the table's metadata has changed since
the version that it is based on. So a commit that only changes metadata is a fence: no commit after
it is based on a version before it.
"""

from uuid import uuid4

from deltalake import DeltaTable

from schemas.rows import TABLES
from sinks.delta import History, retry_conflicts
from sinks.object_store import ObjectPath
from sinks.rewrite_files import SCRATCH, clear

FENCE = "turnfold.fence"
"""Table property that a fence changes."""


def fence(history: History) -> None:
    """Fences all tables: concurrent writers must read them again. In a folder it is a no-op, as the
    caller has the lock. Raises HistoryWriteError."""
    if isinstance(history.at, ObjectPath):
        for name in history.tables():
            _fenced(history, name)


def sweep(history: History) -> None:
    """Deletes data files that no table's newest version references, in an object store.

    A file that existed before a fence and is not referenced after it cannot become referenced:
    it belongs to an older version, or to a commit that Delta now rejects.
    """
    if not isinstance(history.at, ObjectPath):
        return
    clear(history.at / SCRATCH)
    for name in TABLES:
        place = history.at / name
        addresses = set(place.sizes())
        if not addresses:
            continue
        # a table is created before its first upload: files without a table are leftovers
        is_made = history.newest(name) is not None
        current = set(_fenced(history, name).file_uris()) if is_made else set()
        place.unlink_all(
            address
            for address in addresses - current
            if not address.startswith(f"{place}/_delta_log/")
        )


def _fenced(history: History, name: str) -> DeltaTable:
    """Fences an existing table; returns it at that version."""

    def attempt() -> DeltaTable:
        table = history.newest(name)
        assert table is not None, "tables are never removed"
        with history.writing(name):
            table.alter.set_table_properties({FENCE: uuid4().hex}, raise_if_not_exists=False)
        return table

    return retry_conflicts(attempt)
