"""How long an event loop is silent while other threads, or it itself, wait for a slow disk.

    LD_PRELOAD=slow_disk.so SLOW_MS=200 python -m tests.fault.slow_disk FOLDER

Prints as JSON the longest silence in seconds of each.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import AsyncMock, Mock

from aiokafka.structs import TopicPartition

from sinks.sink_history import SharedHistory
from streams.files.store import Store
from streams.kafka.sink.batch import SinkBatch
from streams.kafka.sink.options import SinkOptions
from streams.kafka.sink.writer import BatchWriter
from streams.kafka.transport.changelog import ChangelogChunk, Progress
from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import TablePosition
from streams.kafka.transport.restore import reopen
from streams.kafka.transport.rows import close_stores
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.changelog_follower import Following
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.backends.replica_lane import ReplicaLane
from tests.command import turn

LANES = 2
BATCHES, ROWS, BYTES = 40, 200, 1_000
POSTS = 10
AT = TopicPartition("t", 0)
MISFIT: dict[str, Any] = {"key": None, "value": b"{}", "headers": [], "timestamp": 0}
"""A message that is no row."""


@asynccontextmanager
async def silence() -> AsyncIterator[list[float]]:
    """The loop's longest silence until the block ends."""
    longest = [0.0]

    async def beat() -> None:
        last = monotonic()
        while True:
            await asyncio.sleep(0.005)
            now = monotonic()
            longest[0], last = max(longest[0], now - last), now

    beating = asyncio.create_task(beat())
    await asyncio.sleep(0.05)
    yield longest
    await asyncio.sleep(0.05)
    beating.cancel()
    with suppress(asyncio.CancelledError):
        await beating


def rows_of(batch: int) -> Iterator[tuple[bytes, bytes]]:
    """What a batch changes."""
    for number in range(batch * ROWS, batch * ROWS + ROWS):
        yield b"s\0t\0%d\0h" % number, os.urandom(BYTES)


def fill(store: Store) -> None:
    """Commits batches, as the writing thread of a history does."""
    for batch in range(6 * BATCHES):
        store.write(rows_of(batch))
    store.close()


async def write(rows: DiskRows) -> None:
    """Commits batches, as a lane does."""
    standing = TablePosition()
    for batch in range(BATCHES):
        rows.put(rows_of(batch))
        rows.commit(standing)
        await rows.rest()
        await asyncio.sleep(0)


async def follow(lane: ReplicaLane) -> None:
    """Takes chunks of a changelog into a replica's rows, as a server does."""

    async def read(
        *_: object, **__: object
    ) -> AsyncGenerator[tuple[Progress, ChangelogChunk], None]:
        for batch in range(2 * BATCHES):
            yield lane.progress, ChangelogChunk(list(rows_of(batch)), [], 0.0)
            await asyncio.sleep(0)

    following = Following({}, "g", ["t"], [], lambda at, partitions: lane)
    following.lanes = {AT: lane}
    vars(following)["_know"] = AsyncMock()
    await following._take(cast("Any", SimpleNamespace(read=read, client=None)))


async def sink(folder: Path) -> None:
    """Writes the rows of a batch, as a sink does."""
    owner = {"sink": "s", "cluster": "c"}
    with await asyncio.to_thread(SharedHistory, folder, owner) as history:
        writer = BatchWriter(history, SinkOptions(), AsyncMock())
        for offset in range(3):
            batch = SinkBatch()
            batch.add(AT, "none", cast("Any", SimpleNamespace(**MISFIT, offset=offset)))
            batch.upto[AT] = offset
            writer.start(batch, cast("Any", SimpleNamespace(apps={AT: "a"}, written={})))
            await writer.written()


async def serve(folder: Path) -> float:
    """Posts to a history, as a server does; the longest silence once it answers."""
    async with EmbeddedBackend(folder) as backend:
        async with silence() as serving:
            for batch in range(POSTS):
                turns = [turn(f"e{batch}-{number}", session_id=f"s{number}") for number in range(9)]
                await backend.submit([json.dumps(one).encode() for one in turns], 60)
            assert await backend.written("default", 60)
        return serving[0]


async def measure(folder: Path) -> dict[str, float]:
    """The longest silences; `one`: while a single store is opened on the loop itself."""
    stores = [DiskRows(folder / f"lane-{number}") for number in range(LANES)]
    lanes: list[Any] = [
        SimpleNamespace(
            rows=rows, processor=Mock(), changelog=TopicPartition("t", at), progress=None
        )
        for at, rows in enumerate(stores)
    ]
    silences = {}

    async def time(name: str, *work: Awaitable[object]) -> None:
        async with silence() as longest:
            await asyncio.gather(*work)
        silences[name] = longest[0]

    await time("creating", *map(reopen, lanes))
    await time("writing", *map(write, stores))
    await time("closing", close_stores(*stores))
    await time("opening", *map(reopen, lanes))
    await close_stores(*stores)
    async with silence() as one:
        stores[1].open()
    stores[1].close()
    lane = ReplicaLane(AT, "sessions", stores[1], Changes())
    await lane.reopen()
    await time("following", follow(lane))
    await close_stores(lane.rows)
    await time("making", asyncio.to_thread(Store, folder / "made"))
    await time("filling", asyncio.to_thread(fill, Store(folder / "filled")))
    await time("sinking", sink(folder / "sunk"))
    return {**silences, "one": one[0], "serving": await serve(folder / "served")}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(Path(sys.argv[1])))))
