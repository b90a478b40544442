"""The lanes of a worker: who has which partition, and whether all of them get on."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from time import monotonic
from typing import Any, Protocol

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.prefix import prefix_of
from streams.kafka.client.topics import refuse_under_way
from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.lane import Counts, Lane
from streams.kafka.transport.layout import Layout
from streams.kafka.transport.processing import AgentSpec, LaneSettings
from streams.kafka.transport.restore import Source
from streams.kafka.transport.rows import closed
from streams.observing.definitions import UPTO_SECONDS
from streams.observing.histogram import Histogram
from streams.observing.logs import OF_BROKER
from streams.observing.readiness import COMMIT, FETCH, Assignment

log = logging.getLogger(__name__)

WATCH_EVERY = 1.0
ASK_EVERY = 3.0
"""Seconds between two looks at how many partitions there are. Nothing depends on it: a record that
a producer of another number has sent makes its lane ask at once."""


class GroupSource(Source, Protocol):
    """The consumer as all lanes together see it."""

    async def counts(self) -> Mapping[str, int] | None:
        """How many partitions each topic has now; None where no broker says it."""
        ...

    def longest_unheard(self) -> float:
        """Seconds since the broker answered, of the partition that has waited longest."""
        ...


class Lanes:
    """Made once a worker; the transport attaches itself when it starts. `assigned`: the group has
    said which partitions are ours. `seconds`: how long transactions took, by agent."""

    def __init__(self, group: str, plans: Sequence[AgentSpec], settings: LaneSettings) -> None:
        self.group = group
        self.plans = tuple(plans)
        self.settings = settings
        self.lanes: dict[tuple[str, int], Lane] = {}
        self.stalls = 0
        self.assignment = Assignment()
        self.seconds = {plan.agent: Histogram(UPTO_SECONDS) for plan in plans}
        self._plan_of = {topic: plan for plan in plans for topic in plan.sources}
        if len(self._plan_of) != sum(len(plan.sources) for plan in plans):
            raise ConfigurationError("two agents have the same source topic")
        self._active: dict[TopicPartition, Lane] = {}
        self._gone: dict[str, float] = {}
        self._told: dict[str, float] = {}
        self._watch: asyncio.Task[None] | None = None
        self._source: GroupSource | None = None
        self._crash: Callable[[BaseException], None] | None = None
        self._stands: Callable[[Mapping[TopicPartition, int]], None] | None = None

    @property
    def source(self) -> GroupSource:
        assert self._source is not None, "attach comes first"
        return self._source

    def attach(
        self,
        source: GroupSource,
        crash: Callable[[BaseException], None],
        stands: Callable[[Mapping[TopicPartition, int]], None],
    ) -> None:
        """Called by the transport: `crash` takes the exception that ends the worker, `stands` the
        offsets after each transaction."""
        self._source, self._crash, self._stands = source, crash, stands
        self._watch = asyncio.get_running_loop().create_task(self._watch_lanes(), name="stalls")

    def took(self, agent: str, seconds: float) -> None:
        self.seconds[agent].observe(seconds)

    def stands(self, offsets: Mapping[TopicPartition, int]) -> None:
        assert self._stands is not None, "attach comes first"
        self._stands(offsets)

    def crash(self, error: BaseException) -> None:
        assert self._crash is not None, "attach comes first"
        self._crash(error)

    def running(self) -> Iterable[Lane]:
        """The lanes this worker owns now."""
        return set(self._active.values())

    # --- the consumer's side ------------------------------------------------------------------

    def chunk(self, at: TopicPartition, records: Sequence[Any], end: int) -> Chunk | None:
        """The records as a chunk of their lane; None where no lane takes them now."""
        lane = self._active.get(at)
        return lane.chunk(at.topic, records, end) if lane else None

    def offer(self, chunk: Chunk) -> None:
        """Gives a chunk to its lane; one whose lane has gone is dropped, and read again."""
        lane = self._active.get(TopicPartition(chunk.topic, chunk.partition))
        if lane is not None:
            lane.offer(chunk)

    # --- assignment -----------------------------------------------------------------------------

    def check(self, partitions: Mapping[str, int]) -> None:
        """Whether the topics fit; `partitions` counts them.

        Raises:
            ConfigurationError: an agent's topics do not have the same number of partitions.
        """
        for plan in self.plans:
            topics = (*plan.sources, plan.changelog)
            if plan.partitions:
                counts = {topic: partitions.get(topic, 0) for topic in topics}
                if why := self._difference(plan.partitions, counts):
                    raise ConfigurationError(why)
            elif len({partitions.get(topic, 0) for topic in topics}) != 1:
                found = ", ".join(f"{topic} has {partitions.get(topic, 0)}" for topic in topics)
                raise ConfigurationError(
                    f"agent {plan.agent}: its topics need the same number of partitions: {found}"
                )

    def _difference(self, folded: int, counts: Mapping[str, int]) -> str | None:
        prefix = prefix_of(self.source.connection)
        return Layout(self.group, folded, counts, prefix).difference()

    async def check_layout(self) -> None:
        """Asks the broker, and compares.

        Raises:
            ConfigurationError: as `check`, or the number of partitions is being changed.
        """
        counts = await self.source.counts()
        if counts is None:
            return
        refuse_under_way(counts)
        for plan in self.plans:
            topics = (*plan.sources, plan.changelog)
            # a broker that has just started knows no topic
            known = {topic: counts[topic] for topic in topics if counts.get(topic)}
            if plan.partitions and (why := self._difference(plan.partitions, known)):
                raise ConfigurationError(why)
            if len({*known.values()}) > 1:
                found = ", ".join(f"{topic} has {count}" for topic, count in known.items())
                raise ConfigurationError(
                    f"agent {plan.agent}: its topics need the same number of partitions: {found}; "
                    "a worker that is started now adds those that its changelog lacks"
                )

    async def assign(
        self,
        assigned: Iterable[TopicPartition],
        generation: int,
        standbys: Iterable[TopicPartition] = (),
    ) -> None:
        """Starts the lanes of these partitions, follows those of `standbys`, forgets all others.

        Raises:
            ConfigurationError: a lane without all its sources.
        """
        assigned = set(assigned)
        self.source.pause(assigned)
        wanted = {(self._plan(at).agent, at.partition): self._plan(at) for at in assigned}
        followed = {(self._plan(at).agent, at.partition): self._plan(at) for at in standbys}
        gone = [self.lanes.pop(key) for key in self.lanes.keys() - wanted.keys() - followed.keys()]
        for lane in gone:
            self._gone = _added(self._gone, lane.counts)
        await closed(*[lane.rows for lane in gone])
        for (agent, partition), plan in wanted.items():
            missing = [
                topic for topic in plan.sources if TopicPartition(topic, partition) not in assigned
            ]
            if missing:
                raise ConfigurationError(
                    f"{agent}-{partition}: {', '.join(missing)} went to another worker; "
                    "all workers of a group need the same agents"
                )
            lane = self._lane(plan, partition)
            self._active.update(dict.fromkeys(lane.sources.values(), lane))
            lane.start(generation)
        for (_, partition), plan in followed.items():
            self._lane(plan, partition).follow()
        self.assignment.begin()

    def _lane(self, plan: AgentSpec, partition: int) -> Lane:
        """The lane, with what it has; a new one where there is none."""
        lane = self.lanes.get((plan.agent, partition))
        if lane is None:
            lane = self.lanes[plan.agent, partition] = Lane(plan, partition, self)
        return lane

    def _plan(self, at: TopicPartition) -> AgentSpec:
        plan = self._plan_of.get(at.topic)
        if plan is None:
            raise ConfigurationError(f"topic {at.topic}: no agent reads it by this transport")
        return plan

    async def revoke(self) -> None:
        """Ends what every lane does. Tables stay: a rebalance revokes even what comes back."""
        self.assignment.end()
        self._active.clear()
        await asyncio.gather(*(lane.stop() for lane in self.lanes.values()))

    async def close(self) -> None:
        await self.revoke()
        await closed(*[lane.rows for lane in self.lanes.values()])
        if self._watch is not None:
            self._watch.cancel()

    # --- stalls ---------------------------------------------------------------------------------

    def lag(self, lane: Lane) -> dict[str, int]:
        """How many offsets of each source the broker is known to have and are not committed."""
        return {
            topic: lane.uncommitted(topic) + self.source.behind(at)
            for topic, at in lane.sources.items()
        }

    @property
    def stalled(self) -> int:
        """How many lanes have work to do and do not get on."""
        return len(self._told)

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, of the lane that has waited longest: `Readiness.ages`."""
        running = list(self.running())
        return {
            FETCH: self.assignment.age(lambda: self.source.longest_unheard()),
            COMMIT: max((lane.unfinished for lane in running), default=0.0),
        }

    async def _watch_lanes(self) -> None:
        asked = monotonic()
        while True:
            await asyncio.sleep(WATCH_EVERY)
            for lane in self.running():
                self._look_at(lane)
                lane.look_at_ends()
            if self._active and monotonic() - asked > ASK_EVERY:
                asked = monotonic()
                try:
                    await self.check_layout()
                except ConfigurationError as error:
                    self.crash(error)
                    return

    def _look_at(self, lane: Lane) -> None:
        stalled = self._stalled(lane)
        if stalled is None:
            if self._told.pop(lane.name, None) is not None:
                log.warning("%s: goes on again", lane.name, extra=lane.where | OF_BROKER)
            return
        if monotonic() - self._told.get(lane.name, 0.0) < self.settings.stall_after:
            return
        self._told[lane.name] = monotonic()
        lane.counts.stalls += 1
        self.stalls += 1
        log.error(
            "%s: STALLED: %s; %s", lane.name, stalled, lane.describe(),
            extra=lane.where | OF_BROKER,
        )  # fmt: skip

    def _stalled(self, lane: Lane) -> str | None:
        """Why a lane does not get on, or None where it does or has nothing to do."""
        patience = self.settings.stall_after
        if lane.state == "ready" and not lane.waiting:
            return self._starved(lane)
        if lane.state == "released" and monotonic() - lane.since > patience:
            return "the group's coordinator gave it to another worker, but took it from nobody"
        return "no progress" if monotonic() - lane.since > patience else None

    def _starved(self, lane: Lane) -> str | None:
        """Why a lane gets nothing to fold, or None where there is nothing or not for long."""
        patience = self.settings.stall_after
        if (silent := lane.unheard) > patience:
            topics = " or ".join(lane.sources)
            return f"the broker has not answered a fetch of {topics} for {silent:.0f} s"
        behind = {at.topic: self.source.behind(at) for at in lane.sources.values()}
        if not any(behind.values()):
            lane.rest()
        elif monotonic() - lane.since > patience:
            missing = " and ".join(
                f"{count} of {topic}" for topic, count in behind.items() if count
            )
            return f"offsets are not fetched: {missing}"
        return None

    def totals(self) -> Mapping[str, float]:
        """The counters of all lanes, those that went to other workers too."""
        sums = self._gone
        for lane in self.lanes.values():
            sums = _added(sums, lane.counts)
        return sums


def _added(sums: Mapping[str, float], counts: Counts) -> dict[str, float]:
    return {name: sums.get(name, 0) + value for name, value in asdict(counts).items()}
