"""The tables of the file tier: rows on disk in RocksDB, a bounded cache of entities above.

A key is table, tenant, entity and row name; an entity is read whole, as undecoded bytes, and
a row decoded when it is first touched. Nothing is written before `commit`, which writes all
changed rows, the runner's positions and its counters at once. Once that is on disk, an entity lies
in the cache as one piece of bytes, which takes half the room and a fifth of the time of reading it.
"""

from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec
from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompactionStyle,
    DBCompressionType,
    Options,
    Rdict,
    RdictIter,
    WriteBatch,
)

from streams.errors import ConfigurationError, TurnstoneError
from streams.folds import (
    affect,
    graph,
    index,
    learner,
    memory,
    preferences,
    session_memory,
    session_state,
    states,
    task,
)
from streams.runtime import exchange

CACHE_BYTES = 80_000_000
"""What packed entities may take, about 30,000 open sessions with their users. If fewer fit than
are open at once, each one that speaks again has just been thrown out."""
PACKED, ENTITY, ROW = 300, 1_000, 90
"""Bytes: what a packed entity takes besides its own, one in use without rows, and each row of that
besides its own."""
BLOCK_CACHE = 48_000_000
WRITE_BUFFER = 16_000_000

ROW_FORMAT = 3
"""Raised when a fold keeps its rows otherwise: those of another version cannot be read then."""

ROW_TYPES: dict[str, dict[str, Any]] = {
    "sessions": {
        "h": session_state.Session,
        "c": session_state.Conversation,
        "r": session_state.Facts,
        "m": session_memory.MemoryEntry,
        "t": task.Task,
        "q": task.Step,
        "w": task.Results,
        "o": index.Newest,
        "b": index.Block,
        "O": index.Directory,
    },
    "users": {
        "u": memory.User,
        "s": states.State,
        "p": preferences.Preference,
        "k": graph.Member,
        "x": graph.Member,
        "a": affect.MoodRow,
        "l": learner.Learner,
        "y": learner.Topic,
    },
}
"""The type of a row by its table and the first letter of its name; seen ids (RAW) are bytes."""

VALUES = b"m\0"  # before the names of the runner's own values
RAW = "i"  # rows that are bytes themselves

_encode = msgspec.msgpack.Encoder().encode
_unpack = msgspec.msgpack.Decoder(dict[str, bytes]).decode
_DECODERS = {
    table: {letter: msgspec.msgpack.Decoder(type_).decode for letter, type_ in types.items()}
    for table, types in ROW_TYPES.items()
}


Where = tuple[str, str, str]  # table, tenant, and the session's or user's id


class StoreError(TurnstoneError):
    """The fold's tables cannot be written (nothing is half-written), or not be read."""


class Entity:
    """The rows of one session or user: implements `streams.folds.rows.Rows`.

    Rows that were not touched yet are still bytes. Writes since the last `keep` can be taken back
    by `rollback`; kept ones that are not committed yet are `dirty`.
    """

    __slots__ = (
        "_before",
        "_decoders",
        "_rows",
        "dirty",
        "hashes",
        "key",
        "size",
        "tenant",
        "where",
    )

    def __init__(self, table: str, tenant: str, key: str, encoded: dict[str, bytes]) -> None:
        self.where = (table, tenant, key)
        self.tenant = tenant
        self.key = key
        self.dirty: set[str] = set()
        self.hashes: set[bytes] | None = None
        self._decoders = _DECODERS[table]
        self._rows: dict[str, Any] = encoded
        self._before: dict[str, Any] = {}
        self.size = 0

    def get(self, name: str) -> Any:
        row = self._rows.get(name)
        if type(row) is bytes and name[0] != RAW:
            row = self._rows[name] = self._decoders[name[0]](row)
        return row

    def peek(self, name: str) -> Any:
        row = self._rows.get(name)
        return self._decoders[name[0]](row) if type(row) is bytes and name[0] != RAW else row

    def put(self, name: str, row: Any) -> None:
        rows, before = self._rows, self._before
        if name not in before:
            before[name] = rows.get(name)
        rows[name] = row

    def delete(self, name: str) -> None:
        if self._rows.get(name) is not None:
            self.put(name, None)

    def scan(self, prefix: str) -> Iterator[tuple[str, Any]]:
        names = sorted(name for name in self._rows if name.startswith(prefix))
        return iter([(name, row) for name in names if (row := self.get(name)) is not None])

    def copy(self) -> "Entity":
        """The rows as they are now, for readers: values, which no fold changes."""
        copied = Entity(*self.where, {})
        copied._rows = self._rows.copy()
        return copied

    def keep(self) -> None:
        """The record was applied: its writes stay."""
        if self._before:
            self.dirty.update(self._before)
            self._before.clear()

    def rollback(self) -> None:
        """Takes back all writes since the last `keep`."""
        self._rows.update(self._before)
        self._before.clear()

    def changes(self) -> Iterator[tuple[str, bytes | None]]:
        """What a commit writes: each changed row encoded, None for a deleted one. It stays as
        these bytes, a fifth of what it takes decoded."""
        rows = self._rows
        for name in self.dirty:
            row = rows[name]
            if row is None:
                del rows[name]
                yield name, None
            else:
                encoded = rows[name] = row if type(row) is bytes else _encode(row)
                yield name, encoded
        self.dirty.clear()

    def pack(self) -> bytes:
        """All rows as they are now, as `_unpack` takes them."""
        rows = self._rows.items()
        return _encode(
            {
                name: row if type(row) is bytes else _encode(row)
                for name, row in rows
                if row is not None
            }
        )


class Store:
    """Both tables, and a few small values of the runner's own, in one RocksDB."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._db = open_database(path)
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
            rows = self._read(_prefix(where)) if packed is None else _unpack(packed)
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
        """The entity as it is on disk, for a reader: any thread may ask. It knows its `size`, about
        the bytes it takes in memory. Raises StoreError."""
        where = (table, tenant, key)
        try:
            rows = rows_under(self._db.iter(), _prefix(where))
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None
        entity = Entity(*where, rows)
        entity.size = ENTITY + sum(ROW + len(row) for row in rows.values())
        return entity

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

    def _read(self, prefix: bytes) -> dict[str, bytes]:
        try:
            return rows_under(self._cursor, prefix)
        except Exception as error:  # rocksdict raises bare Exceptions
            raise self._unreadable(error) from None

    def _unreadable(self, error: Exception) -> StoreError:
        return StoreError(
            f"{self._path}: the fold's tables cannot be read: {error}; take the folder from a "
            "copy, or fold the same files into a new history"
        )

    def commit(self, values: dict[str, Any]) -> None:
        """Writes all changed rows and the given values at once; a None value is removed."""
        self.write(self.prepare(values))
        self.written()

    def prepare(self, values: dict[str, Any]) -> WriteBatch:
        """All changed rows and the given values, encoded, for `write`. What it holds stays in use
        until `written`, so folding may go on meanwhile."""
        batch = WriteBatch(raw_mode=True)
        for entity in self._changed:
            prefix = _prefix(entity.where)
            for name, encoded in entity.changes():
                _put(batch, prefix + name.encode(), encoded)
        _put_values(batch, values)
        self._changed.clear()
        self._kept.clear()
        return batch

    def write(self, batch: WriteBatch) -> None:
        """Writes a prepared batch at once; may run in another thread. Raises StoreError."""
        try:
            self._db.write(batch)
        except Exception as error:
            raise StoreError(f"{self._path}: {error}; make room and run again") from None
        # an iterator sees the store as it was when made, and steps over all that came since
        self._cursor = self._db.iter()

    def written(self) -> None:
        """The prepared batch is on disk: what has not changed since is packed, and what is beyond
        the cache's bound goes."""
        used, self._used = self._used, {}
        for where, entity in used.items():
            if entity in self._changed:
                self._used[where] = entity
            else:
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
        batch = WriteBatch(raw_mode=True)
        _put_values(batch, values)
        self.write(batch)

    def value(self, name: str) -> Any:
        """One of the runner's own values, or None."""
        try:
            encoded = self._db.get(VALUES + name.encode())
        except Exception as error:
            raise self._unreadable(error) from None
        return None if encoded is None else msgspec.msgpack.decode(encoded)

    def values(self, prefix: str) -> dict[str, Any]:
        """The runner's own values whose names begin so."""
        whole = VALUES + prefix.encode()
        found = self._read(whole)
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
        exchange.export(cursor, folder, VALUES)

    def ingest(self, files: list[Path]) -> None:
        """Takes over what another store has exported; the files go. Raises StoreError."""
        try:
            exchange.ingest(self._db, files)
        except Exception as error:
            raise StoreError(f"{self._path}: {error}; make room and run again") from None
        self._cursor = self._db.iter()

    def close(self) -> None:
        """Closes the database. What `write` has written is safe whatever happens here."""
        del self._cursor
        with suppress(Exception):
            self._db.close()


def rows_under(cursor: RdictIter, prefix: bytes) -> dict[str, bytes]:
    """The rows whose keys begin so, by what follows.

    Raises what rocksdict raises of a block that cannot be read: a bare Exception.
    """
    rows: dict[str, bytes] = {}
    length = len(prefix)
    cursor.seek(prefix)
    while cursor.valid():
        key = cursor.key()
        if not key.startswith(prefix):
            return rows
        rows[key[length:].decode()] = cursor.value()
        cursor.next()
    cursor.status()  # an unreadable block looks like the end
    return rows


def _prefix(where: Where) -> bytes:
    table, tenant, key = where
    return f"{table[0]}\0{tenant}\0{key}\0".encode()


def _put_values(batch: WriteBatch, values: dict[str, Any]) -> None:
    for name, value in values.items():
        _put(batch, VALUES + name.encode(), None if value is None else _encode(value))


def _put(batch: WriteBatch, key: bytes, value: bytes | None) -> None:
    if value is None:
        batch.delete(key)
    else:
        batch.put(key, value)


def open_database(
    path: Path, write_buffer: int = WRITE_BUFFER, block_cache: int = BLOCK_CACHE
) -> Rdict:
    """A database made and read in our way; both sizes in bytes, up to two write buffers are in use.

    Raises what rocksdict raises: a bare Exception.
    """
    made = _options(write_buffer, block_cache)
    # said of the column family as well: else one that exists is read with the options it was
    # written with, which do not hold the cache, and 8 MB of it for want of any
    return Rdict(str(path), made, column_families={"default": made})


def _options(write_buffer: int, block_cache: int) -> Options:
    made = Options(raw_mode=True)
    made.create_if_missing(True)
    made.set_write_buffer_size(write_buffer)
    made.set_max_write_buffer_number(2)
    made.set_compression_type(DBCompressionType.lz4())
    # Rows of a session that goes on are written again and again: in levels, compaction would take
    # the more time, the larger the store is (docs/decisions.md).
    made.set_compaction_style(DBCompactionStyle.universal())
    made.set_max_open_files(256)
    made.set_keep_log_file_num(2)
    table = BlockBasedOptions()
    table.set_block_cache(Cache(block_cache))
    # Rows are sought by prefix, where a filter is of no use. An index in one piece is larger than
    # a shard of the cache takes: it would be read and unpacked again for each entity.
    table.set_index_type(BlockBasedIndexType.two_level_index_search())
    table.set_pin_top_level_index_and_filter(True)
    table.set_cache_index_and_filter_blocks(True)
    made.set_block_based_table_factory(table)
    return made
