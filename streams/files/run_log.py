"""The log of a history in an object store that `run` writes: `_run` of its prefix.

A batch is one number. Its note, `00000007.json`, is made on condition that nobody else has made
that number: then the batch is part of the history, and before it is not. What the note speaks of
was uploaded before, under a name of its own: the rows of the fold that change, and the rows that
the tables get. The latter go once the tables have them. So whoever opens the history can end the
newest batch, and make the fold's tables again: from the newest note that has all of their rows, its
`base`, and what has changed since.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import uuid4

import msgspec
import pyarrow as pa

from sinks import numbered
from sinks.object_store import ObjectPath
from sinks.root import RUN
from streams.errors import ConfigurationError
from streams.files.store import Changes

FIRST = 1
ROWS, TABLES, WHOLE = "rows", "tables", "sst"
OBJECT = re.compile(r"([0-9]{8})-([0-9a-f]{32})\.[a-z0-9.]+")
COLUMNS = pa.schema([("key", pa.binary()), ("value", pa.binary())])
WAY_OUT = (
    "put the whole prefix back from a backup of one moment, or fold the same files into another "
    "prefix"
)
LOST = (
    "which the fold's tables are made of: call this on the machine that wrote last, with its store "
    f"folder, or {WAY_OUT}"
)
ZSTD = pa.ipc.IpcWriteOptions(compression="zstd")


class Note(msgspec.Struct, frozen=True, kw_only=True):
    """One batch. `history` is the id of the first, which tells one history from another.

    `rows`: bytes of the fold's rows that it changes; `tables`: whether tables get rows. `base`: the
    newest batch up to this one that has all of the fold's rows, in so many `files` of `size` bytes
    together; `since`: bytes of changed rows behind it. `forgetting`: hashes of whom `forget` has
    begun to erase. `gave`: table -> the last batch that gave it rows, as far as notes have said so
    (those of November 2026 and before did not).
    """

    number: int
    id: str
    history: str
    base: int
    rows: int = 0
    tables: bool = False
    files: int = 0
    size: int = 0
    since: int = 0
    forgetting: tuple[str, ...] = ()
    gave: dict[str, int] = {}

    @property
    def place(self) -> dict[str, Any]:
        """Values of a store that has all up to this one."""
        return {"batch": self.number, "note": self.id}

    def next(self, *, rows: int = 0, tables: Iterable[str] = ()) -> "Note":
        """The one that follows it. `tables`: those that get rows."""
        number = self.number + 1
        gave = dict.fromkeys(tables, number)
        return msgspec.structs.replace(
            self, number=number, id=uuid4().hex, rows=rows, tables=bool(gave),
            since=self.since + rows, gave={**self.gave, **gave},
        )  # fmt: skip


class Overtaken(ConfigurationError):  # noqa: N818 - what happened
    """Another process has gone on with the history."""


class RunLog:
    """Notes, and what they speak of."""

    def __init__(self, root: ObjectPath) -> None:
        self.root = root
        self._place = root / RUN

    def read(self, number: int) -> Note | None:
        """The note of that number, if there is one. Raises StoreError, ConfigurationError."""
        file = self._place / numbered.name_of(number)
        try:
            return msgspec.json.decode(file.read_bytes(), type=Note)
        except FileNotFoundError:
            return None
        except msgspec.MsgspecError as error:
            raise ConfigurationError(f"{file}: not readable: {error}") from None

    def of(self, number: int) -> Note:
        """The note of a number that was made."""
        note = self.read(number)
        if note is None:
            file = self._place / numbered.name_of(number)
            raise ConfigurationError(f"{file}: is missing, {LOST}")
        return note

    def newest(self, known: Note | None = None) -> Note:
        """The newest note, if there is one; `known` is one that there is."""
        if known is None:
            known = self.of(self._highest() or FIRST)
        while (later := self.read(known.number + 1)) is not None:
            known = later
        return known

    def check_no_notes(self) -> None:
        """Raises ConfigurationError where there are notes, though the first one is not."""
        if self._highest() > FIRST:
            file = self._place / numbered.name_of(FIRST)
            raise ConfigurationError(f"{file}: is missing; {WAY_OUT}")

    def _highest(self) -> int:
        return numbered.newest(one.rpartition("/")[2] for one in self._place.sizes())

    def add(self, note: Note) -> None:
        """From now on the batch is part of the history. Raises Overtaken where another has taken
        the number."""
        file, text = self._place / numbered.name_of(note.number), msgspec.json.encode(note).decode()
        if not file.create_text(text) and file.read_text() != text:  # else our answer was lost
            raise Overtaken(
                f"{self.root}: another turnfold has written this history meanwhile; what this one "
                "had not committed is not in it: wait for the other, then call this again"
            )

    def upload_rows(self, note: Note, rows: bytes) -> None:
        """What `changed` has packed."""
        self._object(note, ROWS).write_bytes(rows)

    def rows(self, note: Note) -> Changes:
        """Raises FileNotFoundError where another has made all rows anew."""
        table = _read(self._object(note, ROWS).read_bytes()) if note.rows else COLUMNS.empty_table()
        return list(zip(*(table[name].to_pylist() for name in COLUMNS.names), strict=True))

    def upload_tables(self, note: Note, tables: Mapping[str, pa.Table]) -> None:
        """What tables are to get."""
        packed = {name: _packed(rows) for name, rows in tables.items()}
        self._object(note, TABLES).write_bytes(msgspec.msgpack.encode(packed))

    def tables(self, note: Note) -> dict[str, pa.Table]:
        """What tables are to get, unless all have got it."""
        if not note.tables:
            return {}
        try:
            packed = self._object(note, TABLES).read_bytes()
        except FileNotFoundError:
            return {}
        found: dict[str, bytes] = msgspec.msgpack.decode(packed)
        return {name: _read(rows) for name, rows in found.items()}

    def end(self, note: Note) -> None:
        """All tables have got what they were to."""
        if note.tables:
            self._object(note, TABLES).unlink()

    def whole(self, note: Note) -> list[ObjectPath]:
        """The files that have all of the fold's rows, of a note that is a base."""
        return [self._object(note, f"{at:06}.{WHOLE}") for at in range(note.files)]

    def missing(self, newest: Note) -> list[str]:
        """The objects that are not there of those that a new store is made of: the notes from the
        newest base on, and what they speak of."""
        there = self._place.sizes().keys()
        needed = [self._place / numbered.name_of(number) for number in (FIRST, newest.base)]
        for number in range(newest.base, newest.number + 1):
            note = self.read(number)
            if note is None:
                needed.append(self._place / numbered.name_of(number))
                continue
            needed += self.whole(note) if number == newest.base else []
            needed += [self._object(note, ROWS)] if note.rows else []
        gone = sorted({str(one) for one in needed} - there)
        is_moved = gone and self.newest(newest).base != newest.base  # and older objects deleted
        return [] if is_moved else gone

    def drop_before(self, note: Note) -> None:
        """Deletes what earlier notes speak of, and what was uploaded for notes that nobody can make
        any more."""
        self._place.unlink_all(
            address
            for address in self._place.sizes()
            if (found := OBJECT.fullmatch(address.rpartition("/")[2]))
            and (
                int(found[1]) < note.number
                or (int(found[1]) == note.number and found[2] != note.id)
            )
        )

    def _object(self, note: Note, what: str) -> ObjectPath:
        return self._place / f"{note.number:08}-{note.id}.{what}"


def changed(changes: Iterable[tuple[bytes, bytes | None]]) -> bytes:
    """Changed rows as one object; None: the row is gone."""
    some = list(changes)
    columns = [pa.array([row[at] for row in some], pa.binary()) for at in (0, 1)]
    return _packed(pa.Table.from_arrays(columns, schema=COLUMNS))


def _packed(table: pa.Table) -> bytes:
    out = pa.BufferOutputStream()
    with pa.ipc.new_stream(out, table.schema, options=ZSTD) as writer:
        writer.write_table(table)
    return out.getvalue().to_pybytes()


def _read(packed: bytes) -> Any:
    return pa.ipc.open_stream(packed).read_all()
