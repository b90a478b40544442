"""Writes what a sink has gathered into the tables, one batch at a time, while it reads on."""

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable

from aiokafka.structs import TopicPartition

from sinks.root import HistoryWriteError
from sinks.shared import SharedHistory
from streams.kafka.sink.batch import Batch
from streams.kafka.sink.options import SinkCounts, SinkOptions
from streams.kafka.sink.positions import Held
from streams.observing.definitions import UPTO_MINUTES
from streams.observing.histogram import Histogram

log = logging.getLogger(__name__)

WRITE_AGAIN = 5.0  # seconds
COLLECT_EVERY = 60.0
"""Seconds between two looks for cycles: clients leave few, and all that waits is looked at."""

Commit = Callable[[Held, dict[TopicPartition, int]], Awaitable[None]]


class BatchWriter:
    """At most one write is under way; a thread does it. `commit` is told the next offsets of what
    was written.

    `seconds`: how long writes took; `since`: when the first message of the write under way was
    read. `is_last`: the sink ends, so a disk that refuses is not asked again.
    """

    def __init__(self, history: SharedHistory, options: SinkOptions, commit: Commit) -> None:
        self.counts = SinkCounts()
        self.seconds = Histogram(UPTO_MINUTES)
        self.since: float | None = None
        self.is_last = False
        self._history = history
        self._options = options
        self._commit = commit
        self._collected = time.monotonic()
        self._writing: asyncio.Task[None] | None = None
        self._blocked = asyncio.Event()

    @property
    def is_idle(self) -> bool:
        """Whether nothing is being written, and all results were taken by `written`."""
        return self._writing is None

    @property
    def is_done(self) -> bool:
        """Whether a write has ended and nobody has called `written` since."""
        return self._writing is not None and self._writing.done()

    def start(self, batch: Batch, held: Held) -> None:
        """Begins to write a batch, once what came before was `written`."""
        self._writing = asyncio.create_task(self._write(batch, held))

    async def written(self) -> None:
        """Waits for the write under way. Raises HistoryWriteError."""
        task = self._writing
        if task is not None:
            await asyncio.shield(task)
            if self._writing is task:
                self._writing = None

    async def is_free(self) -> bool:
        """Waits for the write under way; False where the disk does not take it."""
        if (task := self._writing) is None:
            return True
        blocked = asyncio.create_task(self._blocked.wait())
        await asyncio.wait({task, blocked}, return_when=asyncio.FIRST_COMPLETED)
        blocked.cancel()
        return task.done()

    async def abandon(self) -> None:
        """What the disk does not take, the partitions' next owner reads again."""
        task, self._writing = self._writing, None
        self._blocked.clear()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _write(self, batch: Batch, held: Held) -> None:
        self.since = batch.began
        upto = {held.apps[at]: offset for at, offset in batch.upto.items()}
        with self._options.span("sink", batch.records()):
            began, rows = await self._stored(batch, held, upto)
        seconds, self.since = time.monotonic() - began, None
        self.seconds.observe(seconds)
        self._options.observe("written")
        held.whole.update(upto)
        self.counts.rows += rows
        self.counts.misfits += batch.misfits
        self.counts.writes += 1
        if batch.misfits:
            log.error("%d messages are no rows: see dead_letters, reason bad_row", batch.misfits)
        log.info("%d rows written in %.2f s", rows, seconds)
        await self._commit(held, {at: offset + 1 for at, offset in batch.upto.items()})
        self._options.observe("committed")
        if began - self._collected > COLLECT_EVERY:
            self._collected = began
            gc.collect()

    async def _stored(self, batch: Batch, held: Held, upto: dict[str, int]) -> tuple[float, int]:
        """When the write began that succeeded, and how many rows it wrote. Where the disk does not
        take them they wait until it does: the tables know what they have, so it is the same call.
        """
        began, failing = time.monotonic(), None
        pieces = await asyncio.to_thread(batch.pieces, held.apps)
        while True:
            try:
                rows = await asyncio.to_thread(
                    self._history.write, pieces, upto, dict(held.whole), self._options.observe
                )
            except HistoryWriteError as error:
                if not error.may_pass or self.is_last or self._options.once:
                    raise
                if failing is None:
                    failing = began
                    log.error("%s; nothing is lost: tries again every %g s", error, WRITE_AGAIN)
                self._blocked.set()
                await asyncio.sleep(WRITE_AGAIN)
                began = time.monotonic()
                continue
            self._blocked.clear()
            if failing is not None:
                log.warning("writes again after %.0f s", time.monotonic() - failing)
            return began, rows
