"""How a batch becomes part of a history, wholly or not at all: in a folder, in an object store.

In a folder one process writes, and the store lies beside the tables:
1. note in the store at which version each Delta table stands;
2. append the batch's rows to the tables, one commit each;
3. write the fold's rows, the files' positions and the counters to the store, and drop the note.
Who finds a note takes the tables back to the noted versions and continues from the store, which
knows nothing of that batch (docs/decisions.md says why back and not forward).

In an object store there is no lock, and the store may be lost. There a batch counts once it stands
in the history's log (`streams.files.run_log`), and what follows anybody may do, at once and again:
the tables take each number once.
"""

from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Protocol
from uuid import uuid4

import pyarrow as pa
from msgspec.structs import replace

from sinks.delta import History, until_first
from sinks.object_store import ObjectPath
from sinks.scratch import scratch
from streams.files.run_log import Note, RunLog, changed
from streams.files.store import Changes, Store, encoded

Packed = dict[str, list[pa.Table]]
"""Table -> pieces of its rows."""
AT_ONCE = 4
"""Tables that are written at a time in an object store: each waits for some requests."""
MANY = 256
"""Batches behind the newest base, after which there is another."""
SMALL = 16_000_000
"""Bytes of changed rows that are not worth a base."""


class Batches(Protocol):
    """One after the other, by one thread at a time."""

    def claim(self) -> None:
        """Nobody else goes on with the history from an earlier state. Raises Overtaken."""

    def commit(self, packed: Packed, changes: Changes) -> None:
        """One batch: rows for the tables, and what changes in the store. Raises HistoryWriteError,
        StoreError, Overtaken; then another process, or this one, continues from the store."""

    def take_back(self) -> None:
        """A batch that could not be written, as far as it was."""


def batches_of(store: Store, tables: History) -> Batches:
    """How a history is written that is open."""
    if isinstance(tables.at, ObjectPath):
        return InStore(store, tables, tables.at)
    return InFolder(store, tables)


class InFolder:
    """Of a history in a folder; the caller has its lock."""

    def __init__(self, store: Store, tables: History) -> None:
        self._store, self._tables = store, tables

    def claim(self) -> None:
        """The lock says so."""

    def commit(self, packed: Packed, changes: Changes) -> None:
        number = (self._store.value("batch") or 0) + 1
        if packed:
            self._store.write_values({"writing": self._tables.delta_versions()})
            for name, rows in joined(packed):
                self._tables.append(name, rows, self._store.value("writer"), number)
        self._store.write([*changes, *encoded({"batch": number, "writing": None})])

    def take_back(self) -> None:
        noted = self._store.value("writing")
        if noted is not None:
            self._tables.restore(noted)
            self._store.write_values({"writing": None, "writer": str(uuid4())})
        elif self._store.value("writer") is None:
            self._store.write_values({"writer": str(uuid4())})


class InStore:
    """Of a history in an object store. `note`: the batch that the store and the tables have."""

    def __init__(self, store: Store, tables: History, root: ObjectPath) -> None:
        self.log = RunLog(root)
        self._store, self._tables = store, tables
        self.note: Note = self.log.of(store.value("batch"))

    def claim(self) -> None:
        self._add(self.note.next())

    def commit(self, packed: Packed, changes: Changes) -> None:
        tables, rows = dict(joined(packed)), changed(changes)
        note = self.note.next(rows=len(rows), tables=tables)
        self.log.upload_rows(note, rows)
        if tables:
            self.log.upload_tables(note, tables)
        self.log.add(note)
        self.fill(note, tables)
        self._written(note, changes)
        if note.since > max(SMALL, note.size) or note.number - note.base >= MANY:
            self.rebase()

    def take_back(self) -> None:
        """Nothing: it is part of the history, or it is not."""

    def note_forgetting(self, person: str, *, begun: bool) -> None:
        """Notes whom `forget` has begun, or ended, to erase: the hash of a person."""
        others = set(self.note.forgetting) - {person}
        forgetting = tuple(sorted({*others, person} if begun else others))
        self._add(replace(self.note.next(), forgetting=forgetting))

    def _add(self, note: Note) -> None:
        """A batch without rows."""
        self.log.add(note)
        self._written(note, [])

    def fill(self, note: Note, tables: Mapping[str, pa.Table]) -> None:
        """The tables get what a note has for them, unless they have got it. Raises
        HistoryWriteError."""
        with ThreadPoolExecutor(AT_ONCE, "table") as threads:
            done = [threads.submit(self._append, name, rows, note) for name, rows in tables.items()]
        for one in done:
            one.result()
        self.log.end(note)

    def _append(self, name: str, rows: pa.Table, note: Note) -> None:
        """Delta refuses a second commit with this number, made from whatever state."""

        def append() -> None:
            self._tables.made(name)
            self._tables.append(name, rows, note.history, note.number)

        until_first(append)

    def rebase(self) -> None:
        """A note that has all of the fold's rows, as the store has them; what earlier ones speak of
        goes."""
        with scratch(self._store.path.parent) as folder:
            self._store.export(folder / "rows")
            files = sorted((folder / "rows").iterdir())
            values = changed(encoded(self._store.values("")))
            note = replace(
                self.note.next(rows=len(values)), base=self.note.number + 1, files=len(files),
                size=sum(one.stat().st_size for one in files), since=0,
            )  # fmt: skip
            for file, place in zip(files, self.log.whole(note), strict=True):
                place.upload(file)
        self.log.upload_rows(note, values)
        self._add(note)
        self.log.drop_before(note)

    @contextmanager
    def rewriting(self) -> Iterator[None]:
        """In the block the store is changed in place, and then is the base of what follows. Until
        that stands it is nobody's: who opens it makes it again."""
        self._store.write_values({"batch": None})
        yield
        self.rebase()

    def _written(self, note: Note, changes: Changes) -> None:
        self._store.write([*changes, *encoded(note.place)])
        self.note = note


def joined(packed: Packed) -> Iterator[tuple[str, pa.Table]]:
    """Each table's rows in one piece; the pieces go."""
    while packed:
        name = next(iter(packed))
        yield name, pa.concat_tables(packed.pop(name)).combine_chunks()
