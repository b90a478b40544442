"""Faust's consumer over aiokafka, a partition's whole fetch at a time (docs/kafka-tier.md).

It drives aiokafka on the app's own loop: Faust's driver has a thread for it, and every fetch then
crosses two queues. Faust keeps assignment, agents and flow control; its acks and commits are off,
since lanes go by the markers in their transactions.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Iterable, Mapping
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
from faust.types import TP, ConsumerMessage, Message

from streams.errors import TurnfoldError
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.source import ConsumerSource
from streams.observing.logs import OF_BROKER

if TYPE_CHECKING:
    from streams.kafka.transport.app import App

log = logging.getLogger(__name__)

GETMANY_MS = 1_000
OFFSETS_EVERY = 0.2
"""Seconds by which the group's committed offsets may trail the markers."""
LAST_ATTEMPTS = 3
"""To commit them when the worker ends: a group that rebalances takes none."""
FETCH_WAIT_MS = 100
FETCH_BYTES = 2 * 1024 * 1024


class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
    """Faust's way through a rebalance, and the lanes'. aiokafka only logs what is raised here, so
    everything that goes wrong ends the worker."""

    def __init__(self, consumer: "Consumer") -> None:
        self._consumer = consumer

    async def on_partitions_revoked(self, revoked: set[TopicPartition]) -> None:
        consumer = self._consumer
        consumer.app.on_rebalance_start()
        try:
            await consumer.app.lanes.revoke()
            consumer.check_membership(bool(revoked))
            await consumer.tell_offsets()
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
        """Ends the worker, and aiokafka's part in the group at once: it would join again, and
        throw out a worker that has come in this one's place."""
        log.critical("the rebalance fails: %s", error)
        await self._consumer.app.crash(error)
        raise asyncio.CancelledError


class Consumer(base.Consumer):
    """`kafka` is the group's aiokafka consumer; lanes pause, seek and resume its partitions through
    `source`."""

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
            # without Faust tables its own driver takes RoundRobin, which does not co-partition
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
        self._untold: dict[TopicPartition, int] = {}
        self._telling = asyncio.create_task(self._tell_offsets(), name="offsets")
        self.app.lanes.attach(self.source, self._crash, self._stands)

    def _crash(self, error: BaseException) -> None:
        self.app.add_future(self.app.crash(error))

    def _stands(self, offsets: Mapping[TopicPartition, int]) -> None:
        """Faust's sensors hear what is committed, the group a moment later."""
        self.app.monitor.on_tp_commit({TP(*at): offset for at, offset in offsets.items()})
        self._untold.update(offsets)

    async def _tell_offsets(self) -> None:
        while True:
            await asyncio.sleep(OFFSETS_EVERY)
            await self.tell_offsets()

    async def tell_offsets(self) -> None:
        """Commits to the group what has changed. Lanes go by their markers, and tell where they
        stand when they open: these offsets are for `lag` and other tools alone, and a transaction
        that holds them takes almost twice as long."""
        untold, self._untold = self._untold, {}
        told = False
        try:
            told = not untold or await self.source.commit(untold)
        finally:  # it may be cancelled, too
            if not told:
                self._untold = {**untold, **self._untold}

    async def _tell_the_last(self) -> None:
        """Else `lag` would show what is done as still to do for as long as no worker runs."""
        for _ in range(LAST_ATTEMPTS):
            await self.tell_offsets()
            if not self._untold:
                return
            await asyncio.sleep(OFFSETS_EVERY)

    def check_membership(self, had_partitions: bool) -> None:
        """A worker with a name (static membership) that the group has forgotten ends: aiokafka
        would join again under the same name, and push out the member that has it now.

        Raises:
            TurnfoldError: that worker's end.
        """
        name = self.app.conf.consumer_group_instance_id
        if name and had_partitions and self.source.forgotten:
            raise TurnfoldError(
                f"group {self.app.conf.id}: {name} was away too long, or another worker has its "
                "name; start it again if it is the only one"
            )

    async def on_stop(self) -> None:
        """Lanes end their transactions, then the group is left: their next owner need not wait. A
        worker with a name only leaves when told to (`App.leaves`): it is expected back."""
        await self.app.lanes.close()
        self._telling.cancel()
        await asyncio.wait({self._telling})
        await self._tell_the_last()
        if self.app.leaves:
            await self.source.leave()
        await self.kafka.stop()

    # --- fetching -------------------------------------------------------------------------------

    async def _drain_messages(self, fetcher: Any) -> None:
        """Faust's fetch loop: one message a fetched chunk."""
        while not (self.should_stop or fetcher.should_stop):
            if not self.flow_active:
                await self.wait(self.can_resume_flow.wait())
                continue
            try:
                fetched = await self.kafka.getmany(timeout_ms=GETMANY_MS)
            except (ConsumerStoppedError, asyncio.CancelledError):
                return  # it ends; Faust's fetcher would fail, if that is during a rebalance
            for at, records in fetched.items():
                await self._deliver(at, records)

    async def _deliver(self, at: TopicPartition, records: list[Any]) -> None:
        try:
            end = await self.kafka.position(at)
        except IllegalStateError:  # revoked meanwhile; its next owner reads it again
            return
        chunk = self.app.lanes.chunk(at, records, end)
        if chunk is not None:
            self.app.monitor.track_tp_end_offset(at, self.highwater(at))
            await self.callback(self._to_message(TP(*at), chunk))

    def _to_message(self, tp: TP, record: Any) -> ConsumerMessage:
        """A chunk as Faust's message: the chunk is the value, its first record gives the rest."""
        first = record.records[0]
        return ConsumerMessage(
            tp.topic, tp.partition, first.offset, first.timestamp / 1000, first.timestamp_type,
            None, None, record, None, 0, 0, tp, generation_id=self.app.consumer_generation_id,
        )  # fmt: skip

    # --- what Faust asks ------------------------------------------------------------------------

    async def subscribe(self, topics: Iterable[str]) -> None:
        """Joins the group, if the topics are what the lanes need."""
        names = set(topics)
        asked = names | {plan.changelog for plan in self.app.lanes.plans}
        self.app.lanes.check({name: await self._partitions(name) for name in asked})
        self.kafka.subscribe(topics=names, listener=Listener(self))

    async def _partitions(self, topic: str) -> int:
        """0 where a broker says that there is none; without a broker it asks on."""
        client = self.kafka.client
        while True:
            try:
                return await client.count_partitions(topic)
            except UnknownTopicOrPartitionError:
                with contextlib.suppress(KafkaError):
                    known = await client.fetch_all_metadata()
                    return len(known.partitions_for_topic(topic) or ())
            log.warning("no broker says what %s is; asks again", topic, extra=OF_BROKER)
            await asyncio.sleep(1.0)

    async def perform_seek(self) -> None:
        """Faust would go back to the committed offsets; lanes have gone where they stand."""

    def pause_partitions(self, tps: Iterable[TP]) -> None:
        """Only lanes pause and resume."""

    def resume_partitions(self, tps: Iterable[TP]) -> None:
        """Only lanes pause and resume."""

    async def commit(self, topics: Any = None, start_new_transaction: bool = True) -> bool:
        """Lanes commit."""
        return False

    def assignment(self) -> set[TP]:
        return ensure_TPset(self.kafka.assignment()) if hasattr(self, "kafka") else set()

    def highwater(self, tp: TP) -> int:
        state = self.source.state(TopicPartition(*tp))
        return int(state.lso or 0) if state is not None else 0

    def topic_partitions(self, topic: str) -> int | None:
        found = self.kafka.client.cluster.partitions_for_topic(topic)
        return len(found) if found else None

    async def position(self, tp: TP) -> int | None:
        position: int | None = await self.kafka.position(TopicPartition(*tp))
        return position

    async def earliest_offsets(self, *partitions: TP) -> Mapping[TP, int]:
        found = await self.kafka.beginning_offsets([TopicPartition(*tp) for tp in partitions])
        return {TP(*tp): offset for tp, offset in found.items()}

    async def highwaters(self, *partitions: TP) -> Mapping[TP, int]:
        found = await self.kafka.end_offsets([TopicPartition(*tp) for tp in partitions])
        return {TP(*tp): offset for tp, offset in found.items()}

    def key_partition(
        self, topic: str, key: bytes | None, partition: int | None = None
    ) -> int | None:
        return partition

    def _new_topicpartition(self, topic: str, partition: int) -> TP:
        return TP(topic, partition)

    def close(self) -> None:
        """Faust calls it when a rebalance meets a worker that stops; on_stop does the work."""

    async def create_topic(self, topic: str, *args: Any, **options: Any) -> None:
        raise NotImplementedError(f"{topic}: topics are made by streams.kafka.client.topics")

    async def seek_to_committed(self) -> Mapping[TP, int]:
        raise NotImplementedError("lanes seek")

    async def seek_wait(self, partitions: Mapping[TP, int]) -> None:
        raise NotImplementedError("lanes seek")

    async def _seek(self, partition: TP, offset: int) -> None:
        raise NotImplementedError("lanes seek")

    async def _commit(self, offsets: Mapping[TP, int]) -> bool:
        raise NotImplementedError("lanes commit")

    async def _getmany(self, active_partitions: set[TP] | None, timeout: float) -> Any:
        raise NotImplementedError("_drain_messages fetches")

    async def getmany(self, timeout: float) -> AsyncIterator[tuple[TP, Message]]:
        raise NotImplementedError("_drain_messages fetches")
        yield
