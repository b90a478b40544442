"""How long an event loop is silent while lanes write their rows, and while they open them.

    LD_PRELOAD=slow_disk.so SLOW_MS=200 python -m tests.fault.slow_disk FOLDER

Prints as JSON the longest silence in seconds of each.
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any, cast

from aiokafka.structs import TopicPartition

from streams.kafka.transport.disk_rows import DiskRows
from streams.kafka.transport.marker import Standing
from streams.kafka.transport.restore import reopen

LANES = 4
BATCHES, ROWS, BYTES = 60, 200, 1_000


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


async def write(rows: DiskRows) -> None:
    """Commits batches, as a lane does."""
    standing = Standing()
    for batch in range(BATCHES):
        rows.put(
            (b"s\0t\0%d\0h" % (batch * ROWS + number), os.urandom(BYTES)) for number in range(ROWS)
        )
        rows.commit(standing)
        await rows.rest()
        await asyncio.sleep(0)


async def measure(folder: Path) -> dict[str, float]:
    """The longest silences; `one`: while a single store is opened."""
    stores = [DiskRows(folder / f"lane-{number}") for number in range(LANES)]
    for rows in stores:
        rows.open()
    async with silence() as writing:
        await asyncio.gather(*map(write, stores))
    for rows in stores:
        await asyncio.to_thread(rows.close)
    async with silence() as one:
        stores[0].open()
    stores[0].close()
    opening = asyncio.Lock()
    processor = SimpleNamespace(reset=lambda: None, found=lambda some: None)
    lanes = [
        SimpleNamespace(
            rows=rows, opening=opening, processor=processor, changelog=TopicPartition("t", at)
        )
        for at, rows in enumerate(stores)
    ]
    async with silence() as all_of_them:
        await asyncio.gather(*(reopen(cast("Any", lane)) for lane in lanes))
    return {"writing": writing[0], "one": one[0], "opening": all_of_them[0]}


if __name__ == "__main__":
    print(json.dumps(asyncio.run(measure(Path(sys.argv[1])))))
