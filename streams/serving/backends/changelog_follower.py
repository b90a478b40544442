"""Follows all changelog partitions of a worker's tables with one consumer (docs/serving.md).

Any error ends that consumer; the next one continues from the position of each table.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import aclosing
from time import monotonic
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client import acl_errors
from streams.kafka.client.aiokafka_internals import Client
from streams.kafka.client.name_prefix import prefix_of
from streams.kafka.client.topics import check_no_repartition
from streams.kafka.transport.changelog import Replaced
from streams.kafka.transport.changelog_reader import Follower
from streams.kafka.transport.disk_rows import Damaged, Taken
from streams.kafka.transport.partition_check import Layout
from streams.observability.logs import OF_BROKER
from streams.serving.backends.replica_lane import ReplicaLane

log = logging.getLogger(__name__)

NO_TOPIC = "no topic"
ON_DISK = "rows on disk cannot be used; the server's log says why"
"""The path is omitted, as every client can request this text."""

RETRIED = (KafkaError, OSError, TimeoutError)
BACKOFF, MAX_BACKOFF = 0.2, 2.0
REQUEST_MS = 10_000
RECORDS = 2_000
"""Maximum per partition at once: about 10 ms of the event loop's time, which delays requests."""
ASK_EVERY = 3.0
"""Seconds between two checks of the number of partitions."""


class Absent(Exception):  # noqa: N818 - what it is
    """Some changelogs do not exist yet."""


class Following:
    """`topics` are the changelogs of `group`, `sources` the topics that its workers read.
    `make_lane` makes the lane of a changelog's partition, once their number is known. `why`: the
    reason, while it does not follow."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        group: str,
        topics: Iterable[str],
        sources: Iterable[str],
        make_lane: Callable[[TopicPartition, int], ReplicaLane],
    ) -> None:
        self.lanes: dict[TopicPartition, ReplicaLane] = {}
        self.partitions = 0
        self.why = "starting"
        self._answered_at = monotonic()
        self._connection = {**connection, "request_timeout_ms": REQUEST_MS}
        self._group = group
        self._topics, self._sources = tuple(topics), tuple(sources)
        self._made = make_lane

    @property
    def unheard(self) -> float:
        """Seconds since the broker last answered for the partition that has waited longest."""
        answered = (lane.progress.answered_at for lane in self.lanes.values())
        return monotonic() - min(answered, default=self._answered_at)

    async def run(self) -> None:
        """For ever.

        Raises:
            ConfigurationError: there are more partitions or fewer than there were: an answer would
                be looked for in the wrong table; or the broker's ACLs do not let us read.
            StoreError: rows cannot be written to disk, most likely for want of room.
        """
        backoff, reported = BACKOFF, ""
        while True:
            began = monotonic()
            try:
                await self._follow()
            except (*RETRIED, Absent) as error:
                if (refused := acl_errors.of(error)) is not None:
                    raise refused from error
                backoff = BACKOFF if monotonic() - began > MAX_BACKOFF else backoff
                if (why := str(error) or repr(error)) != reported or not self.why:
                    level = logging.WARNING if isinstance(error, Absent) else logging.ERROR
                    log.log(level, "changelogs: %s; tries again", why, extra=OF_BROKER)
                reported = why
                self.why = ON_DISK if isinstance(error, Damaged | Taken) else why
            await asyncio.sleep(backoff)
            backoff = min(2 * backoff, MAX_BACKOFF)

    async def _follow(self) -> None:
        try:
            async with Follower(self._connection, RECORDS) as follower:
                await self._know(follower.client)
                for lane in self.lanes.values():
                    await lane.reopen()
                await self._take(follower)
        except Replaced as error:
            log.error("%s, partition %d: %s: its rows are read again", *error.at, error.why)
            await self.lanes[error.at].forget()
            raise

    async def _take(self, follower: Follower) -> None:
        checked_at = monotonic()
        lanes = [lane.progress for lane in self.lanes.values()]
        async with aclosing(follower.read(lanes, for_ever=True)) as reading:
            async for progress, chunk in reading:
                if self.why.startswith(NO_TOPIC):
                    log.info("changelogs: found; reads on")
                self.why = ""
                lane = self.lanes[progress.at]
                await lane.rows.rest()
                lane.take(chunk)
                if monotonic() - checked_at > ASK_EVERY:
                    checked_at = monotonic()
                    await self._know(follower.client)

    async def _know(self, client: Client) -> None:
        """How many partitions there are; makes the lanes.

        Raises:
            Absent: the topics are not all there.
            ConfigurationError: they have other numbers of partitions than before, or than each
                other.
        """
        cluster = await client.fetch_all_metadata()
        self._answered_at = monotonic()
        every = (*self._topics, *self._sources)
        counts = {topic: len(cluster.partitions_for_topic(topic) or ()) for topic in every}
        check_no_repartition(cluster.topics())
        changelogs = [counts[topic] for topic in self._topics]
        count = self.partitions or max(changelogs)
        layout_counts = {topic: number for topic, number in counts.items() if number}
        layout = Layout(self._group, count, layout_counts, prefix_of(self._connection))
        if count and (why := layout.difference()):
            raise ConfigurationError(why)
        if not all(changelogs):
            missing = ", ".join(topic for topic in self._topics if not counts[topic])
            raise Absent(f"{NO_TOPIC} {missing} yet: start a worker, or give its --app-id")
        if not self.partitions:
            for at in (TopicPartition(topic, n) for topic in self._topics for n in range(count)):
                self.lanes[at] = self._made(at, count)
            self.partitions = count
