"""The tables of the file tier: rows on disk in RocksDB, a bounded cache of entities above.

A key is table, tenant, entity and row name; an entity is read whole. Nothing is written before
`commit`, which writes all changed rows, the runner's positions and its counters at once. Once that
is on disk, an entity lies in the cache as one piece of bytes, which takes half the room and a fifth
of the time of reading it.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from rocksdict import WriteBatch

from streams.errors import ConfigurationError
from streams.files import sst_files
from streams.files.database import (
    WRITE_BUFFER,
    create_database,
    is_full,
    keys_after,
    open_database,
    rows_named,
    rows_under,
)
from streams.folds.session_state import HEADER
from streams.pipeline.entity import Entity, Where, unpack
from streams.pipeline.ports import StoreError

CACHE_BYTES = 80_000_000
"""What packed entities may take, about 30,000 open sessions with their users. If fewer fit than
are open at once, each one that speaks again has just been thrown out."""
PACKED = 300
"""Bytes: what a packed entity takes besides its own."""

VALUES = b"m\0"  # before the names of the runner's own values

Changes = list[tuple[bytes, bytes | None]]
"""Rows and values by their keys, as they are to be; None: it goes."""

_encode = msgspec.msgpack.Encoder().encode


class Store:
    """Both tables, and a few small values of the runner's own, in one RocksDB."""

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            create_database(path)
            self._db = open_database(path)
        except OSError as error:
            raise StoreError(f"{path}: {error.strerror or error}") from None
        except Exception as error:  # rocksdict raises bare Exceptions
            if "IO error" in str(error) and "lock" not in str(error).lower():
                raise StoreError(f"{path}: {error}") from None
            raise ConfigurationError(
                f"{path}: the fold's tables cannot be opened: {error}"
            ) from None
        self._cursor = self._db.iter()
        self._used: dict[Where, Entity] = {}  # since what was written last
        self._packed: dict[Where, bytes] = {}  # those of the oldest commits first
        self._packed_bytes = 0
        self._changed: dict[Entity, None] = {}
        self._kept: dict[Entity, None] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        """The entity's rows, read from disk if they are not at hand."""
        where = (table, tenant, key)
        entity = self._used.get(where)
        if entity is None:
            packed = self._take_packed(where)
            rows = self._read(_prefix(where)) if packed is None else unpack(packed)
            entity = self._used[where] = Entity(*where, rows)
        return entity

    @property
    def changed(self) -> int:
        """How many entities the next commit writes."""
        return len(self._changed)

    def keep(self, entity: Entity) -> None:
        """A record was applied: what it wrote goes into the next commit."""
        entity.keep()
        if entity.dirty:
            self._changed[entity] = self._kept[entity] = None

    def take_kept(self) -> list[Entity]:
        """The entities whose writes were kept since this was last asked, or since `prepare`."""
        kept, self._kept = self._kept, {}
        return list(kept)

    def committed(self, table: str, tenant: str, key: str) -> Entity:
        """The entity as it is on disk, for a reader: any thread may ask. Raises StoreError."""
        where = (table, tenant, key)
        try:
            rows = rows_under(self._db.iter(), _prefix(where))
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None
        return Entity(*where, rows)

    def entities(self, table: str) -> Iterator[tuple[str, str]]:
        """(tenant, key) of every entity on disk."""
        start = table[0].encode() + b"\0"
        last: bytes | None = None
        for key in self._db.keys(from_key=start):
            assert isinstance(key, bytes)
            if not key.startswith(start):
                break
            where = key.rsplit(b"\0", 1)[0]
            if where != last:
                last = where
                _, tenant, name = where.split(b"\0")
                yield tenant.decode(), name.decode()

    def keys(self, after: bytes) -> Iterator[bytes]:
        """What the keys of every entity on disk begin with, from behind one on, in order. Raises
        StoreError."""
        try:
            for where in keys_after(self._db.iter(), after):
                if not where.startswith(VALUES[:1]):
                    yield where
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def rows_of(self, where: bytes) -> dict[str, bytes]:
        """The rows whose keys begin so, by name. Raises StoreError."""
        return self._read(where + b"\0")

    def rewrite(self, rows: Iterable[tuple[bytes, bytes | None]], values: dict[str, Any]) -> None:
        """Writes rows by their keys and values at once. No entity may be in use. Raises
        StoreError."""
        self.write([*rows, *encoded(values)])

    def heads(self, table: str, after: str = "") -> Iterator[tuple[str, tuple[str, str], bytes]]:
        """The row `h` of every entity on disk that is not cold: where to go on after it, its tenant
        and key, the row. Raises StoreError."""
        start = table[0].encode() + b"\0"
        try:
            for where, row in rows_named(self._db.iter(), HEADER.encode(), after.encode() or start):
                if not where.startswith(start):
                    return
                _, tenant, key = where.decode().split("\0")
                yield where.decode(), (tenant, key), row
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def cool(self, entity: Entity) -> None:
        """The next commit stores it as one compressed row."""
        entity.cool(compressed=True)
        self._changed[entity] = None

    def _read(self, prefix: bytes) -> dict[str, bytes]:
        try:
            return rows_under(self._cursor, prefix)
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self.path}: the fold's tables cannot be read: {error}; take the folder from a "
            "copy, or fold the same files into a new history"
        )

    def commit(self, values: dict[str, Any]) -> None:
        """Writes all changed rows and the given values at once; a None value is removed."""
        self.write(self.prepare(values))
        self.written()

    def prepare(self, values: dict[str, Any]) -> Changes:
        """All changed rows and the given values, encoded, for `write`. What it holds stays in use
        until `written`, so folding may go on meanwhile."""
        changes: Changes = []
        for entity in self._changed:
            prefix = _prefix(entity.where)
            changes += [(prefix + name.encode(), row) for name, row in entity.changes()]
        self._changed.clear()
        self._kept.clear()
        return [*changes, *encoded(values)]

    def write(self, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes what was prepared at once; may run in another thread. Raises StoreError."""
        batch = WriteBatch(raw_mode=True)
        for key, value in changes:
            if value is None:
                batch.delete(key)
            else:
                batch.put(key, value)
        try:
            if is_full(self._db, WRITE_BUFFER):
                self._db.flush()
            self._db.write(batch)
        except Exception as error:
            raise StoreError(f"{self.path}: {error}; free disk space and run it again") from None
        # an iterator sees the store as it was when made, and steps over all that came since
        self._cursor = self._db.iter()

    def written(self) -> None:
        """The prepared batch is on disk: what has not changed since is packed, and what is beyond
        the cache's bound goes."""
        used, self._used = self._used, {}
        for where, entity in used.items():
            if entity in self._changed:
                self._used[where] = entity
            elif entity.cold is None:  # others are seldom asked for
                packed = self._packed[where] = entity.pack()
                self._packed_bytes += PACKED + len(packed)
        for where in list(self._packed):
            if self._packed_bytes <= CACHE_BYTES:
                break
            self._take_packed(where)

    def _take_packed(self, where: Where) -> bytes | None:
        packed = self._packed.pop(where, None)
        if packed is not None:
            self._packed_bytes -= PACKED + len(packed)
        return packed

    def write_values(self, values: dict[str, Any]) -> None:
        """Writes values of the runner's own alone; changed rows wait for the next commit."""
        self.write(encoded(values))

    def value(self, name: str) -> Any:
        """One of the runner's own values, or None."""
        try:
            encoded = self._db.get(VALUES + name.encode())
        except Exception as error:
            raise self._unreadable(error) from None
        return None if encoded is None else msgspec.msgpack.decode(encoded)

    def values(self, prefix: str) -> dict[str, Any]:
        """The runner's own values whose names begin so; any thread may ask. Raises StoreError."""
        try:
            found = rows_under(self._db.iter(), VALUES + prefix.encode())
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None
        return {prefix + rest: msgspec.msgpack.decode(value) for rest, value in found.items()}

    def adopt(self, entity: Entity) -> None:
        """Takes over an entity that was folded elsewhere; the next commit writes it."""
        entity.keep()
        self._take_packed(entity.where)
        self._used[entity.where] = entity
        self._changed[entity] = None

    def erase(self, table: str, tenant: str, key: str) -> None:
        """Removes an entity for good: the bytes leave the disk."""
        prefix = _prefix((table, tenant, key))
        for name in self._read(prefix):
            self._db.delete(prefix + name.encode())
        self._cursor = self._db.iter()
        self._used.pop((table, tenant, key), None)
        self._take_packed((table, tenant, key))

    def compact(self) -> None:
        """Rewrites the files, so that nothing deleted is left in them."""
        self._db.flush()
        self._db.compact_range(None, None)

    def export(self, folder: Path) -> None:
        """Writes all rows into files that `ingest` takes; not the runner's values."""
        cursor = self._db.iter()
        sst_files.export(cursor, folder, VALUES)

    def ingest(self, files: list[Path]) -> None:
        """Takes over what another store has exported; the files go. Raises StoreError."""
        try:
            sst_files.ingest(self._db, files)
        except Exception as error:
            raise StoreError(f"{self.path}: {error}; free disk space and run it again") from None
        self._cursor = self._db.iter()

    def close(self) -> None:
        """Closes the database. What `write` has written is safe whatever happens here."""
        del self._cursor
        with suppress(Exception):
            self._db.close()


def _prefix(where: Where) -> bytes:
    table, tenant, key = where
    return f"{table[0]}\0{tenant}\0{key}\0".encode()


def encoded(values: dict[str, Any]) -> Changes:
    """Values of the runner's own, for `Store.write`."""
    return [
        (VALUES + name.encode(), None if value is None else _encode(value))
        for name, value in values.items()
    ]
