"""Faust's consumer over aiokafka, one fetch of a partition at a time (docs/kafka-tier.md).

It drives aiokafka on the app's own loop: Faust's driver uses a thread, so that every fetch crosses
two queues. Faust keeps assignment, agents and flow control. Its acks and commits are off, since
lanes use the markers in their transactions.
"""

import asyncio
import contextlib
import logging
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from aiokafka.abc import ConsumerRebalanceListener
from aiokafka.errors import (
    ConsumerStoppedError,
    IllegalStateError,
    KafkaError,
    UnknownTopicOrPartitionError,
)
from aiokafka.structs import TopicPartition
from faust.transport import consumer as base
from faust.transport.consumer import ensure_TPset
from faust.types import TP, ConsumerMessage

from streams.errors import TurnfoldError
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.group_source import ConsumerSource
from streams.observability.logs import OF_BROKER

if TYPE_CHECKING:
    from streams.kafka.transport.app import App

log = logging.getLogger(__name__)

GETMANY_MS = 1_000
OFFSETS_EVERY = 0.2
"""Seconds between commits of the group's offsets, which trail the markers."""
LAST_ATTEMPTS = 3
"""Attempts to commit offsets at shutdown: a rebalancing group rejects them."""
FETCH_WAIT_MS = 100
FETCH_BYTES = 2 * 1024 * 1024


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Handles a rebalance for Faust and the lanes. aiokafka only logs exceptions of listeners, so
    every failure stops the worker."""

    def __init__(self, consumer: "Consumer") -> None:
        self._consumer = consumer

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        consumer = self._consumer
        consumer.app.on_rebalance_start()
        try:
            await consumer.app.lanes.revoke()
            consumer.check_membership(bool(revoked))
            await consumer.end_reports()
            await consumer.on_partitions_revoked(ensure_TPset(revoked))
        except Exception as error:
            await self._end(error)

    async def on_partitions_assigned(self, assigned: set[TopicPartition]) -> None:
        consumer = self._consumer
        generation = consumer.kafka.coordinator.generation
        consumer.app.consumer_generation_id = generation
        try:
            consumer.source.pause(assigned)
            await consumer.app.lanes.check_layout()
            standbys = consumer.app.assignor.assigned_standbys()
            await consumer.app.lanes.assign(assigned, generation, standbys)
            await consumer.on_partitions_assigned(ensure_TPset(assigned), generation)
        except Exception as error:
            await self._end(error)

    async def _end(self, error: Exception) -> None:
        """Stops the worker and aiokafka's group membership at once: aiokafka would join again and
        displace this worker's successor."""
        log.critical("the rebalance failed: %s", error)
        await self._consumer.app.crash(error)
        raise asyncio.CancelledError


class Consumer(base.Consumer):
    """Consumer of the group. `kafka`: its aiokafka consumer; lanes pause, seek and resume
    partitions through `source`."""

    app: "App"
    kafka: KafkaConsumer
    source: ConsumerSource
    consumer_stopped_errors = (ConsumerStoppedError,)

    async def on_start(self) -> None:
        await super().on_start()
        conf = self.app.conf
        self.kafka = KafkaConsumer(
            **self.app.connection,
            client_id=conf.broker_client_id,
            group_id=conf.id,
            group_instance_id=conf.consumer_group_instance_id,
            # without Faust tables the default is RoundRobin, which does not co-partition
            partition_assignment_strategy=[self.app.assignor],
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            fetch_max_wait_ms=FETCH_WAIT_MS,
            max_partition_fetch_bytes=FETCH_BYTES,
            max_poll_interval_ms=int((conf.broker_max_poll_interval or 0) * 1000),
            request_timeout_ms=int(conf.broker_request_timeout * 1000),
            session_timeout_ms=int(conf.broker_session_timeout * 1000),
            rebalance_timeout_ms=int(conf.broker_rebalance_timeout * 1000),
            heartbeat_interval_ms=int(conf.broker_heartbeat_interval * 1000),
            check_crcs=conf.broker_check_crcs,
            metadata_max_age_ms=conf.consumer_metadata_max_age_ms,
            connections_max_idle_ms=conf.consumer_connections_max_idle_ms,
        )
        await self.kafka.start()
        self.source = ConsumerSource(self.kafka, self.app.connection)
        self._unreported: dict[TopicPartition, int] = {}
        self._report = asyncio.Lock()
        self._reporting = asyncio.create_task(self._report_offsets(), name="offsets")
        self.app.lanes.attach(self.source, self._crash, self._committed)

    def _crash(self, error: BaseException) -> None:
        self.app.add_future(self.app.crash(error))

    def _committed(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Reports committed offsets to Faust's sensors; the group gets them a moment later."""
        self.app.monitor.on_tp_commit({TP(*tp): offset for tp, offset in offsets.items()})
        self._unreported.update(offsets)

    async def _report_offsets(self) -> None:
        while True:
            await asyncio.sleep(OFFSETS_EVERY)
            await self.report_offsets()

    async def report_offsets(self) -> None:
        """Commits changed offsets to the group. Lanes use their markers and report their position
        when they open: these offsets serve `lag` and other tools only, and a transaction that
        includes them takes almost twice as long."""
        async with self._report:
            offsets, self._unreported = self._unreported, {}
            is_reported = False
            try:
                is_reported = not offsets or await self.source.commit(offsets)
            finally:  # even if cancelled
                if not is_reported:
                    self._unreported = {**offsets, **self._unreported}

    async def end_reports(self) -> None:
        """Commits offsets before a rebalance, and drops those that the group rejects: each lane
        reports its position when it opens, here or at another member, and the coordinator would
        accept an older one after that."""
        await self.report_offsets()
        self._unreported = {}

    async def _report_last_offsets(self) -> None:
        """Commits the remaining offsets at shutdown; otherwise `lag` counts processed records as
        pending while no worker runs."""
        for _ in range(LAST_ATTEMPTS):
            await self.report_offsets()
            if not self._unreported:
                return
            await asyncio.sleep(OFFSETS_EVERY)

    def check_membership(self, had_partitions: bool) -> None:
        """Stops a worker with static membership that the group has removed: aiokafka would join
        again under the same name and displace the current member.

        Raises:
            TurnfoldError: this worker was removed.
        """
        name = self.app.conf.consumer_group_instance_id
        if name and had_partitions and self.source.forgotten:
            raise TurnfoldError(
                f"group {self.app.conf.id}: {name} was away too long, or another worker has its "
                "name; start it again if it is the only one"
            )

    async def on_stop(self) -> None:
        """Ends the lanes' transactions, then leaves the group, so that the next owner need not
        wait. A worker with static membership only leaves if `App.leaves` is set."""
        await self.app.lanes.close()
        self._reporting.cancel()
        await asyncio.wait({self._reporting})
        await self._report_last_offsets()
        if self.app.leaves:
            await self.source.leave()
        await self.kafka.stop()

    # --- fetching -------------------------------------------------------------------------------

    async def _drain_messages(self, fetcher: Any) -> None:
        """Faust's fetch loop: one Faust message per fetched chunk."""
        while not (self.should_stop or fetcher.should_stop):
            if not self.flow_active:
                await self.wait(self.can_resume_flow.wait())
                continue
            try:
                fetched = await self.kafka.getmany(timeout_ms=GETMANY_MS)
            except (ConsumerStoppedError, asyncio.CancelledError):
                return  # stopping; during a rebalance Faust's fetcher would fail
            except (TurnfoldError, OSError) as error:  # the key store cannot be read
                self._crash(error)
                return
            for tp, messages in fetched.items():
                await self._deliver(tp, messages)

    async def _deliver(self, tp: TopicPartition, messages: list[Any]) -> None:
        try:
            end = await self.kafka.position(tp)
        except IllegalStateError:  # revoked; the next owner reads it again
            return
        chunk = self.app.lanes.chunk(tp, messages, end)
        if chunk is not None:
            self.app.monitor.track_tp_end_offset(tp, self.highwater(tp))
            await self.callback(self._to_message(TP(*tp), chunk))

    def _to_message(self, tp: TP, chunk: Any) -> ConsumerMessage:
        """Wraps a chunk as the value of a Faust message; the chunk's first message supplies the
        metadata."""
        first = chunk.messages[0]
        return ConsumerMessage(
            tp.topic, tp.partition, first.offset, first.timestamp / 1000, first.timestamp_type,
            None, None, chunk, None, 0, 0, tp, generation_id=self.app.consumer_generation_id,
        )  # fmt: skip

    # --- what Faust asks ------------------------------------------------------------------------

    async def subscribe(self, topics: Iterable[str]) -> None:
        names = set(topics)
        needed = names | {plan.changelog for plan in self.app.lanes.plans}
        self.app.lanes.check({name: await self._partitions(name) for name in needed})
        self.kafka.subscribe(topics=names, listener=Listener(self))

    async def _partitions(self, topic: str) -> int:
        """Number of partitions; 0 if a broker reports the topic missing. Retries while no broker
        responds."""
        client = self.kafka.client
        while True:
            try:
                return await client.count_partitions(topic)
            except UnknownTopicOrPartitionError:
                with contextlib.suppress(KafkaError):
                    metadata = await client.fetch_all_metadata()
                    return len(metadata.partitions_for_topic(topic) or ())
            log.warning("no broker reports the partitions of %s; retrying", topic, extra=OF_BROKER)
            await asyncio.sleep(1.0)

    async def perform_seek(self) -> None:
        """Disabled: Faust would seek to the committed offsets; lanes seek to their markers."""

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        """Only lanes pause and resume."""

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Only lanes pause and resume."""

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Disabled, as lanes commit."""
        return False

    def assignment(self) -> set[TP]:
        return ensure_TPset(self.kafka.assignment()) if hasattr(self, "kafka") else set()

    def highwater(self, tp: TP) -> int:
        state = self.source.state(TopicPartition(*tp))
        return int(state.lso or 0) if state is not None else 0

    def topic_partitions(self, topic: str) -> int | None:
        partitions = self.kafka.client.cluster.partitions_for_topic(topic)
        return len(partitions) if partitions else None

    async def position(self, tp: TP) -> int | None:
        position: int | None = await self.kafka.position(TopicPartition(*tp))
        return position

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    def close(self) -> None:
        """Disabled: Faust calls it if a rebalance meets a stopping worker; `on_stop` does the
        work."""

    def key_partition(self, topic: str, *_: Any) -> int | None:
        raise NotImplementedError(f"{topic}: lanes choose partitions")

    async def _unused(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("lanes restore, seek and commit, _drain_messages fetches")

    create_topic = earliest_offsets = highwaters = seek_to_committed = seek_wait = _unused
    _seek = _commit = _getmany = _unused
