"""Follows all changelog partitions of a worker's tables with one consumer (docs/serving.md).

Whatever goes wrong ends that consumer: the next one goes on where each lane's newest whole
transaction ended. A broker that comes back after a crash may show less of a log, for a moment, than
it has; only one that stays short, or has markers of another log, is another changelog.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from time import monotonic
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.source import ConsumerSource
from streams.kafka.client.topics import refuse_under_way
from streams.kafka.transport.changelog import FETCH_BYTES
from streams.kafka.transport.layout import Layout
from streams.kafka.transport.restore import WHOLE_WITHIN
from streams.observing.logs import OF_BROKER
from streams.serving.backends.replica_lane import Remade, ReplicaLane

log = logging.getLogger(__name__)

NO_TOPIC = "no topic"

RETRIED = (KafkaError, OSError, TimeoutError)
BACKOFF, MAX_BACKOFF = 0.2, 2.0
FETCH_WAIT_MS = 100
REQUEST_MS = 10_000
RECORDS = 2_000
"""Of one partition at once: some 10 ms of the event loop's time, which requests wait for."""
LOOK_EVERY = 0.05
ASK_EVERY = 3.0
"""Seconds between two looks at how many partitions there are."""


class Absent(Exception):  # noqa: N818 - what it is
    """The changelogs are not there, or not all of them are there yet."""


class Following:
    """`topics` are the changelogs of `group`, `sources` what its workers read; `made` makes the
    lanes, once it is known how many there are of each. `why` says what it waits for while it does
    not follow."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        group: str,
        topics: Iterable[str],
        sources: Iterable[str],
        made: Callable[[int], Iterable[ReplicaLane]],
    ) -> None:
        self.lanes: dict[TopicPartition, ReplicaLane] = {}
        self.partitions = 0
        self.why = "starting"
        self._connection = connection
        self._group = group
        self._topics, self._sources = tuple(topics), tuple(sources)
        self._made = made
        self._short: dict[TopicPartition, float] = {}
        self._looked: dict[TopicPartition, float] = {}
        self._heard: dict[TopicPartition, tuple[int, float]] = {}

    async def run(self) -> None:
        """For ever.

        Raises:
            ConfigurationError: there are more partitions or fewer than there were: an answer would
                be looked for in the wrong table.
        """
        backoff = BACKOFF
        while True:
            began = monotonic()
            try:
                await self._follow()
            except (*RETRIED, Absent) as error:
                backoff = BACKOFF if monotonic() - began > MAX_BACKOFF else backoff
                if (why := str(error) or repr(error)) != self.why:
                    level = logging.WARNING if isinstance(error, Absent) else logging.ERROR
                    log.log(level, "changelogs: %s; tries again", why, extra=OF_BROKER)
                self.why = why
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, MAX_BACKOFF)

    async def _follow(self) -> None:
        consumer = KafkaConsumer(
            raw=True,
            **self._connection,
            isolation_level="read_committed",
            auto_offset_reset="none",
            enable_auto_commit=False,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            request_timeout_ms=REQUEST_MS,
        )
        try:
            await consumer.start()
            await self._know(consumer)
            consumer.assign(list(self.lanes))
            await self._seek(consumer)
            if self.why.startswith(NO_TOPIC):
                log.info("changelogs: found; reads on")
            self.why = ""
            await self._take(consumer)
        finally:
            await consumer.stop()

    async def _know(self, consumer: KafkaConsumer) -> None:
        """How many partitions there are; makes the lanes.

        Raises:
            Absent: the topics are not all there.
            ConfigurationError: they have other numbers of partitions than before, or than each
                other.
        """
        cluster = await consumer.client.fetch_all_metadata()
        every = (*self._topics, *self._sources)
        counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in every}
        refuse_under_way(cluster.topics())
        changelogs = [counts[topic] for topic in self._topics]
        count = self.partitions or max(changelogs)
        known = {topic: number for topic, number in counts.items() if number}
        if count and (why := Layout(self._group, count, known).difference()):
            raise ConfigurationError(why)
        if not all(changelogs):
            missing = ", ".join(topic for topic in self._topics if not counts[topic])
            raise Absent(f"{NO_TOPIC} {missing} yet: start a worker, or give its --app-id")
        if not self.partitions:
            self.lanes = {lane.at: lane for lane in self._made(count)}
            self.partitions = count

    async def _seek(self, consumer: KafkaConsumer) -> None:
        every = list(self.lanes)
        beginnings = await consumer.beginning_offsets(every)
        ends = await consumer.end_offsets(every)
        for at, lane in self.lanes.items():
            try:
                self._check_length(lane, ends[at])
                lane.begin(beginnings[at], ends[at])
            except Remade as error:
                _begin_anew(lane, error)
                lane.begin(beginnings[at], ends[at])
            consumer.seek(at, lane.position)
            self._looked[at] = monotonic()
        self._heard.clear()

    def _check_length(self, lane: ReplicaLane, end: int) -> None:
        """Whether the changelog has what was read of it.

        Raises:
            OSError: not now.
            Remade: it has not got it back for `WHOLE_WITHIN` seconds.
        """
        if end >= lane.standing.position:
            self._short.pop(lane.at, None)
            return
        since = self._short.setdefault(lane.at, monotonic())
        said = f"{lane.at.topic}/{lane.at.partition} ends at {end}, was read up to {lane.position}"
        if monotonic() - since < WHOLE_WITHIN:
            raise OSError(said)
        del self._short[lane.at]
        raise Remade(said)

    async def _take(self, consumer: KafkaConsumer) -> None:
        source = ConsumerSource(consumer, self._connection)
        looked, asked = 0.0, monotonic()
        while True:
            if monotonic() - asked > ASK_EVERY:
                asked = monotonic()
                await self._know(consumer)
            fetched = await consumer.getmany(timeout_ms=FETCH_WAIT_MS, max_records=RECORDS)
            due = monotonic() - looked > LOOK_EVERY
            for at in self.lanes if due else fetched:
                self._look(self.lanes[at], source, fetched.get(at, ()))
            if due:
                looked = monotonic()
            await asyncio.sleep(0)  # a restore leaves requests their turn

    def _look(self, lane: ReplicaLane, source: ConsumerSource, records: Any) -> None:
        """What was fetched of a partition, and what the broker said of its end.

        Raises:
            OSError: it is another changelog; the lane has begun anew.
        """
        state = source.state(lane.at)
        try:
            lane.take(records, state.position)
        except Remade as error:
            _begin_anew(lane, error)
            raise OSError(f"{lane.at.topic}/{lane.at.partition}: {error}") from None
        before, self._looked[lane.at] = self._looked[lane.at], monotonic()
        if state.timestamp and state.lso is not None:
            # the answer came since the look before; its own time is of a clock that may be set
            stamp, when = self._heard.get(lane.at, (0, before))
            when = when if stamp == state.timestamp else before
            self._heard[lane.at] = state.timestamp, when
            lane.heard(state.lso, when)


def _begin_anew(lane: ReplicaLane, error: Remade) -> None:
    log.error("%s, partition %d: %s: its rows are read anew", *lane.at, error)
    lane.forget()
