"""Tables of the file tier: rows in RocksDB, with a bounded cache of entities.

A key is table, tenant, entity and row name; an entity is read as a whole. `commit` writes all
changed rows, the runner's positions and its counters atomically. Then the cache stores each entity
as one byte string, which takes half the memory and a fifth of the time of reading it.
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
from streams.pipeline.interfaces import StoreError

CACHE_BYTES = 80_000_000
"""Limit of packed entities: about 30,000 open sessions with their users. With more open sessions
the cache would evict each before its next use."""
PACKED = 300
"""Overhead of a packed entity in bytes."""

VALUES = b"m\0"  # prefix of the runner's values

Changes = list[tuple[bytes, bytes | None]]
"""Key -> new row or value, or None to delete it."""

_encode = msgspec.msgpack.Encoder().encode


class Store:
    """Both tables, and a few small values of the runner, in one RocksDB."""

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
        self._used: dict[Where, Entity] = {}  # since the last commit
        self._packed: dict[Where, bytes] = {}  # oldest commits first
        self._packed_bytes = 0
        self._changed: dict[Entity, None] = {}
        self._kept: dict[Entity, None] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        """The entity's rows, from the cache or from disk. Raises StoreError."""
        location = (table, tenant, key)
        entity = self._used.get(location)
        if entity is None:
            packed = self._take_packed(location)
            rows = self._read(_prefix(location)) if packed is None else unpack(packed)
            entity = self._used[location] = Entity(*location, rows)
        return entity

    @property
    def changed(self) -> int:
        """Number of entities that the next commit writes."""
        return len(self._changed)

    def keep(self, entity: Entity) -> None:
        """Accepts the writes of an applied record for the next commit."""
        entity.keep()
        if entity.dirty:
            self._changed[entity] = self._kept[entity] = None

    def take_kept(self) -> list[Entity]:
        """Entities with writes accepted since the last call, or since `prepare`."""
        entities, self._kept = self._kept, {}
        return list(entities)

    def committed(self, table: str, tenant: str, key: str) -> Entity:
        """The entity as committed, for readers in any thread. Raises StoreError."""
        location = (table, tenant, key)
        try:
            rows = rows_under(self._db.iter(), _prefix(location))
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None
        return Entity(*location, rows)

    def entities(self, table: str) -> Iterator[tuple[str, str]]:
        """(tenant, key) of every entity on disk."""
        start = table[0].encode() + b"\0"
        last: bytes | None = None
        for key in self._db.keys(from_key=start):
            assert isinstance(key, bytes)
            if not key.startswith(start):
                break
            prefix = key.rsplit(b"\0", 1)[0]
            if prefix != last:
                last = prefix
                _, tenant, name = prefix.split(b"\0")
                yield tenant.decode(), name.decode()

    def keys(self, after: bytes) -> Iterator[bytes]:
        """Key prefixes of the entities on disk greater than `after`, in order. Raises
        StoreError."""
        try:
            for prefix in keys_after(self._db.iter(), after):
                if not prefix.startswith(VALUES[:1]):
                    yield prefix
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def rows_of(self, prefix: bytes) -> dict[str, bytes]:
        """Rows with a key prefix, by name. Raises StoreError."""
        return self._read(prefix + b"\0")

    def rewrite(self, rows: Iterable[tuple[bytes, bytes | None]], values: dict[str, Any]) -> None:
        """Writes rows and values atomically, while no entity is in use. Raises StoreError."""
        self.write([*rows, *encoded(values)])

    def heads(self, table: str, after: str = "") -> Iterator[tuple[str, tuple[str, str], bytes]]:
        """The row `h` of each entity on disk that is not cold: cursor for `after`, (tenant, key),
        row. Raises StoreError."""
        start = table[0].encode() + b"\0"
        try:
            for prefix, row in rows_named(
                self._db.iter(), HEADER.encode(), after.encode() or start
            ):
                if not prefix.startswith(start):
                    return
                _, tenant, key = prefix.decode().split("\0")
                yield prefix.decode(), (tenant, key), row
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def cool(self, entity: Entity) -> None:
        """Lets the next commit store the entity as one compressed row."""
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
        """Writes all changed rows and the values atomically (None: the value is removed)."""
        self.write(self.prepare(values))
        self.written()

    def prepare(self, values: dict[str, Any]) -> Changes:
        """All changed rows and the values, encoded, for `write`. Their entities stay in use until
        `written`, so folding can continue."""
        changes: Changes = []
        for entity in self._changed:
            prefix = _prefix(entity.where)
            changes += [(prefix + name.encode(), row) for name, row in entity.changes()]
        self._changed.clear()
        self._kept.clear()
        return [*changes, *encoded(values)]

    def write(self, changes: Iterable[tuple[bytes, bytes | None]]) -> None:
        """Writes prepared changes atomically; may run in another thread. Raises StoreError."""
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
        # an iterator is a snapshot of the store
        self._cursor = self._db.iter()

    def written(self) -> None:
        """Called when the prepared batch is on disk: packs unchanged entities, and evicts beyond
        the cache's limit."""
        used, self._used = self._used, {}
        for location, entity in used.items():
            if entity in self._changed:
                self._used[location] = entity
            elif entity.cold is None:  # cold entities are rarely used
                packed = self._packed[location] = entity.pack()
                self._packed_bytes += PACKED + len(packed)
        for location in list(self._packed):
            if self._packed_bytes <= CACHE_BYTES:
                break
            self._take_packed(location)

    def _take_packed(self, location: Where) -> bytes | None:
        packed = self._packed.pop(location, None)
        if packed is not None:
            self._packed_bytes -= PACKED + len(packed)
        return packed

    def write_values(self, values: dict[str, Any]) -> None:
        """Writes only values of the runner; changed rows wait for the next commit."""
        self.write(encoded(values))

    def value(self, name: str) -> Any:
        """A value of the runner, or None."""
        try:
            encoded = self._db.get(VALUES + name.encode())
        except Exception as error:
            raise self._unreadable(error) from None
        return None if encoded is None else msgspec.msgpack.decode(encoded)

    def values(self, prefix: str) -> dict[str, Any]:
        """The runner's values with a prefix, from any thread. Raises StoreError."""
        try:
            rows = rows_under(self._db.iter(), VALUES + prefix.encode())
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None
        return {prefix + name: msgspec.msgpack.decode(value) for name, value in rows.items()}

    def adopt(self, entity: Entity) -> None:
        """Adds an entity that was folded elsewhere; the next commit writes it."""
        entity.keep()
        self._take_packed(entity.where)
        self._used[entity.where] = entity
        self._changed[entity] = None

    def erase(self, table: str, tenant: str, key: str) -> None:
        """Permanently removes an entity; `compact` removes its bytes from disk."""
        prefix = _prefix((table, tenant, key))
        for name in self._read(prefix):
            self._db.delete(prefix + name.encode())
        self._cursor = self._db.iter()
        self._used.pop((table, tenant, key), None)
        self._take_packed((table, tenant, key))

    def compact(self) -> None:
        """Rewrites the files without deleted data."""
        self._db.flush()
        self._db.compact_range(None, None)

    def export(self, folder: Path) -> None:
        """Writes all rows, without the runner's values, into files for `ingest`."""
        cursor = self._db.iter()
        sst_files.export(cursor, folder, VALUES)

    def ingest(self, files: list[Path]) -> None:
        """Ingests the files that another store exported, and removes them. Raises StoreError."""
        try:
            sst_files.ingest(self._db, files)
        except Exception as error:
            raise StoreError(f"{self.path}: {error}; free disk space and run it again") from None
        self._cursor = self._db.iter()

    def close(self) -> None:
        """Closes the database. Written data is durable even if this fails."""
        del self._cursor
        with suppress(Exception):
            self._db.close()


def _prefix(location: Where) -> bytes:
    table, tenant, key = location
    return f"{table[0]}\0{tenant}\0{key}\0".encode()


def encoded(values: dict[str, Any]) -> Changes:
    """Values of the runner, for `Store.write`."""
    return [
        (VALUES + name.encode(), None if value is None else _encode(value))
        for name, value in values.items()
    ]
