"""`turnfold kafka sink`: writes `history` and `dead-letters` into Delta tables, exactly once.

Read, gather, write (docs/kafka-tier.md). The tables store each partition's position in the commits
that wrote it; the group only distributes partitions, and its offsets show the lag. A write runs in
a thread while the next messages are gathered.
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
from sinks.sink_history import SharedHistory
from streams import gc_policy
from streams.errors import DataRefused, TurnfoldError
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import lost
from streams.kafka.client.aiokafka_internals import KafkaConsumer, RawMessage
from streams.kafka.client.encryption import ERASED
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.sink.batch import SinkBatch
from streams.kafka.sink.options import SinkCounts, SinkOptions
from streams.kafka.sink.positions import SinkPositions, seek_assigned
from streams.kafka.sink.writer import BatchWriter
from streams.observability.metrics import Histogram
from streams.observability.readiness import FETCH, WRITE, Assignment
from streams.topology import DEAD_LETTERS, name_in

log = logging.getLogger(__name__)

_NAMES = {name.encode(): name for name in TABLES}
POLL_MS = 200
FETCH_BYTES = 4_000_000
SESSION_MS = 6_000
"""Session timeout of a sink: the minimum that brokers allow by default."""
NAMED_SESSION_MS = 30_000
"""With static membership."""
HEARTBEAT_MS = 1_500
METADATA_MAX_AGE_MS = 5_000
"""Metadata refresh, which finds new partitions; they are read from their start."""
REBALANCE_MS = 60_000  # a write may take long before a partition is revoked
COMMIT_EVERY = 1.0  # seconds


class Sink(ConsumerRebalanceListener):  # type: ignore[misc]  # aiokafka has no types
    """One member of a sink's group. `run` returns after `stop`, or at the end with `once`."""

    def __init__(
        self, settings: KafkaSettings, history: SharedHistory, options: SinkOptions
    ) -> None:
        self.options = options
        self.history = history
        self._settings = settings
        self._batch = SinkBatch()
        self._positions: SinkPositions | None = None
        self._assignment = Assignment()
        self._committed_at = 0.0
        self._failure: Exception | None = None
        self._stopping = False
        self._leaves = options.once
        self._writer = BatchWriter(history, options, self._commit)
        self._flushing = asyncio.Lock()

    def stop(self, leave: bool = True) -> None:
        """Writes gathered messages, leaves the group, returns. `leave`: False for a static member
        that will return: its partitions wait for it."""
        self._stopping, self._leaves = True, leave
        self._writer.is_last = True

    @property
    def counts(self) -> SinkCounts:
        return self._writer.counts

    @property
    def seconds(self) -> Histogram:
        return self._writer.seconds

    @property
    def partitions(self) -> int | None:
        """Number of assigned partitions, or None before the first assignment."""
        return None if self._positions is None else len(self._positions.apps)

    def oldest(self) -> float:
        """Seconds since the oldest uncommitted message was read; 0 without one."""
        began = self._batch.began if self._batch.upto else None
        since = self._writer.since if self._writer.since is not None else began
        return 0.0 if since is None else time.monotonic() - since

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, as `Readiness.ages`. A write is due `roll_seconds` after
        its first message was read."""
        return {
            FETCH: self._assignment.age(lambda: self._group.oldest_fetch_age()),
            WRITE: max(0.0, self.oldest() - self.options.roll_seconds),
        }

    def unfetched(self) -> dict[TopicPartition, int]:
        """Known offsets of each partition that are not fetched."""
        positions = self._positions
        return {} if positions is None else {tp: self._group.unfetched(tp) for tp in positions.apps}

    async def run(self) -> SinkCounts:
        """Raises TurnfoldError, or HistoryWriteError if a table cannot be written."""
        self._consumer: Any = KafkaConsumer(
            raw=True,
            group_id=self.options.group,
            group_instance_id=self.options.instance,
            enable_auto_commit=False,
            isolation_level="read_committed",
            auto_offset_reset="none",  # never skips deleted offsets
            max_partition_fetch_bytes=FETCH_BYTES,
            session_timeout_ms=NAMED_SESSION_MS if self.options.instance else SESSION_MS,
            heartbeat_interval_ms=HEARTBEAT_MS,
            rebalance_timeout_ms=REBALANCE_MS,
            metadata_max_age_ms=METADATA_MAX_AGE_MS,
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
        with gc_policy.paused():  # visiting all pending messages takes a quarter of the time
            try:
                await self._loop()
                await self._flush()
                await self._writer.written()
                await self._commit_idle()
                if self._leaves:
                    await self._group.leave()
            finally:
                await self._consumer.stop()
        return self.counts

    async def _loop(self) -> None:
        while not self._stopping:
            try:
                fetched = await self._consumer.getmany(
                    timeout_ms=POLL_MS, max_records=self.options.poll_records
                )
            except OffsetOutOfRangeError as error:
                raise DataRefused(f"sink {self.options.name}: {_lost_offsets(error)}") from None
            except KafkaError as error:
                refused = acl_errors.of(error)
                raise refused or TurnfoldError(f"sink {self.options.name}: {error!r}") from error
            if self._failure is not None:
                raise self._failure
            if self._positions is not None:
                for tp, messages in fetched.items():
                    self._take(self._positions, tp, messages)
            await self._flush_if_due()
            if not fetched:
                if await self._is_done():
                    return
                await self._commit_idle()

    # --- reading ----------------------------------------------------------------------------

    def _take(
        self, positions: SinkPositions, tp: TopicPartition, messages: Iterable[RawMessage]
    ) -> None:
        repeats, start, batch = positions.repeats[tp], positions.starts[tp], self._batch
        letters = name_in(DEAD_LETTERS, self.options.generation)
        default = b"dead_letters" if tp.topic == letters else b"none"
        for message in messages:
            headers = dict(message.headers)
            header = headers.get("table") or default
            table = _NAMES.get(header) or header.decode("utf-8", "replace")
            is_repeat = repeats.is_repeat(table, headers)
            if message.offset < start:
                continue  # written; read again to detect repeats
            self.counts.read += 1
            batch.upto[tp] = message.offset
            if is_repeat:
                self.counts.repeats += 1
            elif message.value is None and ERASED in message.headers:
                self.counts.erased += 1
            else:
                batch.add(tp, table, message)

    async def _is_done(self) -> bool:
        positions = self._positions
        if positions is None or not self.options.once:
            return False
        offsets = await self._read_offsets(positions)
        return all(offset >= positions.ends[tp] for tp, offset in offsets.items())

    async def _read_offsets(self, positions: SinkPositions) -> dict[TopicPartition, int]:
        """Next offset of each partition; empty if they were revoked."""
        try:
            return {tp: await self._consumer.position(tp) for tp in positions.apps}
        except KafkaError:
            return {}

    # --- writing ----------------------------------------------------------------------------

    async def _flush_if_due(self) -> None:
        if self._writer.is_done:
            await self._writer.written()
            if self._positions is not None:
                self._group.resume(self._positions.apps)
        batch = self._batch
        full = batch.bytes >= self.options.roll_bytes
        aged = batch.upto and time.monotonic() - batch.began >= self.options.roll_seconds
        if not full and not aged:
            return
        if await self._writer.is_free():
            await self._flush()
        elif self._positions is not None:
            self._group.pause(self._positions.apps)  # still polled, as the group requires

    async def _flush(self) -> None:
        """Starts a write of the gathered messages, after the previous write."""
        async with self._flushing:
            await self._writer.written()
            batch, self._batch = self._batch, SinkBatch()
            if batch.upto:
                assert self._positions is not None, "rows come from assigned partitions"
                self._writer.start(batch, self._positions)

    async def _commit_idle(self) -> None:
        """Commits the read offsets while idle, past control records of transactions."""
        positions, now = self._positions, time.monotonic()
        idle = not self._batch.upto and self._writer.is_idle
        if positions is None or not idle or now - self._committed_at < COMMIT_EVERY:
            return
        self._committed_at = now
        offsets = await self._read_offsets(positions)
        committed = {**positions.starts, **positions.committed}
        await self._commit(
            positions, {tp: offset for tp, offset in offsets.items() if offset > committed[tp]}
        )

    async def _commit(self, positions: SinkPositions, offsets: dict[TopicPartition, int]) -> None:
        """Commits to the group. The offsets only show lag, so failures are ignored; after a
        rebalance it commits no offsets, since the new owner may be further."""
        if offsets and positions is self._positions and await self._group.commit(offsets):
            positions.committed.update(offsets)

    # --- partitions come and go ---------------------------------------------------------------

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Writes gathered messages; otherwise the next owner reads them again."""
        try:
            if await self._writer.is_free():
                await self._flush()
            if not await self._writer.is_free():
                await self._writer.abandon()
            await self._writer.written()
        except Exception as error:  # aiokafka only logs it
            self._failure = error
        self._assignment.end()
        self._positions, self._batch = None, SinkBatch()
        if revoked and self.options.instance and self._group.forgotten:
            self._failure = self._failure or TurnfoldError(
                f"sink {self.options.name}: {self.options.instance} was away too long, or another "
                "one has its name; start it again if it is the only one"
            )
            # ends the membership: aiokafka would rejoin and displace the current member
            raise asyncio.CancelledError

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """Continues at the tables' positions, ignoring the group's offsets."""
        try:
            self._positions = await seek_assigned(
                self._consumer, self.history, self.options, sorted(assigned)
            )
            self._assignment.begin()
        except (KafkaTimeoutError, KafkaConnectionError) as error:
            self._failure = lost(self._settings, error)
        except Exception as error:
            self._failure = error


def _lost_offsets(error: OffsetOutOfRangeError) -> str:
    return f"{error}: these offsets have left the log before they were written"
