"""Writes a sink's batches into the tables, one at a time, while the sink continues to read."""

import asyncio
import gc
import logging
import time
from collections.abc import Awaitable, Callable

from aiokafka.structs import TopicPartition

from sinks.history_root import HistoryWriteError
from sinks.sink_history import SharedHistory
from streams.kafka.sink.batch import SinkBatch
from streams.kafka.sink.options import SinkCounts, SinkOptions
from streams.kafka.sink.positions import SinkPositions
from streams.observability import traces
from streams.observability.metrics import UPTO_MINUTES, Histogram

log = logging.getLogger(__name__)

WRITE_AGAIN = 5.0  # seconds
COLLECT_EVERY = 60.0
"""Seconds between garbage collections: clients leave few cycles, and a collection visits all
pending messages."""

Commit = Callable[[SinkPositions, dict[TopicPartition, int]], Awaitable[None]]


class BatchWriter:
    """Runs at most one write, in a thread. `commit` receives the next offsets after a write.

    `seconds`: durations of writes; `since`: when the first message of the current write was read.
    `is_last`: the sink stops, so a failing disk is not retried.
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
        """Whether no write is running, and `written` has returned all results."""
        return self._writing is None

    @property
    def is_done(self) -> bool:
        """Whether a write has ended and `written` was not called since."""
        return self._writing is not None and self._writing.done()

    def start(self, batch: SinkBatch, positions: SinkPositions) -> None:
        """Starts writing a batch; the previous one must be `written`."""
        self._writing = asyncio.create_task(self._write(batch, positions))

    async def written(self) -> None:
        """Waits for the current write. Raises HistoryWriteError."""
        task = self._writing
        if task is not None:
            await asyncio.shield(task)
            if self._writing is task:
                self._writing = None

    async def is_free(self) -> bool:
        """Waits for the current write; False if the disk fails."""
        if (task := self._writing) is None:
            return True
        blocked = asyncio.create_task(self._blocked.wait())
        await asyncio.wait({task, blocked}, return_when=asyncio.FIRST_COMPLETED)
        blocked.cancel()
        return task.done()

    async def abandon(self) -> None:
        """Cancels a write that the disk does not accept; the partitions' next owner reads the
        messages again."""
        task, self._writing = self._writing, None
        self._blocked.clear()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _write(self, batch: SinkBatch, positions: SinkPositions) -> None:
        self.since = batch.began
        upto = {positions.apps[tp]: offset for tp, offset in batch.upto.items()}
        with traces.span("sink", batch.messages()):
            began, rows = await self._stored(batch, positions, upto)
        seconds, self.since = time.monotonic() - began, None
        self.seconds.observe(seconds)
        self._options.observe("written")
        positions.written.update(upto)
        self.counts.rows += rows
        self.counts.misfits += batch.misfits
        self.counts.writes += 1
        if batch.misfits:
            log.error("%d messages are not rows: see dead_letters, reason bad_row", batch.misfits)
        log.info("%d rows written in %.2f s", rows, seconds)
        await self._commit(positions, {tp: offset + 1 for tp, offset in batch.upto.items()})
        self._options.observe("committed")
        if began - self._collected > COLLECT_EVERY:
            self._collected = began
            gc.collect()

    async def _stored(
        self, batch: SinkBatch, positions: SinkPositions, upto: dict[str, int]
    ) -> tuple[float, int]:
        """Returns start time and rows of the successful write. Retries while the disk fails: the
        tables store their positions, so the call is idempotent."""
        began, failing = time.monotonic(), None
        pieces = await asyncio.to_thread(batch.pieces, positions.apps)
        while True:
            try:
                rows = await asyncio.to_thread(
                    self._history.write,
                    pieces,
                    upto,
                    dict(positions.written),
                    self._options.observe,
                )
            except HistoryWriteError as error:
                if not error.may_pass or self.is_last or self._options.once:
                    raise
                if failing is None:
                    failing = began
                    log.error("%s; no data is lost: retrying every %g s", error, WRITE_AGAIN)
                self._blocked.set()
                await asyncio.sleep(WRITE_AGAIN)
                began = time.monotonic()
                continue
            self._blocked.clear()
            if failing is not None:
                log.warning("writing again after %.0f s", time.monotonic() - failing)
            return began, rows
