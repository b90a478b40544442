"""Commits a batch to a history atomically.

One process writes, and the store is next to the tables:
1. note the version of each Delta table in the store;
2. append the batch's rows to the tables, one commit each;
3. write the fold's rows, the files' positions and the counters to the store, and delete the note.
After each step it waits for the disk. A process that finds a note rolls the tables back to the
noted versions and continues from the store, which does not contain that batch (docs/decisions.md
explains rollback over replay). Compaction and erasure rewrite tables outside batches, under another
note (`Batches.rewriting`).
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from uuid import uuid4

import pyarrow as pa

from sinks.delta import History
from streams.files.store import Changes, Store, encoded

Packed = dict[str, list[pa.Table]]
"""Table -> pieces of its rows."""
FLUSHED = "flushed"
"""Value of the store: table -> a Delta version that was on disk after the last batch."""


class Batches:
    """Commits batches in sequence, from one thread at a time; the caller has the history's lock."""

    def __init__(self, store: Store, tables: History) -> None:
        self._store, self._tables = store, tables

    def commit(self, packed: Packed, changes: Changes) -> None:
        """Commits one batch: rows of the tables, and changes of the store. Raises
        HistoryWriteError, StoreError; then the next writer continues from the store."""
        number = (self._store.value("batch") or 0) + 1
        written: dict[str, int] = {}
        with self.noted() if packed else nullcontext():
            for name, rows in joined(packed):
                if self._tables.append(name, rows, self._store.value("writer"), number):
                    written[name] = 0  # at least; its handle may not be open
        flushed = written | (self._store.value(FLUSHED) or {}) | self._tables.flushed
        values = {"batch": number, "writing": None, FLUSHED: flushed}
        self._store.write([*changes, *encoded(values)])
        self._tables.flush()

    @contextmanager
    def noted(self) -> Iterator[None]:
        """Notes the tables' versions for `take_back` while the block commits to them; the caller
        then deletes the note. Raises HistoryWriteError, StoreError."""
        self._store.write_values({"writing": self._tables.delta_versions()})
        self._tables.flush()
        yield
        self._tables.flush()

    def merge_small(self) -> None:
        """Merges small files of the tables. Raises HistoryWriteError, StoreError."""
        from sinks import maintenance  # not needed before, and slow to load

        with self.noted():
            maintenance.merge(self._tables)
        self._store.write_values({"writing": None})

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """Notes the tables' versions while the block changes them outside batches, as compaction
        and erasure do: `take_back` repairs what a loss of power tears, and rolls nothing back.
        Raises HistoryWriteError, StoreError."""
        self._store.write_values({"rewriting": self._tables.delta_versions()})
        self._tables.flush()
        yield
        self._tables.flush()
        self._store.write_values({"rewriting": None})

    def take_back(self) -> None:
        """Rolls back a partly written batch, also after a loss of power. Raises HistoryError if a
        table's log lost commits."""
        versions = self._store.value("writing")
        if versions is not None:
            self._tables.repair(versions)
            self._tables.restore(versions)
            self._store.write_values({"writing": None, "writer": str(uuid4())})
            return
        rewritten = self._store.value("rewriting")
        if rewritten is not None:
            self._tables.repair(rewritten)
            self._store.write_values({"rewriting": None})
        else:
            self._tables.check_logs(self._store.value(FLUSHED) or {})
            self._tables.drop_torn_checkpoints()
        if self._store.value("writer") is None:
            self._store.write_values({"writer": str(uuid4())})


def joined(packed: Packed) -> Iterator[tuple[str, pa.Table]]:
    """Yields each table's rows in one piece; frees the pieces."""
    while packed:
        name = next(iter(packed))
        yield name, pa.concat_tables(packed.pop(name)).combine_chunks()
