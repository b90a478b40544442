"""The tables of one generation, from its workers' changelogs: followed, read, awaited."""

import asyncio
import logging
from collections.abc import Callable, Mapping, Sequence
from time import monotonic
from typing import Any

from aiokafka.structs import TopicPartition

from streams import topology
from streams.kafka.client.partitions import partition_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.transport.encryption import with_keys
from streams.kafka.transport.rows import MemoryRows, RowStore, close_stores
from streams.observability.readiness import FETCH, Readiness
from streams.output import counted
from streams.serving.backends.backend import EntityRows, NotReady, Table
from streams.serving.backends.change_waiters import Changes
from streams.serving.backends.changelog_follower import Following
from streams.serving.backends.live_generation import Live
from streams.serving.backends.replica_lane import LanePosition, ReplicaLane
from streams.serving.backends.stats import Observed, by_agent

log = logging.getLogger(__name__)

STALE_AFTER = 10.0
"""Seconds: an answer has all that was committed so long ago, or there is none."""
LOOK_EVERY = 0.01

AGENTS: dict[Table, topology.Agent] = {
    "sessions": topology.SESSION_AGENT,
    "users": topology.MEMORY_AGENT,
}
TABLES: dict[str, Table] = {
    topic.name: table for table, agent in AGENTS.items() for topic in agent.sources
}
"""The table that a source topic's records are folded into."""

Shown = Mapping[tuple[Table, int], LanePosition]
"""How far each partition of a table has come, of what readers were shown."""


class ReplicaStore:
    """Creates the rows of lanes; these end with the process, those of `replica_disk` do not."""

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        """Reserves it for this server. Raises ConfigurationError, Unreachable."""

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        """Rows of a changelog's partition, not opened yet; `partitions`: their number."""
        return MemoryRows()

    def leave(self, group: str) -> None:
        """A generation's rows are closed and unused."""

    async def run(self) -> None:
        """For ever."""
        await asyncio.Event().wait()

    def release(self) -> None:
        """Allows other servers to use it."""


class ReplicaTables:
    """The tables of the workers of `group`, which make the generation `live`."""

    def __init__(
        self,
        connection: Mapping[str, Any],
        group: str,
        live: Live,
        changes: Changes,
        store: ReplicaStore,
    ) -> None:
        self.live = live
        self._changes = changes
        self._store = store
        self._topics = {table: changelog_name(group, agent) for table, agent in AGENTS.items()}
        self.group = group
        self._keys = connection.get("keys")
        self._following = Following(connection, group, self._topics.values(), TABLES, self._lane)
        self._task: asyncio.Task[None] | None = None
        self._ended: Callable[[asyncio.Task[None]], None] = lambda task: None

    def start(self, ended: Callable[["asyncio.Task[None]"], None]) -> None:
        """Starts or continues to follow; `ended` is called if that fails."""
        self._ended = ended
        self._task = asyncio.create_task(self._following.run())
        self._task.add_done_callback(ended)

    def halt(self) -> "asyncio.Future[Any]":
        """Freezes the visible rows. Done when all updates have ended."""
        if self._task is None:
            return asyncio.ensure_future(asyncio.sleep(0))
        self._task.remove_done_callback(self._ended)
        self._task.cancel()
        return asyncio.gather(self._task, return_exceptions=True)

    def let_go(self) -> None:
        """Wakes all that wait for a record to be applied."""
        for lane in self._following.lanes.values():
            lane.let_go()

    async def close(self) -> None:
        self.let_go()
        await self.halt()
        await close_stores(*[lane.rows for lane in self._following.lanes.values()])
        self._store.leave(self.group)

    def _lane(self, at: TopicPartition, partitions: int) -> ReplicaLane:
        table = next(table for table, topic in self._topics.items() if topic == at.topic)
        rows = with_keys(self._store.rows(self.group, at, partitions), self._keys)
        return ReplicaLane(at, table, rows, self._changes)

    # --- reading ----------------------------------------------------------------------------------

    def rows(self, table: Table, tenant: str, key: str) -> EntityRows:
        """As `Backend.rows`, at most `STALE_AFTER` seconds old."""
        lane = self.lane(table, f"{tenant}/{key}".encode())
        if not lane.ready:
            raise NotReady(f"{table}: {_progress([lane])}; {self.reason()}")
        self.check_age(lane)
        return EntityRows(lane.entity(tenant, key), lane.rules)

    def lane(self, table: Table, key: bytes | None) -> ReplicaLane:
        """The lane of a key. Raises NotReady."""
        if not self._following.partitions:
            raise NotReady(self.reason())
        partition = 0 if key is None else partition_of(key, self._following.partitions)
        return self.lane_at(table, partition)

    def lane_at(self, table: Table, partition: int) -> ReplicaLane:
        """The lane of a partition. Raises KeyError before `lane` has succeeded once."""
        return self._following.lanes[TopicPartition(self._topics[table], partition)]

    def check_age(self, lane: ReplicaLane) -> None:
        """Raises NotReady for a partition with rows that are too old."""
        if lane.progress.age > STALE_AFTER:
            raise NotReady(
                f"the newest of {lane.at.topic}/{lane.at.partition} was last seen "
                f"{lane.progress.age:.0f} s ago, at most {STALE_AFTER:.0f}; {self.reason()}"
            )

    def reason(self) -> str:
        """Why data is missing."""
        return self._following.why or "it reads on"

    def readiness(self) -> Readiness:
        return self._readiness()._replace(ages={FETCH: self._following.unheard})

    def _lanes(self) -> list[ReplicaLane]:
        return list(self._following.lanes.values())

    def _readiness(self) -> Readiness:
        lanes = self._lanes()
        if not lanes:
            return Readiness(False, self.reason())
        if late := [lane for lane in lanes if not lane.ready]:
            restored, total = _offsets(late)
            return Readiness(False, f"{_progress(lanes)}; {self.reason()}", restored, total)
        try:
            self.check_age(max(lanes, key=lambda lane: lane.progress.age))
        except NotReady as error:
            return Readiness(False, str(error))
        return Readiness(True, f"follows {counted(len(lanes), 'partition')}")

    def observed(self) -> Observed:
        """The counters of the workers' newest markers, once all are known."""
        lanes = self._lanes()
        if not lanes or not all(lane.ready for lane in lanes):
            return Observed("kafka")
        return by_agent((AGENTS[lane.table].name, lane.note) for lane in lanes)

    # --- how far it has come ----------------------------------------------------------------------

    def shown(self) -> Shown:
        """Positions that readers may have seen, by partition."""
        lanes = self._lanes()
        return {(lane.table, lane.at.partition): lane.shown_up_to for lane in lanes}

    def lacks(self, positions: Shown) -> int:
        """Number of input records (offsets) before these positions that are missing here."""
        return sum(
            max(0, offset - self._at(table, partition).offsets.get(topic, 0))
            for (table, partition), position in positions.items()
            for topic, offset in position.offsets.items()
            if TABLES.get(topic) == table
        )

    def lacks_signals(self, positions: Shown) -> bool:
        """Whether user signals before these positions are missing here."""
        return any(
            offset > self._at(table, partition).signals.get(source, -1)
            for (table, partition), position in positions.items()
            for source, offset in position.signals.items()
        )

    def _at(self, table: Table, partition: int) -> LanePosition:
        lane = self._following.lanes.get(TopicPartition(self._topics[table], partition))
        return lane.whole_up_to if lane else LanePosition({}, {})

    async def reaches(self, positions: Shown, within: float) -> bool:
        """Whether everything before these positions is here within `within` seconds."""
        return await _holds(lambda: not self.lacks(positions), within)

    async def reaches_signals(self, positions: Shown, within: float) -> bool:
        """The same for user signals."""
        return await _holds(lambda: not self.lacks_signals(positions), within)


async def _holds(condition: Callable[[], bool], within: float) -> bool:
    deadline = monotonic() + within
    while not condition():
        if monotonic() > deadline:
            return False
        await asyncio.sleep(LOOK_EVERY)
    return True


def _progress(lanes: Sequence[ReplicaLane]) -> str:
    ready = sum(lane.ready for lane in lanes)
    restored, total = _offsets(lanes)
    return f"{ready} of {len(lanes)} partitions restored, offset {restored} of {total}"


def _offsets(lanes: Sequence[ReplicaLane]) -> tuple[int, int]:
    """Changelog offsets that are read, and their total."""
    every = [lane.progress for lane in lanes]
    return sum(progress.position - progress.first for progress in every), sum(
        progress.end - progress.first for progress in every
    )
