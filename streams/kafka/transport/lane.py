"""A lane: one agent's partition, with its queue, its producer and its table partition.

    closed ─ start ─> opening ─> restoring ─> ready <─> committing
       ^                 ^                                  │
       └──── stop ────── └──────── any error: back off ─────┘

Rows of an older version are upgraded between restoring and ready (`upgrade`).

Group commit: while a transaction is under way the next records gather; the next one takes them.
See docs/kafka-tier.md, Lanes.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from time import monotonic
from typing import Any, Protocol

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import TurnfoldError
from streams.kafka.client import denials
from streams.kafka.transport.batch_buffer import Chunk, Gathering
from streams.kafka.transport.changelog import Progress
from streams.kafka.transport.marker import MARKER_KEY, Marker, Standing
from streams.kafka.transport.passes import Passes
from streams.kafka.transport.processing import AgentSpec, LaneSettings
from streams.kafka.transport.restore import Source, follow, new_log, reopen, restore, resume_point
from streams.kafka.transport.rows import closed
from streams.kafka.transport.set_aside import Ahead, SetAside
from streams.kafka.transport.upgrade import upgrade
from streams.kafka.transport.writer import TransactionFailed, Writer
from streams.observing.logs import OF_BROKER
from streams.observing.readiness import Pending
from streams.pipeline.row_formats import NewerRows

log = logging.getLogger(__name__)

LOOK_EVERY = 0.05
"""Seconds between two looks at whether anything waits, while tenants are behind."""
RETRIED = (KafkaError, OSError, TransactionFailed, TimeoutError)
"""What is tried again for ever, unless the broker's ACLs refuse it; everything else is a fault of
the program and ends the worker."""


@dataclass(slots=True)
class Counts:
    """What a lane did since it was made; only ever grows."""

    records: int = 0
    transactions: int = 0
    written_records: int = 0
    written_bytes: int = 0
    changelog_bytes: int = 0
    restored_rows: int = 0
    followed_rows: int = 0
    restores: int = 0
    failures: int = 0
    released: int = 0
    dropped_chunks: int = 0
    paused: int = 0
    stalls: int = 0
    busy_seconds: float = 0.0
    commit_seconds: float = 0.0


class Owner(Protocol):
    """What a lane needs of the worker it is in."""

    group: str
    settings: LaneSettings

    @property
    def source(self) -> Source: ...

    def took(self, agent: str, seconds: float) -> None: ...

    def stands(self, offsets: Mapping[TopicPartition, int]) -> None: ...

    def crash(self, error: BaseException) -> None: ...

    async def check_layout(self) -> None: ...


class Lane:
    """`state` and `since` say what it does; `offsets` where the committed batches end; `restored`
    how many of the changelog's missing offsets are read, and how many are missing."""

    def __init__(self, plan: AgentSpec, partition: int, owner: Owner) -> None:
        self.plan = plan
        self.partition = partition
        self.name = f"{plan.agent}-{partition}"
        self.where = {"agent": plan.agent, "partition": partition}  # of what it logs
        self.sources = {topic: TopicPartition(topic, partition) for topic in plan.sources}
        self.changelog = TopicPartition(plan.changelog, partition)
        self.rows = owner.settings.rows(self.name)
        self.processor = plan.processor(partition, self.rows)
        self.progress = Progress(self.changelog)
        self.counts = Counts()
        self.state, self.since = "closed", monotonic()
        self._committing = Pending(repeats=True)
        self.why = ""
        self.restored = (0, 0)
        self.epoch = 0
        self._owner = owner
        self._gathering = Gathering(owner.settings.max_records, owner.settings.max_bytes)
        self.reading = Passes(self, _set_aside(plan, owner.settings))
        self._fetched: dict[str, int] = {}
        self._offered: dict[str, int] = {}
        self._paused = False
        self._ends: dict[TopicPartition, int] = {}
        self._told_ends: dict[TopicPartition, int] = {}
        self._wake = asyncio.Event()
        self.stopping = False
        self._task: asyncio.Task[None] | None = None
        self._writer: Writer | None = None

    @property
    def standing(self) -> Standing:
        """Where its table stands."""
        return self.progress.standing

    @property
    def source(self) -> Source:
        """The group's consumer."""
        return self._owner.source

    @property
    def is_idle(self) -> bool:
        """Whether nothing waits that was fetched."""
        return not self._gathering and self._fetched == self._offered

    @property
    def waiting(self) -> int:
        """Records that were fetched and wait."""
        return self._gathering.records

    @property
    def unheard(self) -> float:
        """Seconds since the broker answered a fetch, of the source that has waited longest."""
        return max(self._owner.source.unheard(at) for at in self.sources.values())

    @property
    def unfinished(self) -> float:
        """Seconds since the lane last made progress with its work, be it over several sessions in
        which a transaction failed; 0 while it has none."""
        is_idle = self.state == "ready" and not self.waiting
        return max(self._committing.age, 0.0 if is_idle else monotonic() - self.since)

    def uncommitted(self, topic: str) -> int:
        """How many offsets are fetched and not committed."""
        fetched = self._fetched.get(topic)
        return 0 if fetched is None else fetched - self.standing.offsets[topic]

    def enter(self, state: str) -> None:
        """Also counts as progress: `since` is what the stall detector looks at."""
        self.state, self.since = state, monotonic()

    def rest(self) -> None:
        """There is nothing to do: what comes next has not waited until now."""
        self.enter("ready")
        self._committing.rest()

    def passes(self, point: str) -> None:
        """Tells `LaneSettings.observe`."""
        self._owner.settings.observe(self.name, point)

    # --- the consumer's side ------------------------------------------------------------------

    def chunk(self, topic: str, records: Sequence[Any], end: int) -> Chunk | None:
        """The records just fetched, up to position `end`; None where the lane is not ready."""
        start = self._fetched.get(topic)
        if start is None or not _fits(records, start, end):
            self.counts.dropped_chunks += 1
            return None
        self._fetched[topic] = end
        return Chunk(topic, self.partition, records, start, end, self.epoch)

    def offer(self, chunk: Chunk) -> None:
        """Queues a chunk, and pauses the lane's sources where enough waits.

        Raises:
            RuntimeError: a chunk before this one got lost on its way.
        """
        if chunk.epoch != self.epoch:
            self.counts.dropped_chunks += 1
            return
        if chunk.start != self._offered[chunk.topic]:
            raise RuntimeError(
                f"{self.name}: {chunk.topic} goes on at {chunk.start}, "
                f"not at {self._offered[chunk.topic]}: a fetch was lost inside the worker"
            )
        self._offered[chunk.topic] = chunk.end
        wanted = self.reading.clipped(chunk)
        self._wake.set()
        if wanted is None:
            return
        self._gathering.put(wanted)
        if not self._paused and self._gathering.holds(1):
            self._paused = True
            self.counts.paused += 1
            self._owner.source.pause(self.sources.values())

    # --- life -----------------------------------------------------------------------------------

    def start(self, generation: int) -> None:
        """Begins to open the lane in its own task; its sources are paused already."""
        self.stopping = False
        self._wake.clear()
        self.enter("opening")
        self._task = asyncio.get_running_loop().create_task(self._run(generation), name=self.name)
        self._task.add_done_callback(self._ended)

    def follow(self) -> None:
        """Begins to keep the table of another worker's lane, so as to take over soon (standby)."""
        self.stopping = False
        self.enter("standby")
        self._task = asyncio.get_running_loop().create_task(self._follow(), name=self.name)
        self._task.add_done_callback(self._ended)

    async def _follow(self) -> None:
        while not self.stopping:
            try:
                await reopen(self)
                await follow(self, self._owner.source)
            except NewerRows as error:  # the worker's own lanes go on
                log.warning("%s: is no standby any more: %s", self.name, error, extra=self.where)
                self.enter("closed")
                return
            except RETRIED as error:
                if (refused := denials.of(error)) is not None:
                    raise refused from error
                self.counts.failures += 1
                log.error(
                    "%s: as standby: %r; again in %.1f s", self.name, error,
                    self._owner.settings.max_backoff, extra=self.where | OF_BROKER,
                )  # fmt: skip
                await self._sleep(self._owner.settings.max_backoff)

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            known = isinstance(error, TurnfoldError)  # what it says is all there is to say
            log.critical(
                "%s: ends the worker: %s", self.name, error if known else repr(error),
                exc_info=None if known else error, extra=self.where,
            )  # fmt: skip
            self._owner.crash(error)

    async def stop(self) -> None:
        """Ends the transaction under way, or abandons it after `grace`; the table stays."""
        self.stopping = True
        self._wake.set()
        task, self._task = self._task, None
        if task is not None and not task.done():
            await asyncio.wait({task}, timeout=self._owner.settings.grace)
            if not task.done():
                log.warning(
                    "%s: gives up its transaction, %s", self.name, self.describe(), extra=self.where
                )
                task.cancel()
                await asyncio.wait({task})
        await self._close()
        self._committing.rest()
        self.enter("closed")

    async def _close(self) -> None:
        """No record that was fetched counts any more; the producer is gone."""
        self.epoch += 1
        self._fetched.clear()
        self._gathering.clear()
        if self._writer is not None:
            await self._writer.close(self._owner.settings.grace)
            self._writer = None

    async def _run(self, generation: int) -> None:
        backoff = self._owner.settings.backoff
        while not self.stopping:
            done = self.counts.transactions
            try:
                if not await self._open(generation):
                    self.counts.released += 1
                    await closed(self.rows)
                    self._committing.rest()
                    self.enter("released")
                    log.warning("%s: is another worker's now", self.name, extra=self.where)
                    break
                await self._serve()
            except RETRIED as error:
                if (refused := denials.of(error)) is not None:
                    raise refused from error
                self.counts.failures += 1
                if self.counts.transactions > done:
                    backoff = self._owner.settings.backoff
                self.why = repr(error)
                log.error(
                    "%s: %s; again in %.1f s", self.name, error or self.why, backoff,
                    extra=self.where | OF_BROKER,
                )  # fmt: skip
                self.state = "backing off"
                await self._close()
                await self._sleep(backoff)
                backoff = min(2 * backoff, self._owner.settings.max_backoff)
        await self._close()

    async def _sleep(self, seconds: float) -> None:
        """Sleeps, but not beyond a stop."""
        deadline = monotonic() + seconds
        while not self.stopping and (left := deadline - monotonic()) > 0:
            await asyncio.sleep(min(left, 0.1))

    async def _open(self, generation: int) -> bool:
        """Fences the owner before, restores what is missing, goes to where the marker says.

        First the producer, then the question whose the partition is: an owner after us is then
        one that fences us.
        """
        owner = self._owner
        self.state = "opening"
        owner.source.pause(self.sources.values())
        self._writer = Writer(f"{owner.group}-{self.name}", owner.source.connection, owner.settings)
        await self._writer.start()
        if not await owner.source.still_ours(generation):
            return False
        self.state = "restoring"
        self.passes("restoring")
        await reopen(self)
        await restore(self, owner.source)
        offsets = await resume_point(self, owner.source)
        await upgrade(self, self._writer)
        if self.stopping:
            return True
        self.standing.offsets = offsets
        if self.standing.marker is not None:
            self._tell_offsets()
        marker = self.standing.marker
        self.enter("ready")
        self.passes("ready")
        self._told_ends = {}
        self.go_to(self.reading.begin(offsets, marker.ahead if marker else None))
        return True

    def go_to(self, offsets: Mapping[str, int]) -> None:
        """Reads on from there; what was fetched is dropped."""
        self.epoch += 1
        self._gathering.clear()
        for topic, at in self.sources.items():
            self.source.seek(at, offsets[topic])
        self._fetched, self._offered = dict(offsets), dict(offsets)
        self._paused = False
        self.source.resume(self.sources.values())

    async def _serve(self) -> None:
        if self.processor.has_news():
            await self._commit([], dict(self.standing.offsets), self.reading.ahead)
        while not self.stopping:
            self.reading.turn()
            if not self._gathering:
                await self._more()
                continue
            await self._commit(*self.reading.step())
            await self.rows.rest()

    async def _more(self) -> None:
        """Waits until something is queued, or it is time to look whether anything is to come."""
        self._wake.clear()
        within = None if self.reading.ahead is None else LOOK_EVERY
        with suppress(TimeoutError):
            async with asyncio.timeout(within):
                await self._wake.wait()

    def take(
        self, offsets: Mapping[str, int], most: int | None = None
    ) -> tuple[list[Any], dict[str, int]]:
        """The next batch and the offsets after it; lets more come where there is room again."""
        batch = self._gathering.take(offsets, most)
        if self._paused and not self._gathering.holds(0.5):
            self._paused = False
            self._owner.source.resume(self.sources.values())
        return batch

    async def _commit(
        self, records: list[Any], offsets: dict[str, int], ahead: Ahead | None
    ) -> None:
        assert self._writer is not None
        started = monotonic()
        self.enter("committing")
        self._committing.begin()
        log_id = self.standing.marker.log if self.standing.marker else new_log()
        try:
            with self._owner.settings.span(self.plan.agent, records):
                batch = self.processor.process(records, self.reading.again)
                processed = monotonic()
                if records:
                    self._gathering.took(len(records), processed - started)
                if batch.misplaced:
                    await self._owner.check_layout()
                note = batch.note if ahead is None else {**batch.note, **ahead.to_note()}
                marker = Marker(offsets, note, log_id, self.plan.partitions)
                self.passes("before commit")
                written = await self._writer.commit(
                    batch.outputs,
                    self.changelog,
                    [*batch.changelog, (MARKER_KEY, marker.encode())],
                )
            self.passes("committed")
        except BaseException:
            self._committing.end(False)
            self.processor.rolled_back()
            raise
        self._committing.end(True)
        self.processor.committed()
        self.progress.wrote(written.position, marker)
        self.standing.offsets = offsets
        self.rows.commit(self.standing)
        self.passes("stored")
        self._tell_offsets()
        self.why = ""
        counts = self.counts
        counts.records += len(records)
        counts.transactions += 1
        counts.written_records += written.records
        counts.written_bytes += written.bytes
        counts.changelog_bytes += written.changelog_bytes
        counts.busy_seconds += processed - started
        ended = monotonic()
        counts.commit_seconds += ended - processed
        self._owner.took(self.plan.agent, ended - started)
        self.enter("ready")
        self.reading.stands(ahead)

    def _tell_offsets(self) -> None:
        """Not before there is a marker: a group with offsets and no marker lost its changelog."""
        offsets = self.standing.offsets
        self._owner.stands({self.sources[topic]: offset for topic, offset in offsets.items()})

    def look_at_ends(self) -> None:
        """Where all is folded, tells the group the ends of its sources: what lies before them is
        no record (marks of transactions), and would be its lag for ever. Called time and again:
        an end counts once it was there the last time, too, for records may be on their way."""
        ends = {at: self.source.end(at) for at in self.sources.values()}
        last, self._ends = self._ends, ends
        waits = self.reading.ahead is not None or not self.is_idle
        if self.state != "ready" or self.standing.marker is None or waits or ends != last:
            return
        offsets = self.standing.offsets
        if any(self.source.behind(at) for at in ends) or ends == self._told_ends:
            return
        self._told_ends = ends
        if past := {at: end for at, end in ends.items() if end > offsets[at.topic]}:
            self._owner.stands(past)

    def describe(self) -> str:
        """For the log: what it does, since when, where it stands, and why it failed last."""
        stands = ", ".join(f"{topic} at {at}" for topic, at in self.standing.offsets.items())
        seconds = monotonic() - self.since
        text = f"{self.state}, {seconds:.0f} s without progress, {stands or 'nowhere yet'}"
        text += f", {self.waiting} records wait"
        return f"{text}; last error {self.why}" if self.why else text


def _set_aside(plan: AgentSpec, settings: LaneSettings) -> SetAside | None:
    """What decides whose records wait; None where nobody has a quota."""
    if not plan.sets_aside or not (any(settings.quota) or settings.quotas):
        return None
    return SetAside(settings.quota, settings.quotas)


def _fits(records: Sequence[Any], start: int, end: int) -> bool:
    """Whether what was fetched lies between these positions: it may be of before a seek."""
    return not records or (start <= records[0].offset and records[-1].offset < end)
