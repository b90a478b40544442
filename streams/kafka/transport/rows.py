"""Store of a lane's rows between batches: in memory, or on disk (`disk_rows`).

Changelog keys equal the keys of the file tier's store: first letter of the table, tenant, entity
and row name, separated by NUL. The part before the last NUL is the entity's prefix.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from itertools import islice
from time import monotonic, sleep
from typing import Protocol, TypeVar

import msgspec
from cramjam import lz4

from streams.kafka.transport.marker import TablePosition

Row = tuple[bytes, bytes | None]
"""A changelog row: its key, and its value or None if deleted."""

WARM = 4_096
"""Unpacked entities in memory; equal to the number that a table keeps decoded."""
COOLED = 64
"""Entities packed per step: about 2 ms."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[bytes, bytes]).decode


def _pack(rows: dict[bytes, bytes]) -> bytes:
    return bytes(lz4.compress_block(_encode(rows)))


def _unpack(packed: bytes) -> dict[bytes, bytes]:
    return _decode(lz4.decompress_block(packed))


T = TypeVar("T")

LONG = 0.1
"""Seconds of an open call after which the event loop gets equal time."""


class _OpenQueue:
    """Opens one store at a time in one thread: rocksdict blocks all other threads while it opens a
    store, which waits for the disk five times. On a slow disk the event loop gets as much time for
    heartbeats and requests after each."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "open")
        self._next = 0.0

    def take(self, call: Callable[[], T]) -> T:
        """Calls it; runs in that thread."""
        sleep(max(0.0, self._next - monotonic()))
        started = monotonic()
        try:
            return call()
        finally:
            ended = monotonic()
            self._next = ended + (ended - started if ended - started > LONG else 0.0)


_open_queue = _OpenQueue()
_closing = ThreadPoolExecutor(4, "close")


async def open_store(call: Callable[[], T]) -> T:
    """Runs a method that opens a store (`RowStore.open`, `clear`) and returns its result."""
    return await _finished(_open_queue.thread, partial(_open_queue.take, call))


async def close_stores(*stores: "RowStore") -> None:
    """Closes stores concurrently."""

    async def close(store: "RowStore") -> None:
        await store.rest()
        await _finished(_closing, store.close)

    await asyncio.gather(*map(close, stores))


async def _finished(threads: Executor, call: Callable[[], T]) -> T:
    """Waits for the thread even if the caller is cancelled: a store that is being opened cannot be
    closed."""
    job = threads.submit(call)
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        while not job.done():
            await asyncio.sleep(0.01)
        raise


class RowStore(Protocol):
    """A lane's committed rows as bytes, with their changelog position. On an event loop, call
    `open` and `clear` through `open_store`, `close` through `close_stores`: they wait for the disk.
    """

    entities: int
    """Maximum number of decoded entities above the store."""
    has_keys: bool
    """Whether rows are encrypted (`encryption`)."""

    def open(self) -> TablePosition | None:
        """Returns the position of the stored rows, or None if already open.

        Raises:
            StoreError: unreadable, most likely a full disk or missing permission.
            OSError: another process has it open; retry.
        """
        ...

    def read(self, prefix: bytes) -> dict[str, bytes]:
        """Rows of an entity by name, without uncommitted ones."""
        ...

    def named(self, name: bytes) -> Iterator[Row]:
        """The row of that name of every entity that existed when the store was opened."""
        ...

    def keys(self, after: bytes) -> Iterator[bytes]:
        """Prefixes of all entities with rows that are greater than `after`, in order."""
        ...

    def put(self, rows: Iterable[Row]) -> None:
        """Adds rows of a committed transaction, in changelog order."""
        ...

    def commit(self, standing: TablePosition) -> None:
        """Atomically stores the rows since the last commit and their position."""
        ...

    async def rest(self) -> None:
        """Between two commits: does pending disk work in a thread."""
        ...

    def settle(self) -> None:
        """The restore is complete and no entity is in use."""
        ...

    def encrypted(self, rows: list[Row]) -> list[Row]:
        """Rows of new changes as the changelog and `put` take them."""
        ...

    def decrypted(self, value: bytes | None) -> bytes | None:
        """A row's value as `read` returns it."""
        ...

    def erased(self, prefixes: Iterable[bytes]) -> Sequence[bytes]:
        """Those of these entities with keys that were destroyed since the last call."""
        ...

    def erased_at(self, prefix: bytes) -> int | None:
        """Time of the newest destruction of an entity's key, in microseconds since 1970."""
        ...

    def clear(self) -> None:
        """Deletes all rows."""
        ...

    def close(self) -> None:
        """Closes the store; committed rows stay on disk."""
        ...


class PlainRows:
    """The part of `RowStore` that concerns keys, for stores without."""

    has_keys = False

    def encrypted(self, rows: list[Row]) -> list[Row]:
        return rows

    def decrypted(self, value: bytes | None) -> bytes | None:
        return value

    def erased(self, prefixes: Iterable[bytes]) -> Sequence[bytes]:
        return ()

    def erased_at(self, prefix: bytes) -> int | None:
        return None


class MemoryRows(PlainRows):
    """Rows of entities in use as dictionaries; all others packed and compressed: half the bytes,
    and one object instead of fifty."""

    entities = WARM

    def __init__(self) -> None:
        self._warm: dict[bytes, dict[bytes, bytes]] = {}
        self._packed: dict[bytes, bytes] = {}
        self._opened = False

    def __len__(self) -> int:
        return len(self._packed) + sum(1 for rows in self._warm.values() if rows)

    def open(self) -> TablePosition | None:
        if self._opened:
            return None
        self._opened = True
        return TablePosition()

    def read(self, prefix: bytes) -> dict[str, bytes]:
        rows = self._warm.get(prefix)
        if rows is None:
            packed = self._packed.get(prefix)
            rows = {} if packed is None else _unpack(packed)
        return {name.decode(): row for name, row in rows.items()}

    def named(self, name: bytes) -> Iterator[Row]:
        return iter(())

    def keys(self, after: bytes) -> Iterator[bytes]:
        warm = [prefix for prefix, rows in self._warm.items() if rows]
        # in RocksDB's order: a NUL follows each
        return iter(sorted(prefix for prefix in (*warm, *self._packed) if prefix > after))

    def put(self, rows: Iterable[Row]) -> None:
        warm = self._warm
        for key, value in rows:
            prefix, _, name = key.rpartition(b"\0")
            entity_rows = warm.get(prefix)
            if entity_rows is None:
                entity_rows = warm[prefix] = self._warmed(prefix)
            if value is None:
                entity_rows.pop(name, None)
            else:
                entity_rows[name] = value

    def _warmed(self, prefix: bytes) -> dict[bytes, bytes]:
        packed = self._packed.pop(prefix, None)
        return {} if packed is None else _unpack(packed)

    def commit(self, standing: TablePosition) -> None:
        """Packs the oldest unpacked entities if there are too many; only a few at a time, since a
        server's requests wait for it."""
        if (many := len(self._warm) - WARM) > 0:
            self._cool(many + COOLED)

    async def rest(self) -> None:
        """Does nothing."""

    def settle(self) -> None:
        self._cool(len(self._warm))

    def _cool(self, count: int) -> None:
        for prefix in list(islice(self._warm, count)):
            rows = self._warm.pop(prefix)
            if rows:
                self._packed[prefix] = _pack(rows)

    def clear(self) -> None:
        self._warm, self._packed = {}, {}

    def close(self) -> None:
        """Does nothing: memory is freed with the lane."""
