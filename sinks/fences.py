"""Erasing from tables in an object store while others write them (docs/object-stores.md).

There is no lock. But Delta refuses a commit where the table's metadata has changed since the state
that it was made from. So a commit that changes nothing else is a fence: behind it no commit stands
that was made from a state before it.
"""

from uuid import uuid4

from deltalake import DeltaTable

from schemas.rows import TABLES
from sinks.delta import History, until_first
from sinks.object_store import ObjectPath
from sinks.rewriting import SCRATCH, clear

FENCE = "turnfold.fence"
"""The property of a table that a fence changes."""


def fence(history: History) -> None:
    """Fences all tables: who writes one must look again at what he did not know. Of a folder's the
    caller has the lock, so nothing is done. Raises HistoryWriteError."""
    if isinstance(history.at, ObjectPath):
        for name in history.tables():
            _fenced(history, name)


def sweep(history: History) -> None:
    """Deletes all data files that no table's newest version names, and what killed calls left; in
    an object store.

    What lay there before a fence, and is named by nobody behind it, can be named no more: it was
    left by versions before, or uploaded for a commit that is now refused.
    """
    if not isinstance(history.at, ObjectPath):
        return
    clear(history.at / SCRATCH)
    for name in TABLES:
        place = history.at / name
        found = set(place.sizes())
        if not found:
            continue
        # a table is made before anything is uploaded for it: what lies where none is was left
        is_made = history.newest(name) is not None
        named = set(_fenced(history, name).file_uris()) if is_made else set()
        place.unlink_all(one for one in found - named if not one.startswith(f"{place}/_delta_log/"))


def _fenced(history: History, name: str) -> DeltaTable:
    """Fences a table that is there; the table as that left it."""

    def attempt() -> DeltaTable:
        table = history.newest(name)
        assert table is not None, "a table stays"
        with history.writing(name):
            table.alter.set_table_properties({FENCE: uuid4().hex}, raise_if_not_exists=False)
        return table

    return until_first(attempt)
