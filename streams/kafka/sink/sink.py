"""`turnfold kafka sink`: the topics `history` and `dead-letters` into Delta tables, exactly once.

Read, gather, write (docs/kafka-tier.md). How far a partition has been written stands in the
tables, in the commits that wrote it; the group only shares the partitions out, its offsets
tell the lag.
A write continues in a thread while the next rows are gathered.
"""

import asyncio
import logging
import time
from collections.abc import Iterable
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
from sinks.shared import SharedHistory
from streams import gc_policy
from streams.errors import DataRefused, TurnfoldError
from streams.kafka.client import denials
from streams.kafka.client.admin import lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer, RawRecord
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.source import ConsumerSource
from streams.kafka.sink.batch import Batch
from streams.kafka.sink.options import SinkCounts, SinkOptions
from streams.kafka.sink.positions import Held, take_up
from streams.kafka.sink.writer import BatchWriter
from streams.observing.histogram import Histogram
from streams.observing.readiness import FETCH, WRITE, Assignment
from streams.topology import DEAD_LETTERS, name_in

log = logging.getLogger(__name__)

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


class Sink(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """One member of a sink's group. `run` returns after `stop`, or at the end with `once`."""

    def __init__(
        self, settings: KafkaSettings, history: SharedHistory, options: SinkOptions
    ) -> None:
        self.options = options
        self.history = history
        self._settings = settings
        self._batch = Batch()
        self._held: Held | None = None
        self._assignment = Assignment()
        self._asked = 0.0
        self._failure: Exception | None = None
        self._stopping = False
        self._leaves = options.once
        self._writer = BatchWriter(history, options, self._commit)
        self._flushing = asyncio.Lock()

    def stop(self, leave: bool = True) -> None:
        """Write what has gathered, leave the group, return. Without `leave` the partitions of one
        with a name wait for it to come back."""
        self._stopping, self._leaves = True, leave
        self._writer.is_last = True

    @property
    def counts(self) -> SinkCounts:
        """What it has read and written so far."""
        return self._writer.counts

    @property
    def seconds(self) -> Histogram:
        """How long its writes took."""
        return self._writer.seconds

    @property
    def partitions(self) -> int | None:
        """How many it reads; None before the group has given it any."""
        return None if self._held is None else len(self._held.apps)

    def oldest(self) -> float:
        """Seconds since the oldest message was read that is not committed; 0 without one."""
        began = self._batch.began if self._batch.upto else None
        since = self._writer.since if self._writer.since is not None else began
        return 0.0 if since is None else time.monotonic() - since

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, as `Readiness.ages`. A write is due `roll_seconds` after
        its first message was read."""
        return {
            FETCH: self._assignment.age(lambda: self._group.longest_unheard()),
            WRITE: max(0.0, self.oldest() - self.options.roll_seconds),
        }

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
                await self._writer.written()
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
                refused = denials.of(error)
                raise refused or TurnfoldError(f"sink {self.options.name}: {error!r}") from error
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

    def _take(self, held: Held, at: TopicPartition, records: Iterable[RawRecord]) -> None:
        repeats, start, batch = held.repeats[at], held.starts[at], self._batch
        letters = name_in(DEAD_LETTERS, self.options.generation)
        default = b"dead_letters" if at.topic == letters else b"none"
        for record in records:
            headers = dict(record.headers)
            header = headers.get("table") or default
            table = _NAMES.get(header) or header.decode("utf-8", "replace")
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

    async def _stands(self, held: Held) -> dict[TopicPartition, int]:
        """The next offset of each partition; none where they have been taken away."""
        try:
            return {at: await self._consumer.position(at) for at in held.apps}
        except KafkaError:
            return {}

    # --- writing ----------------------------------------------------------------------------

    async def _flush_if_due(self) -> None:
        if self._writer.is_done:
            await self._writer.written()
            if self._held is not None:
                self._group.resume(self._held.apps)
        batch = self._batch
        full = batch.bytes >= self.options.roll_bytes
        aged = batch.upto and time.monotonic() - batch.began >= self.options.roll_seconds
        if not full and not aged:
            return
        if await self._writer.is_free():
            await self._flush()
        elif self._held is not None:
            self._group.pause(self._held.apps)  # polled all the same: the group expects it

    async def _flush(self) -> None:
        """Hands what has gathered to a thread, once it has written what came before."""
        async with self._flushing:
            await self._writer.written()
            batch, self._batch = self._batch, Batch()
            if batch.upto:
                assert self._held is not None, "rows come from partitions that are held"
                self._writer.start(batch, self._held)

    async def _tell(self) -> None:
        """Nothing gathered: commits where reading stands, past the marks of transactions too."""
        held, now = self._held, time.monotonic()
        idle = not self._batch.upto and self._writer.is_idle
        if held is None or not idle or now - self._asked < ASK_EVERY:
            return
        self._asked = now
        stands = await self._stands(held)
        told = {**held.starts, **held.told}
        await self._commit(held, {at: offset for at, offset in stands.items() if offset > told[at]})

    async def _commit(self, held: Held, offsets: dict[TopicPartition, int]) -> None:
        """For the group's lag alone, so a failure costs nothing; and one that the group has
        forgotten commits nothing, for somebody else may be further."""
        if offsets and held is self._held and await self._group.commit(offsets):
            held.told.update(offsets)

    # --- partitions come and go ---------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Writes what has gathered: otherwise the next reader would read it again."""
        try:
            if await self._writer.is_free():
                await self._flush()
            if not await self._writer.is_free():
                await self._writer.abandon()
            await self._writer.written()
        except Exception as error:  # aiokafka would only log it
            self._failure = error
        self._assignment.end()
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
            self._held = await take_up(self._consumer, self.history, self.options, sorted(assigned))
            self._assignment.begin()
        except (KafkaTimeoutError, KafkaConnectionError) as error:
            self._failure = lost(self._settings, error)
        except Exception as error:
            self._failure = error


def _lost(error: OffsetOutOfRangeError) -> str:
    return f"{error}: these offsets have left the log before they were written"
