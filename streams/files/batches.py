"""How a batch becomes part of a history, wholly or not at all.

One process writes, and the store lies beside the tables:
1. note in the store at which version each Delta table stands;
2. append the batch's rows to the tables, one commit each;
3. write the fold's rows, the files' positions and the counters to the store, and drop the note.
Who finds a note takes the tables back to the noted versions and continues from the store, which
knows nothing of that batch (docs/decisions.md says why back and not forward).
"""

from collections.abc import Iterator
from uuid import uuid4

import pyarrow as pa

from sinks.delta import History
from streams.files.store import Changes, Store, encoded

Packed = dict[str, list[pa.Table]]
"""Table -> pieces of its rows."""


class Batches:
    """One after the other, by one thread at a time; the caller has the history's lock."""

    def __init__(self, store: Store, tables: History) -> None:
        self._store, self._tables = store, tables

    def commit(self, packed: Packed, changes: Changes) -> None:
        """One batch: rows for the tables, and what changes in the store. Raises HistoryWriteError,
        StoreError; then the next writer continues from the store."""
        number = (self._store.value("batch") or 0) + 1
        if packed:
            self._store.write_values({"writing": self._tables.delta_versions()})
            for name, rows in joined(packed):
                self._tables.append(name, rows, self._store.value("writer"), number)
        self._store.write([*changes, *encoded({"batch": number, "writing": None})])

    def take_back(self) -> None:
        """A batch that could not be written, as far as it was."""
        noted = self._store.value("writing")
        if noted is not None:
            self._tables.restore(noted)
            self._store.write_values({"writing": None, "writer": str(uuid4())})
        elif self._store.value("writer") is None:
            self._store.write_values({"writer": str(uuid4())})


def joined(packed: Packed) -> Iterator[tuple[str, pa.Table]]:
    """Each table's rows in one piece; the pieces go."""
    while packed:
        name = next(iter(packed))
        yield name, pa.concat_tables(packed.pop(name)).combine_chunks()
