"""A lane: one agent's partition, with its queue, producer and table partition.

    closed ─ start ─> opening ─> restoring ─> ready <─> committing
       ^                 ^                                  │
       └──── stop ────── └──────── any error: back off ─────┘

Rows of an older version are upgraded between restoring and ready (`upgrade`).

Group commit: messages that arrive during a transaction are queued for the next one. See
docs/kafka-tier.md, Lanes.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING, Any

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import TurnfoldError
from streams.kafka.client import acl_errors
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.transport.batch_buffer import Chunk, ChunkQueue
from streams.kafka.transport.changelog import Progress
from streams.kafka.transport.encryption import encrypted, with_keys
from streams.kafka.transport.fair_reading import Passes
from streams.kafka.transport.interfaces import AgentSpec, LaneSettings
from streams.kafka.transport.marker import MARKER_KEY, Marker, TablePosition
from streams.kafka.transport.restore import (
    follow,
    new_log,
    reopen,
    restore,
    resume_point,
)
from streams.kafka.transport.rows import close_stores
from streams.kafka.transport.throttled_tenants import Ahead, SetAside
from streams.kafka.transport.upgrade import upgrade
from streams.kafka.transport.writer import TransactionFailed, Writer
from streams.observability import traces
from streams.observability.logs import OF_BROKER
from streams.observability.readiness import Pending
from streams.pipeline.row_formats import NewerRows

if TYPE_CHECKING:
    from streams.kafka.transport.lanes import Lanes

log = logging.getLogger(__name__)

LOOK_EVERY = 0.05
"""Seconds between checks for queued messages while tenants are behind."""
RETRIED = (KafkaError, OSError, TransactionFailed, TimeoutError)
"""Errors that are retried without limit, unless the broker's ACLs deny the operation. Any other
error is a bug and stops the worker."""


@dataclass(slots=True)
class LaneCounts:
    """Counters of a lane since its creation; monotonic."""

    records: int = 0
    transactions: int = 0
    written_bytes: int = 0
    changelog_bytes: int = 0
    restored_rows: int = 0
    restores: int = 0
    failures: int = 0
    paused: int = 0
    stalls: int = 0
    busy_seconds: float = 0.0


class Lane:
    """One partition of an agent. `state` and `since`: current state and time of the last progress.
    `restored`: changelog offsets read so far by the restore, and their total."""

    def __init__(self, plan: AgentSpec, partition: int, owner: "Lanes") -> None:
        self.plan = plan
        self.partition = partition
        self.name = f"{plan.agent}-{partition}"
        self.log_context = {"agent": plan.agent, "partition": partition}  # for log lines
        self.sources = {topic: TopicPartition(topic, partition) for topic in plan.sources}
        self.changelog = TopicPartition(plan.changelog, partition)
        self._keys = owner.settings.keys
        self.rows = with_keys(owner.settings.rows(self.name), self._keys)
        self.processor = plan.processor(partition, self.rows)
        self.progress = Progress(self.changelog)
        self.counts = LaneCounts()
        self.state, self.since = "closed", monotonic()
        self._committing = Pending(repeats=True)
        self.last_error = ""
        self.restored = (0, 0)
        self.epoch = 0
        self._owner = owner
        self._queue = ChunkQueue(owner.settings.max_records, owner.settings.max_bytes)
        set_aside = _set_aside(plan, owner.settings)
        if set_aside is not None:
            self.processor.charge = set_aside.charge
        self.reading = Passes(self, set_aside)
        self._fetched: dict[str, int] = {}
        self._offered: dict[str, int] = {}
        self._paused = False
        self._ends: dict[TopicPartition, int] = {}
        self._reported_ends: dict[TopicPartition, int] = {}
        self._wake = asyncio.Event()
        self.stopping = False
        self._task: asyncio.Task[None] | None = None
        self._writer: Writer | None = None

    @property
    def standing(self) -> TablePosition:
        """Position of the table in its changelog."""
        return self.progress.standing

    @property
    def source(self) -> ConsumerSource:
        return self._owner.source

    @property
    def is_idle(self) -> bool:
        """Whether the queue is empty and no fetch is in transit."""
        return not self._queue and self._fetched == self._offered

    @property
    def waiting(self) -> int:
        return self._queue.messages

    @property
    def fetch_age(self) -> float:
        """Seconds since the last fetch response, of the source that has waited longest."""
        return max(self._owner.source.fetch_age(tp) for tp in self.sources.values())

    @property
    def unfinished(self) -> float:
        """Seconds since the last progress while there is work, failed transactions included; 0 if
        idle."""
        is_idle = self.state == "ready" and not self.waiting
        return max(self._committing.age, 0.0 if is_idle else monotonic() - self.since)

    def uncommitted(self, topic: str) -> int:
        """Number of offsets fetched and not committed."""
        fetched = self._fetched.get(topic)
        return 0 if fetched is None else fetched - self.standing.offsets[topic]

    def enter(self, state: str) -> None:
        """Changes the state and records progress: the stall detector reads `since`."""
        self.state, self.since = state, monotonic()

    def rest(self) -> None:
        """Records that the lane is idle: the next message has not waited yet."""
        self.enter("ready")
        self._committing.rest()

    def observe(self, point: str) -> None:
        self._owner.settings.observe(self.name, point)

    # --- the consumer's side ------------------------------------------------------------------

    def chunk(self, topic: str, messages: Sequence[Any], end: int) -> Chunk | None:
        """Wraps messages just fetched, up to position `end`, or returns None if the lane is not
        ready."""
        start = self._fetched.get(topic)
        if start is None or not _fits(messages, start, end):
            return None
        self._fetched[topic] = end
        return Chunk(topic, self.partition, messages, start, end, self.epoch)

    def offer(self, chunk: Chunk) -> None:
        """Queues a chunk; pauses the lane's sources if the queue is full.

        Raises:
            RuntimeError: a previous chunk was lost inside the worker.
        """
        if chunk.epoch != self.epoch:
            return
        if chunk.start != self._offered[chunk.topic]:
            raise RuntimeError(
                f"{self.name}: {chunk.topic} continues at {chunk.start}, "
                f"not at {self._offered[chunk.topic]}: a fetch was lost inside the worker"
            )
        self._offered[chunk.topic] = chunk.end
        clipped = self.reading.clipped(chunk)
        self._wake.set()
        if clipped is None:
            return
        self._queue.put(clipped)
        if not self._paused and self._queue.is_full(1):
            self._paused = True
            self.counts.paused += 1
            self._owner.source.pause(self.sources.values())

    # --- life -----------------------------------------------------------------------------------

    def start(self, generation: int) -> None:
        """Starts the lane in its own task; its sources are paused already."""
        self.stopping = False
        self._wake.clear()
        self.enter("opening")
        self._task = asyncio.get_running_loop().create_task(self._run(generation), name=self.name)
        self._task.add_done_callback(self._ended)

    def follow(self) -> None:
        """Starts following another worker's lane as a standby."""
        self.stopping = False
        self.enter("standby")
        self._task = asyncio.get_running_loop().create_task(self._follow(), name=self.name)
        self._task.add_done_callback(self._ended)

    async def _follow(self) -> None:
        while not self.stopping:
            try:
                await reopen(self)
                await follow(self, self._owner.source)
            except NewerRows as error:  # the worker's own lanes continue
                log.warning("%s: stopped as standby: %s", self.name, error, extra=self.log_context)
                self.enter("closed")
                return
            except RETRIED as error:
                if (refused := acl_errors.of(error)) is not None:
                    raise refused from error
                self.counts.failures += 1
                log.error(
                    "%s: as standby: %r; again in %.1f s", self.name, error,
                    self._owner.settings.max_backoff, extra=self.log_context | OF_BROKER,
                )  # fmt: skip
                await self._sleep(self._owner.settings.max_backoff)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            is_expected = isinstance(error, TurnfoldError)  # its text is complete
            log.critical(
                "%s: ends the worker: %s", self.name, error if is_expected else repr(error),
                exc_info=None if is_expected else error, extra=self.log_context,
            )  # fmt: skip
            self._owner.crash(error)

    async def stop(self) -> None:
        """Ends the current transaction, or abandons it after `grace`; the table is kept."""
        self.stopping = True
        self._wake.set()
        task, self._task = self._task, None
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=self._owner.settings.grace)
            if not task.done():
                log.warning(
                    "%s: abandons its transaction, %s",
                    self.name,
                    self.describe(),
                    extra=self.log_context,
                )
                task.cancel()
                await asyncio.wait({task})
        await self._close()
        self._committing.rest()
        self.enter("closed")

    async def _close(self) -> None:
        """Drops fetched messages and closes the producer."""
        self.epoch += 1
        self._fetched.clear()
        self._queue.clear()
        if self._writer is not None:
            await self._writer.close(self._owner.settings.grace)
            self._writer = None

    async def _run(self, generation: int) -> None:
        backoff = self._owner.settings.backoff
        while not self.stopping:
            transactions = self.counts.transactions
            try:
                if not await self._open(generation):
                    await close_stores(self.rows)
                    self._committing.rest()
                    self.enter("released")
                    log.warning("%s: partition reassigned", self.name, extra=self.log_context)
                    break
                await self._serve()
            except RETRIED as error:
                if (refused := acl_errors.of(error)) is not None:
                    raise refused from error
                self.counts.failures += 1
                if self.counts.transactions > transactions:
                    backoff = self._owner.settings.backoff
                self.last_error = repr(error)
                log.error(
                    "%s: %s; again in %.1f s", self.name, error or self.last_error, backoff,
                    extra=self.log_context | OF_BROKER,
                )  # fmt: skip
                self.state = "backing off"
                await self._close()
                await self._sleep(backoff)
                backoff = min(2 * backoff, self._owner.settings.max_backoff)
        await self._close()

    async def _sleep(self, seconds: float) -> None:
        """Sleeps until the time is over or the lane stops."""
        deadline = monotonic() + seconds
        while not self.stopping and (remaining := deadline - monotonic()) > 0:
            await asyncio.sleep(min(remaining, 0.1))

    async def _open(self, generation: int) -> bool:
        """Fences the previous owner, restores missing rows, seeks to the marker. Returns False if
        the partition was reassigned.

        The producer starts before the membership check: any later owner then fences this one.
        """
        owner = self._owner
        self.state = "opening"
        owner.source.pause(self.sources.values())
        self._writer = Writer(f"{owner.group}-{self.name}", owner.source.connection, owner.settings)
        await self._writer.start()
        if not await owner.source.is_member(generation):
            return False
        self.state = "restoring"
        self.observe("restoring")
        await reopen(self)
        await restore(self, owner.source)
        offsets = await resume_point(self, owner.source)
        await upgrade(self, self._writer)
        if self.stopping:
            return True
        self.standing.offsets = offsets
        if self.standing.marker is not None:
            self._report_offsets()
        marker = self.standing.marker
        self.enter("ready")
        self.observe("ready")
        self._reported_ends = {}
        self.go_to(self.reading.begin(offsets, marker.ahead if marker else None))
        return True

    def go_to(self, offsets: Mapping[str, int]) -> None:
        """Seeks the sources to these offsets and drops fetched messages."""
        self.epoch += 1
        self._queue.clear()
        for topic, tp in self.sources.items():
            self.source.seek(tp, offsets[topic])
        self._fetched, self._offered = dict(offsets), dict(offsets)
        self._paused = False
        self.source.resume(self.sources.values())

    async def _serve(self) -> None:
        if self.processor.needs_marker():
            await self._commit([], dict(self.standing.offsets), self.reading.ahead)
        while not self.stopping:
            self.reading.turn()
            if not self._queue:
                await self._wait()
                continue
            await self._commit(*self.reading.step())
            await self.rows.rest()

    async def _wait(self) -> None:
        """Waits for queued messages, or until it is time to check for more."""
        self._wake.clear()
        within = None if self.reading.ahead is None else LOOK_EVERY
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._wake.wait()

    def take(
        self, offsets: Mapping[str, int], most: int | None = None
    ) -> tuple[list[Any], dict[str, int]]:
        """Returns the next batch and the offsets after it; resumes the sources if the queue has
        room."""
        batch = self._queue.take(offsets, most)
        if self._paused and not self._queue.is_full(0.5):
            self._paused = False
            self._owner.source.resume(self.sources.values())
        return batch

    async def _commit(
        self, messages: list[Any], offsets: dict[str, int], ahead: Ahead | None
    ) -> None:
        assert self._writer is not None
        started = monotonic()
        self.enter("committing")
        self._committing.begin()
        log_id = self.standing.marker.log if self.standing.marker else new_log()
        try:
            with traces.span(self.plan.agent, messages):
                batch = self.processor.process(messages, self.reading.again)
                if self._keys is not None:
                    batch.outputs = encrypted(self._keys, batch.outputs, self.plan.letter)
                processed = monotonic()
                if messages:
                    self._queue.adapt(len(messages), processed - started)
                if batch.misplaced:
                    await self._owner.check_layout()
                note = batch.note if ahead is None else {**batch.note, **ahead.to_note()}
                marker = Marker(offsets, note, log_id, self.plan.partitions)
                self.observe("before commit")
                written = await self._writer.commit(
                    batch.outputs,
                    self.changelog,
                    [*batch.changelog, (MARKER_KEY, marker.encode())],
                )
            self.observe("committed")
        except BaseException:
            self._committing.end(False)
            self.processor.rolled_back()
            raise
        self._committing.end(True)
        self.processor.committed()
        self.progress.wrote(written.position, marker)
        self.standing.offsets = offsets
        self.rows.commit(self.standing)
        self.observe("stored")
        self._report_offsets()
        self.last_error = ""
        counts = self.counts
        counts.records += len(messages)
        counts.transactions += 1
        counts.written_bytes += written.bytes
        counts.changelog_bytes += written.changelog_bytes
        counts.busy_seconds += processed - started
        self._owner.seconds[self.plan.agent].observe(monotonic() - started)
        self.enter("ready")
        self.reading.committed(ahead)

    def _report_offsets(self) -> None:
        """Reports offsets, once a marker exists: a group with offsets and no marker has lost its
        changelog."""
        offsets = self.standing.offsets
        self._owner.report_committed(
            {self.sources[topic]: offset for topic, offset in offsets.items()}
        )

    def report_ends(self) -> None:
        """Commits the ends of fully processed sources to the group: control records of transactions
        would count as lag forever otherwise. Called periodically; an end counts if the previous
        call saw it as well, since records may be in transit."""
        ends = {tp: self.source.end(tp) for tp in self.sources.values()}
        last, self._ends = self._ends, ends
        waits = self.reading.ahead is not None or not self.is_idle
        if self.state != "ready" or self.standing.marker is None or waits or ends != last:
            return
        offsets = self.standing.offsets
        if any(self.source.unfetched(tp) for tp in ends) or ends == self._reported_ends:
            return
        self._reported_ends = ends
        if past := {tp: end for tp, end in ends.items() if end > offsets[tp.topic]}:
            self._owner.report_committed(past)

    def describe(self) -> str:
        """State, time without progress, offsets and last error, for the log."""
        positions = ", ".join(f"{topic} at {at}" for topic, at in self.standing.offsets.items())
        seconds = monotonic() - self.since
        text = f"{self.state}, {seconds:.0f} s without progress, {positions or 'nowhere yet'}"
        text += f", {self.waiting} records wait"
        return f"{text}; last error {self.last_error}" if self.last_error else text


def _set_aside(plan: AgentSpec, settings: LaneSettings) -> SetAside | None:
    """The quota check of the plan, or None if no quota is set."""
    if not plan.sets_aside or not (any(settings.quota) or settings.quotas):
        return None
    return SetAside(settings.quota, settings.quotas)


def _fits(messages: Sequence[Any], start: int, end: int) -> bool:
    """Whether fetched messages are within these positions; a fetch from before a seek is not."""
    return not messages or (start <= messages[0].offset and messages[-1].offset < end)
