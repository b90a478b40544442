"""Where a lane's rows lie between batches: in memory, or on disk (`disk_rows`).

A changelog key is that of the file tier's store: first letter of the table, tenant, entity and
row name, NUL between them. What comes before the last NUL is the entity's prefix.
"""

import asyncio
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ThreadPoolExecutor
from functools import partial
from itertools import islice
from time import monotonic, sleep
from typing import Protocol, TypeVar

import msgspec
from cramjam import lz4

from streams.kafka.transport.marker import Standing

Row = tuple[bytes, bytes | None]
"""A changelog row: its key, and its value or None where the row is gone."""

WARM = 4_096
"""Entities in memory whose rows are not packed; the same as a table keeps at hand."""
COOLED = 64
"""Packed beyond need at once: about 2 ms."""

_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(dict[bytes, bytes]).decode


def _pack(rows: dict[bytes, bytes]) -> bytes:
    return bytes(lz4.compress_block(_encode(rows)))


def _unpack(packed: bytes) -> dict[bytes, bytes]:
    return _decode(lz4.decompress_block(packed))


T = TypeVar("T")

LONG = 0.1
"""Seconds of an opening after which the event loop has as many for all else."""


class _Turns:
    """One opening after the other, in one thread: rocksdict lets no other thread run while it opens
    a store, which waits for the disk five times. On a slow disk the event loop has as long for
    heartbeats and requests after each."""

    def __init__(self) -> None:
        self.thread = ThreadPoolExecutor(1, "open")
        self._next = 0.0

    def take(self, call: Callable[[], T]) -> T:
        """In that thread."""
        sleep(max(0.0, self._next - monotonic()))
        started = monotonic()
        try:
            return call()
        finally:
            ended = monotonic()
            self._next = ended + (ended - started if ended - started > LONG else 0.0)


_turns = _Turns()
_closing = ThreadPoolExecutor(4, "close")


async def opened(call: Callable[[], T]) -> T:
    """What a method returns that opens a store: `RowStore.open`, `clear`."""
    return await _finished(_turns.thread, partial(_turns.take, call))


async def closed(*stores: "RowStore") -> None:
    """Closes stores, some at once."""

    async def close(store: "RowStore") -> None:
        await store.rest()
        await _finished(_closing, store.close)

    await asyncio.gather(*map(close, stores))


async def _finished(threads: Executor, call: Callable[[], T]) -> T:
    """Its caller may be cancelled, but does not go on before the thread has ended: a store that is
    being opened cannot be closed."""
    job = threads.submit(call)
    try:
        return await asyncio.wrap_future(job)
    except asyncio.CancelledError:
        while not job.done():
            await asyncio.sleep(0.01)
        raise


class RowStore(Protocol):
    """A lane's rows as committed, each as its bytes, and up to where in the changelog they are. An
    event loop calls `open` and `clear` through `opened`, `close` through `closed`: they wait for
    the disk."""

    entities: int
    """How many entities may be kept decoded above it."""

    def open(self) -> Standing | None:
        """Where what it holds stands; None where it was open already.

        Raises:
            StoreError: it cannot be read, most likely for want of room or permission.
            OSError: another process has it; worth another try.
        """
        ...

    def read(self, where: bytes) -> dict[str, bytes]:
        """An entity's rows by their names. Does not see what waits for `commit`."""
        ...

    def named(self, name: bytes) -> Iterator[Row]:
        """The row of that name of every entity that was there when it was opened."""
        ...

    def keys(self, after: bytes) -> Iterator[bytes]:
        """The prefixes of all entities that have rows now and are greater, in order."""
        ...

    def put(self, rows: Iterable[Row]) -> None:
        """Rows that a committed transaction wrote, in the changelog's order."""
        ...

    def commit(self, standing: Standing) -> None:
        """What was put since the last commit, and where that stands, at once."""
        ...

    async def rest(self) -> None:
        """Between two commits: what would wait for a disk is done in a thread."""
        ...

    def settle(self) -> None:
        """All was restored, and nobody speaks yet: no entity is in use."""
        ...

    def clear(self) -> None:
        """Forgets all rows."""
        ...

    def close(self) -> None:
        """Lets it go; what was committed to disk stays there."""
        ...


class MemoryRows:
    """Rows of entities in use as dictionaries, those of all others packed and compressed: half the
    bytes, and one object instead of fifty."""

    entities = WARM

    def __init__(self) -> None:
        self._warm: dict[bytes, dict[bytes, bytes]] = {}
        self._packed: dict[bytes, bytes] = {}
        self._opened = False

    def __len__(self) -> int:
        """Entities that have rows."""
        return len(self._packed) + sum(1 for rows in self._warm.values() if rows)

    def open(self) -> Standing | None:
        if self._opened:
            return None
        self._opened = True
        return Standing()

    def read(self, where: bytes) -> dict[str, bytes]:
        rows = self._warm.get(where)
        if rows is None:
            packed = self._packed.get(where)
            rows = {} if packed is None else _unpack(packed)
        return {name.decode(): row for name, row in rows.items()}

    def named(self, name: bytes) -> Iterator[Row]:
        return iter(())

    def keys(self, after: bytes) -> Iterator[bytes]:
        warm = [where for where, rows in self._warm.items() if rows]
        # as RocksDB has them, where a NUL comes after each
        return iter(sorted(where for where in (*warm, *self._packed) if where > after))

    def put(self, rows: Iterable[Row]) -> None:
        warm = self._warm
        for key, value in rows:
            where, _, name = key.rpartition(b"\0")
            held = warm.get(where)
            if held is None:
                held = warm[where] = self._warmed(where)
            if value is None:
                held.pop(name, None)
            else:
                held[name] = value

    def _warmed(self, where: bytes) -> dict[bytes, bytes]:
        packed = self._packed.pop(where, None)
        return {} if packed is None else _unpack(packed)

    def commit(self, standing: Standing) -> None:
        """Packs those that became warm first, where there are too many; a few: a server's
        requests wait for it."""
        if (many := len(self._warm) - WARM) > 0:
            self._cool(many + COOLED)

    async def rest(self) -> None:
        """Memory waits for nothing."""

    def settle(self) -> None:
        self._cool(len(self._warm))

    def _cool(self, count: int) -> None:
        for where in list(islice(self._warm, count)):
            rows = self._warm.pop(where)
            if rows:
                self._packed[where] = _pack(rows)

    def clear(self) -> None:
        self._warm, self._packed = {}, {}

    def close(self) -> None:
        """Memory goes with its lane."""
