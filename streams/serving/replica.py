"""Memory out of Kafka: a read replica of the workers' tables (docs/serving.md).

It follows all partitions of both changelogs, committed transactions only, and so answers every key
by itself. Records go into their topics; the markers in the changelogs tell when they are applied.
"""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from aiokafka.structs import TopicPartition

from streams import topology
from streams.folds.rows import Input, Rows
from streams.kafka.admin import connected
from streams.kafka.agents import changelog_name
from streams.kafka.partitions import partition_of
from streams.kafka.routing import route, route_of
from streams.kafka.rows import MemoryRows, RowStore
from streams.kafka.settings import KafkaSettings
from streams.observing.readiness import Readiness
from streams.serving.changes import Changes
from streams.serving.following import Following
from streams.serving.memory import Busy, NotReady, Outcome, Table, ended_of
from streams.serving.replica_lane import ReplicaLane
from streams.serving.writing import Message, NotAppended, Writing

log = logging.getLogger(__name__)

STALE_AFTER = 10.0
"""Seconds: an answer has all that was committed so long ago, or there is none."""
STEP = 256
"""Records that are routed before other requests have a turn."""
MOST_RECORDS, MOST_BYTES = 50_000, 64_000_000
"""What may wait to be applied, of all requests together."""

AGENTS: dict[Table, topology.Agent] = {
    "sessions": topology.SESSION_AGENT,
    "users": topology.MEMORY_AGENT,
}
TABLES: dict[str, Table] = {
    topic.name: table for table, agent in AGENTS.items() for topic in agent.sources
}
"""The table that a source topic's records are folded into."""


class _Sent(NamedTuple):
    """A record on its way: its place in the request, and the lane that will show it."""

    place: int
    lane: ReplicaLane
    message: Message


class ReplicaMemory:
    """Implements `streams.serving.memory.Memory`. `group` names the workers' changelogs: their app
    id, with a dot and the generation's name behind it where they have one.

    `rows` makes where a lane's rows lie, by the changelog's name and partition.
    """

    def __init__(
        self,
        kafka: KafkaSettings,
        group: str,
        history: Path | None = None,
        rows: Callable[[str], RowStore] = lambda lane: MemoryRows(),
    ) -> None:
        self.history = history
        self.changes = Changes()
        self._kafka = kafka
        self._group = group
        self._rows = rows
        self._waiting = self._waiting_bytes = 0  # records
        self._tasks: list[asyncio.Task[None]] = []
        self._failed: BaseException | None = None
        connection = kafka.client()
        self._topics = {table: changelog_name(group, agent) for table, agent in AGENTS.items()}
        self._following = Following(connection, self._topics.values(), self._lanes)
        self._writing = Writing(connection)

    async def __aenter__(self) -> Self:
        """Begins to restore, and does not wait for it.

        Raises:
            ConfigurationError: the broker refuses us.
            Unreachable: no broker answers.
        """
        async with connected(self._kafka):
            pass
        loop = asyncio.get_running_loop()
        for part in (self._following.run(), self._writing.run()):
            task = loop.create_task(part)
            task.add_done_callback(self._ended)
            self._tasks.append(task)
        return self

    async def __aexit__(self, *_: object) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        for lane in self._following.lanes.values():
            lane.rows.close()

    def _ended(self, task: "asyncio.Task[None]") -> None:
        if not task.cancelled():
            self._failed = task.exception()
            log.critical("the replica has failed: %r", self._failed, exc_info=self._failed)

    def _lanes(self, partitions: int) -> Iterator[ReplicaLane]:
        for table, topic in self._topics.items():
            for number in range(partitions):
                rows = self._rows(f"{topic}-{number}")
                yield ReplicaLane(TopicPartition(topic, number), table, rows, self.changes)

    # --- reading ----------------------------------------------------------------------------------

    async def rows(self, table: Table, tenant: str, key: str) -> Rows:
        """As `Memory.rows`: what was committed `STALE_AFTER` seconds ago is in it."""
        lane = self._lane(table, f"{tenant}/{key}".encode())
        if not lane.ready:
            raise NotReady(f"{table}: {_progress([lane])}; {self._reason()}")
        self._check_age(lane)
        return lane.entity(tenant, key)

    def _lane(self, table: Table, key: bytes | None) -> ReplicaLane:
        """The lane of a key.

        Raises NotReady.
        """
        if self._failed is not None or not self._following.partitions:
            raise NotReady(self._reason())
        partition = 0 if key is None else partition_of(key, self._following.partitions)
        return self._following.lanes[TopicPartition(self._topics[table], partition)]

    def _check_age(self, lane: ReplicaLane) -> None:
        if lane.age > STALE_AFTER:
            raise NotReady(
                f"the newest of {lane.at.topic}/{lane.at.partition} was last seen "
                f"{lane.age:.0f} s ago, at most {STALE_AFTER:.0f}; {self._reason()}"
            )

    def _reason(self) -> str:
        if self._failed is not None:
            return "the replica has failed, start it again; its log says why"
        return self._following.why or "it reads on"

    async def failed(self) -> BaseException:
        return await ended_of(self._tasks)

    def readiness(self) -> Readiness:
        lanes = list(self._following.lanes.values())
        if self._failed is not None or not lanes:
            return Readiness(False, self._reason())
        done = sum(lane.position - lane.first for lane in lanes if not lane.ready)
        total = sum((lane.end or 0) - lane.first for lane in lanes if not lane.ready)
        if not all(lane.ready for lane in lanes):
            return Readiness(False, f"{_progress(lanes)}; {self._reason()}", done, total)
        try:
            self._check_age(max(lanes, key=lambda lane: lane.age))
        except NotReady as error:
            return Readiness(False, str(error))
        return Readiness(True, f"follows {len(lanes)} partitions")

    # --- writing ----------------------------------------------------------------------------------

    async def submit(
        self, records: Sequence[bytes], within: float, read: Sequence[Input | None] | None = None
    ) -> list[Outcome]:
        """As `Memory.submit`; applied means: folded, and in the rows that `rows` gives. What a
        record means for another key (a turn for its user) comes a moment later."""
        sent: list[_Sent] = []
        for place, record in enumerate(records):
            if place % STEP == STEP - 1:
                await asyncio.sleep(0)
            given = read[place] if read is not None else None
            way = route(record) if given is None else route_of(given.record, record)
            if way is not None:
                lane = self._lane(TABLES[way.topic], way.key)
                to = TopicPartition(way.topic, lane.at.partition)
                sent.append(_Sent(place, lane, Message(to, way.key, way.value)))
        outcomes = [Outcome("withheld")] * len(records)
        if sent:
            self._check_age(min((one.lane for one in sent), key=lambda lane: lane.age))
            with self._room([one.message for one in sent]):
                offsets = await self._append([one.message for one in sent])
                await _passed(sent, offsets, within)
            for (place, lane, message), offset in zip(sent, offsets, strict=True):
                outcomes[place] = lane.outcome(message.to.topic, offset)
        return outcomes

    async def _append(self, messages: Sequence[Message]) -> list[int]:
        try:
            return await self._writing.append(messages)
        except NotAppended as error:
            raise NotReady(
                f"Kafka: not acknowledged: {error}; the records may be in their topics: send them "
                "again, with the same ids"
            ) from None

    @contextmanager
    def _room(self, messages: Sequence[Message]) -> Iterator[None]:
        """Counts messages among what waits.

        Raises Busy.
        """
        count, size = len(messages), sum(len(message.value) for message in messages)
        if self._waiting and (
            self._waiting + count > MOST_RECORDS or self._waiting_bytes + size > MOST_BYTES
        ):
            raise Busy(
                f"{self._waiting} records of {self._waiting_bytes} bytes wait to be applied, at "
                f"most {MOST_RECORDS} of {MOST_BYTES}: is a worker running, and does it keep up?"
            )
        self._waiting += count
        self._waiting_bytes += size
        try:
            yield
        finally:
            self._waiting -= count
            self._waiting_bytes -= size


async def _passed(sent: Sequence[_Sent], offsets: Sequence[int], within: float) -> None:
    """Until all are folded and in the rows, or so many seconds are over."""
    last: defaultdict[tuple[ReplicaLane, str], int] = defaultdict(int)
    for (_, lane, message), offset in zip(sent, offsets, strict=True):
        last[lane, message.to.topic] = max(last[lane, message.to.topic], offset)
    waits = [lane.passed(topic, offset) for (lane, topic), offset in last.items()]
    try:
        await asyncio.wait(waits, timeout=within)
    finally:
        for one in waits:
            one.cancel()


def _progress(lanes: Sequence[ReplicaLane]) -> str:
    ready = sum(lane.ready for lane in lanes)
    done = sum(lane.position - lane.first for lane in lanes)
    total = sum((lane.end or 0) - lane.first for lane in lanes)
    return f"{ready} of {len(lanes)} partitions restored, offset {done} of {total}"
