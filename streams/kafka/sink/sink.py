"""`turnfold sink`: the topics `history` and `dead-letters` into Delta tables, exactly once.

Read, gather, write (docs/sink.md). How far a partition has been written stands in the tables, in
the commits that wrote it; the group only shares the partitions out, its offsets tell the lag.
A write goes on in a thread while the next rows are gathered.
"""

import asyncio
import gc
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import (
    KafkaConnectionError,
    KafkaError,
    KafkaTimeoutError,
    OffsetOutOfRangeError,
)
from aiokafka.structs import TopicPartition

from schemas.rows import TABLES
from sinks.root import HistoryWriteError
from sinks.shared import SharedHistory
from streams import gc_policy
from streams.errors import ConfigurationError, DataRefused, TurnfoldError
from streams.kafka.agents.agents import own_specs
from streams.kafka.client.admin import connected, lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer, RawRecord
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.source import ConsumerSource
from streams.kafka.client.topics import ensure_topics
from streams.kafka.sink.batch import Batch
from streams.kafka.sink.repeats import WINDOW, Repeats
from streams.kafka.transport.processing import Span, no_span
from streams.observing.definitions import UPTO_MINUTES
from streams.observing.histogram import Histogram
from streams.observing.logs import OF_BROKER, place
from streams.topology import DEAD_LETTERS, HISTORY, name_in

log = logging.getLogger(__name__)

SOURCES = (HISTORY, DEAD_LETTERS)
_NAMES = {name.encode(): name for name in TABLES}
POLL_MS = 200
FETCH_BYTES = 4_000_000
SESSION_MS = 6_000
"""A sink that says nothing for so long is taken for dead: the least a broker allows by default."""
NAMED_SESSION_MS = 30_000
"""One with a name is expected back."""
HEARTBEAT_MS = 1_500
ASK_TOPICS_MS = 5_000
"""By then partitions that a topic has got while the sink runs are read, from their beginning."""
REBALANCE_MS = 60_000  # a write may take its time before a partition is given up
ASK_EVERY = 1.0  # seconds
WRITE_AGAIN = 5.0  # seconds
COLLECT_EVERY = 60.0
"""Seconds between two looks for cycles: clients leave few, and all that waits is looked at."""


@dataclass(frozen=True, slots=True)
class SinkOptions:
    """`name` is the consumer group and begins every app id; `instance` that of one member, which
    has its partitions again at once when it is started anew. A write begins when so many bytes of
    messages or seconds have gathered. `once`: end where the topics end now."""

    name: str = "sink"
    instance: str | None = None
    roll_bytes: int = 64_000_000
    roll_seconds: float = 10.0
    once: bool = False
    poll_records: int = 4_000
    observe: Callable[[str], None] = lambda point: None
    """Called with the points it passes: positioned, before TABLE, after TABLE, written, committed.
    For tests."""
    generation: str | None = None
    """Whose topics are read; None: the live memory's."""
    span: Span = no_span
    """Lasts as long as the write of these messages."""

    @property
    def group(self) -> str:
        """The consumer group."""
        return f"{self.name}.{self.generation}" if self.generation else self.name

    @property
    def topics(self) -> tuple[str, ...]:
        """What is read."""
        return tuple(name_in(topic, self.generation) for topic in SOURCES)


@dataclass(slots=True)
class SinkCounts:
    """Messages read (anew), of which repeats and misfits; rows and writes that made commits."""

    read: int = 0
    repeats: int = 0
    misfits: int = 0
    rows: int = 0
    writes: int = 0


async def owner(settings: KafkaSettings, options: SinkOptions) -> dict[str, str]:
    """Whose history a sink writes: its name, and the cluster that its offsets are of.

    Creates the topics that are missing. How many partitions there are is no matter: each message
    says by itself whose row it is. Raises ConfigurationError or Unreachable.
    """
    own = own_specs(options.generation, settings.partitions)
    await ensure_topics(settings, own, counted=False)
    async with connected(settings) as admin:
        cluster = await admin.describe_cluster()
    return {"sink": options.name, "cluster": str(cluster["cluster_id"])}


@dataclass(slots=True)
class _Held:
    """The partitions a sink holds from one rebalance to the next, and how far each is.

    `whole`: app id -> the last offset all tables have. `starts`: where reading anew begins, `ends`:
    where the log ended at first; `told`: what the group knows.
    """

    apps: dict[TopicPartition, str]
    whole: dict[str, int]
    starts: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]
    repeats: dict[TopicPartition, Repeats]
    told: dict[TopicPartition, int]


class Sink(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """One member of a sink's group. `run` returns after `stop`, or at the end with `once`.
    `seconds`: how long its writes took."""

    def __init__(
        self, settings: KafkaSettings, history: SharedHistory, options: SinkOptions
    ) -> None:
        self.options = options
        self.history = history
        self.counts = SinkCounts()
        self.seconds = Histogram(UPTO_MINUTES)
        self._settings = settings
        self._batch = Batch()
        self._writing_since: float | None = None
        self._held: _Held | None = None
        self._asked = 0.0
        self._collected = time.monotonic()
        self._failure: Exception | None = None
        self._stopping = False
        self._leaves = options.once
        self._writing: asyncio.Task[None] | None = None
        self._blocked = asyncio.Event()
        self._flushing = asyncio.Lock()

    def stop(self, leave: bool = True) -> None:
        """Write what has gathered, leave the group, return. Without `leave` the partitions of one
        with a name wait for it to come back."""
        self._stopping, self._leaves = True, leave

    @property
    def partitions(self) -> int | None:
        """How many it reads; None before the group has given it any."""
        return None if self._held is None else len(self._held.apps)

    def oldest(self) -> float:
        """Seconds since the oldest message was read that is not committed; 0 without one."""
        began = self._batch.began if self._batch.upto else None
        since = self._writing_since if self._writing_since is not None else began
        return 0.0 if since is None else time.monotonic() - since

    def behind(self) -> dict[TopicPartition, int]:
        """How many offsets of each partition are known to be there and not fetched."""
        held = self._held
        return {} if held is None else {at: self._group.behind(at) for at in held.apps}

    async def run(self) -> SinkCounts:
        """Raises TurnfoldError, or HistoryWriteError where a table cannot be written."""
        self._consumer: Any = KafkaConsumer(
            raw=True,
            group_id=self.options.group,
            group_instance_id=self.options.instance,
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="none",  # never pass over what the log has lost
            max_partition_fetch_bytes=FETCH_BYTES,
            session_timeout_ms=NAMED_SESSION_MS if self.options.instance else SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            metadata_max_age_ms=ASK_TOPICS_MS,
            max_poll_interval_ms=REBALANCE_MS * 10,
            **self._settings.client(),
        )
        self._consumer.subscribe(self.options.topics, listener=self)
        self._group = ConsumerSource(self._consumer, {})
        try:
            await self._consumer.start()
        except KafkaError as error:
            await self._consumer.stop()
            raise lost(self._settings, error) from None
        with gc_policy.paused():  # looking at all messages that wait takes a quarter of the time
            try:
                await self._loop()
                await self._flush()
                await self._written()
                await self._tell()
                if self._leaves:
                    await self._group.leave()
            finally:
                await self._consumer.stop()
        return self.counts

    async def _loop(self) -> None:
        while not self._stopping:
            try:
                found = await self._consumer.getmany(
                    timeout_ms=POLL_MS, max_records=self.options.poll_records
                )
            except OffsetOutOfRangeError as error:
                raise DataRefused(f"sink {self.options.name}: {_lost(error)}") from None
            except KafkaError as error:
                raise TurnfoldError(f"sink {self.options.name}: {error!r}") from error
            if self._failure is not None:
                raise self._failure
            if self._held is not None:
                for at, records in found.items():
                    self._take(self._held, at, records)
            await self._flush_if_due()
            if not found:
                if await self._is_done():
                    return
                await self._tell()

    # --- reading ----------------------------------------------------------------------------

    def _take(self, held: _Held, at: TopicPartition, records: Iterable[RawRecord]) -> None:
        repeats, start, batch = held.repeats[at], held.starts[at], self._batch
        letters = name_in(DEAD_LETTERS, self.options.generation)
        default = b"dead_letters" if at.topic == letters else b"none"
        for record in records:
            headers = dict(record.headers)
            said = headers.get("table") or default
            table = _NAMES.get(said) or said.decode("utf-8", "replace")
            is_repeat = repeats.is_repeat(table, headers)
            if record.offset < start:
                continue  # written; read again for what it repeats
            self.counts.read += 1
            batch.upto[at] = record.offset
            if is_repeat:
                self.counts.repeats += 1
            else:
                batch.add(at, table, record)

    async def _is_done(self) -> bool:
        held = self._held
        if held is None or not self.options.once:
            return False
        stands = await self._stands(held)
        return all(offset >= held.ends[at] for at, offset in stands.items())

    async def _stands(self, held: _Held) -> dict[TopicPartition, int]:
        """The next offset of each partition; none where they have been taken away."""
        try:
            return {at: await self._consumer.position(at) for at in held.apps}
        except KafkaError:
            return {}

    # --- writing ----------------------------------------------------------------------------

    async def _flush_if_due(self) -> None:
        if self._writing is not None and self._writing.done():
            await self._written()
            if self._held is not None:
                self._group.resume(self._held.apps)
        batch = self._batch
        full = batch.bytes >= self.options.roll_bytes
        aged = batch.upto and time.monotonic() - batch.began >= self.options.roll_seconds
        if not full and not aged:
            return
        if await self._is_free():
            await self._flush()
        elif self._held is not None:
            self._group.pause(self._held.apps)  # polled all the same: the group expects it

    async def _flush(self) -> None:
        """Hands what has gathered to a thread, once it has written what came before."""
        async with self._flushing:
            await self._written()
            batch, self._batch = self._batch, Batch()
            if batch.upto:
                self._writing = asyncio.create_task(self._write(batch))

    async def _abandon(self) -> None:
        """What the disk does not take, the partitions' next owner reads again."""
        task, self._writing = self._writing, None
        self._blocked.clear()
        if task is not None:
            task.cancel()
            await asyncio.wait({task})

    async def _is_free(self) -> bool:
        """Waits for the write under way; False where the disk does not take it."""
        if (task := self._writing) is None:
            return True
        blocked = asyncio.create_task(self._blocked.wait())
        await asyncio.wait({task, blocked}, return_when=asyncio.FIRST_COMPLETED)
        blocked.cancel()
        return task.done()

    async def _written(self) -> None:
        task = self._writing
        if task is not None:
            await asyncio.shield(task)
            if self._writing is task:
                self._writing = None

    async def _write(self, batch: Batch) -> None:
        held = self._held
        assert held is not None, "rows come from partitions that are held until they are written"
        self._writing_since = batch.began
        upto = {held.apps[at]: offset for at, offset in batch.upto.items()}
        with self.options.span("sink", batch.records()):
            began, rows = await self._stored(batch, held, upto)
        seconds, self._writing_since = time.monotonic() - began, None
        self.seconds.observe(seconds)
        self.options.observe("written")
        held.whole.update(upto)
        self.counts.rows += rows
        self.counts.misfits += batch.misfits
        self.counts.writes += 1
        if batch.misfits:
            log.error("%d messages are no rows: see dead_letters, reason bad_row", batch.misfits)
        log.info("%d rows written in %.2f s", rows, seconds)
        await self._commit(held, {at: offset + 1 for at, offset in batch.upto.items()})
        self.options.observe("committed")
        if began - self._collected > COLLECT_EVERY:
            self._collected = began
            gc.collect()

    async def _stored(self, batch: Batch, held: _Held, upto: dict[str, int]) -> tuple[float, int]:
        """When the write began that succeeded, and how many rows it wrote. Where the disk does not
        take them they wait until it does: the tables know what they have, so it is the same call.
        """
        began, failing = time.monotonic(), None
        pieces = await asyncio.to_thread(batch.pieces, held.apps)
        while True:
            try:
                rows = await asyncio.to_thread(
                    self.history.write, pieces, upto, dict(held.whole), self.options.observe
                )
            except HistoryWriteError as error:
                if not error.may_pass or self._stopping or self.options.once:
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

    async def _tell(self) -> None:
        """Nothing gathered: commits where reading stands, past the marks of transactions too."""
        held, now = self._held, time.monotonic()
        idle = not self._batch.upto and self._writing is None
        if held is None or not idle or now - self._asked < ASK_EVERY:
            return
        self._asked = now
        stands = await self._stands(held)
        told = {**held.starts, **held.told}
        await self._commit(held, {at: one for at, one in stands.items() if one > told[at]})

    async def _commit(self, held: _Held, offsets: dict[TopicPartition, int]) -> None:
        """For the group's lag alone, so a failure costs nothing."""
        if not offsets or held is not self._held:
            return
        try:
            await self._consumer.commit(offsets)
            held.told.update(offsets)
        except KafkaError as error:
            log.debug("offsets not committed: %r", error)

    # --- partitions come and go ---------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Writes what has gathered: whoever reads on would have to read it again."""
        try:
            if await self._is_free():
                await self._flush()
            if not await self._is_free():
                await self._abandon()
            await self._written()
        except Exception as error:  # aiokafka would only log it
            self._failure = error
        self._held, self._batch = None, Batch()
        if revoked and self.options.instance and self._group.forgotten:
            self._failure = self._failure or TurnfoldError(
                f"sink {self.options.name}: {self.options.instance} was away too long, or another "
                "one has its name; start it again if it is the only one"
            )
            # ends aiokafka's part at once: it would join again, and throw out who has the name
            raise asyncio.CancelledError

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Goes on where the tables say, whatever the group's offsets are."""
        try:
            self._held = await self._position(sorted(assigned))
        except (KafkaTimeoutError, KafkaConnectionError) as error:
            self._failure = lost(self._settings, error)
        except Exception as error:
            self._failure = error

    async def _position(self, assigned: list[TopicPartition]) -> _Held:
        consumer = self._consumer
        for at in assigned:  # before anything is awaited: nothing may be fetched from elsewhere
            consumer.pause(at)
            consumer.seek(at, 0)
        apps = {at: f"{self.options.name}-{at.topic}-{at.partition}" for at in assigned}
        whole = await asyncio.to_thread(self.history.positions, apps.values())
        begins = await consumer.beginning_offsets(assigned) if assigned else {}
        ends = await consumer.end_offsets(assigned) if assigned else {}
        starts = {at: _next(at, whole.get(apps[at]), begins[at], ends[at]) for at in assigned}
        for at in assigned:
            consumer.seek(at, max(begins[at], starts[at] - WINDOW))
        consumer.resume(*assigned)
        self.options.observe("positioned")
        log.info("%s: %d partitions", self.options.name, len(assigned), extra=OF_BROKER)
        return _Held(apps, whole, starts, ends, {at: Repeats() for at in assigned}, {})


def _next(at: TopicPartition, whole: int | None, begin: int, end: int) -> int:
    """The offset to go on from; raises where the topic is not the one the tables know."""
    if whole is None:
        if begin:
            log.warning(
                "%s/%d: begins at offset %d; the rows before it are gone", *at, begin,
                extra=place(at, begin),
            )  # fmt: skip
        return begin
    if whole + 1 > end:
        raise ConfigurationError(
            f"topic {at.topic}, partition {at.partition}: the history was written up to offset "
            f"{whole}, the topic ends at {end}: another topic of that name? sink it elsewhere"
        )
    if whole + 1 < begin:
        raise DataRefused(
            f"topic {at.topic}, partition {at.partition}: offsets {whole + 1} to {begin - 1} have "
            "left the log before they were written; fold the log again into a new history"
        )
    return whole + 1


def _lost(error: OffsetOutOfRangeError) -> str:
    return f"{error}: these offsets have left the log before they were written"
