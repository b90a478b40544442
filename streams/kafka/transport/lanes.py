"""The lanes of a worker: partition assignment and stall detection."""

import asyncio
import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from time import monotonic
from typing import Any

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.name_prefix import prefix_of
from streams.kafka.client.topics import check_no_repartition
from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.interfaces import AgentSpec, LaneSettings
from streams.kafka.transport.lane import Lane
from streams.kafka.transport.partition_check import Layout
from streams.kafka.transport.rows import close_stores
from streams.observability.logs import OF_BROKER
from streams.observability.metrics import UPTO_SECONDS, Histogram
from streams.observability.readiness import COMMIT, FETCH, Assignment

log = logging.getLogger(__name__)

WATCH_EVERY = 1.0
CHECK_EVERY = 3.0
"""Seconds between checks of the number of partitions. A record from a producer with another number
triggers a check at once."""


class Lanes:
    """All lanes of a worker; the transport calls `attach` when it starts. `assigned`: the group has
    assigned partitions. `seconds`: transaction times by agent."""

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
        self._stalled_since: dict[str, float] = {}
        self._watch: asyncio.Task[None] | None = None

    def attach(
        self,
        source: ConsumerSource,
        crash: Callable[[BaseException], None],
        committed: Callable[[Mapping[TopicPartition, int]], None],
    ) -> None:
        """Connects the transport: `crash` receives the exception that stops the worker, `committed`
        the offsets after each transaction."""
        self.source, self.crash, self.report_committed = source, crash, committed
        self._watch = asyncio.get_running_loop().create_task(self._watch_lanes(), name="stalls")

    def running(self) -> Iterable[Lane]:
        return set(self._active.values())

    # --- the consumer's side ------------------------------------------------------------------

    def chunk(self, tp: TopicPartition, messages: Sequence[Any], end: int) -> Chunk | None:
        """Wraps fetched messages as a chunk of their lane, or returns None if no lane takes them
        now."""
        lane = self._active.get(tp)
        return lane.chunk(tp.topic, messages, end) if lane else None

    def offer(self, chunk: Chunk) -> None:
        """Gives a chunk to its lane. A chunk without a lane is dropped; the next owner reads it
        again."""
        lane = self._active.get(TopicPartition(chunk.topic, chunk.partition))
        if lane is not None:
            lane.offer(chunk)

    # --- assignment -----------------------------------------------------------------------------

    def check(self, partitions: Mapping[str, int]) -> None:
        """Checks that each agent's topics have the same number of partitions; `partitions` counts
        them.

        Raises:
            ConfigurationError: the numbers differ.
        """
        for plan in self.plans:
            topics = (*plan.sources, plan.changelog)
            self._compare(plan, {topic: partitions.get(topic, 0) for topic in topics})

    def _compare(self, plan: AgentSpec, counts: Mapping[str, int], fix: str = "") -> None:
        if plan.partitions:
            prefix = prefix_of(self.source.connection)
            if why := Layout(self.group, plan.partitions, counts, prefix).difference():
                raise ConfigurationError(why)
        if len({*counts.values()}) > 1:
            text = ", ".join(f"{topic} has {count}" for topic, count in counts.items())
            raise ConfigurationError(
                f"agent {plan.agent}: its topics need the same number of partitions: {text}{fix}"
            )

    async def check_layout(self) -> None:
        """Queries the broker and compares the numbers of partitions.

        Raises:
            ConfigurationError: as `check`, or a repartition is in progress.
        """
        counts = await self.source.counts()
        if counts is None:
            return
        check_no_repartition(counts)
        for plan in self.plans:
            topics = (*plan.sources, plan.changelog)
            # a broker that has just started knows no topics
            existing = {topic: counts[topic] for topic in topics if counts.get(topic)}
            fix = "; restart a worker to add those that its changelog lacks"
            self._compare(plan, existing, fix)

    async def assign(
        self,
        assigned: Iterable[TopicPartition],
        generation: int,
        standbys: Iterable[TopicPartition] = (),
    ) -> None:
        """Starts the lanes of the assigned partitions, follows the lanes of `standbys`, drops all
        others.

        Raises:
            ConfigurationError: a lane lacks one of its sources.
        """
        assigned = set(assigned)
        self.source.pause(assigned)
        owned = {(self._plan(tp).agent, tp.partition): self._plan(tp) for tp in assigned}
        followed = {(self._plan(tp).agent, tp.partition): self._plan(tp) for tp in standbys}
        removed = [
            self.lanes.pop(key) for key in self.lanes.keys() - owned.keys() - followed.keys()
        ]
        await close_stores(*[lane.rows for lane in removed])
        for (agent, partition), plan in owned.items():
            missing = [
                topic for topic in plan.sources if TopicPartition(topic, partition) not in assigned
            ]
            if missing:
                raise ConfigurationError(
                    f"{agent}-{partition}: {', '.join(missing)} was assigned to another worker; "
                    "all workers of a group need the same agents"
                )
            lane = self._lane(plan, partition)
            self._active.update(dict.fromkeys(lane.sources.values(), lane))
            lane.start(generation)
        for (_, partition), plan in followed.items():
            self._lane(plan, partition).follow()
        self.assignment.begin()

    def _lane(self, plan: AgentSpec, partition: int) -> Lane:
        """Returns the existing lane of a partition, or creates it."""
        lane = self.lanes.get((plan.agent, partition))
        if lane is None:
            lane = self.lanes[plan.agent, partition] = Lane(plan, partition, self)
        return lane

    def _plan(self, tp: TopicPartition) -> AgentSpec:
        plan = self._plan_of.get(tp.topic)
        if plan is None:
            raise ConfigurationError(f"topic {tp.topic}: no agent reads it by this transport")
        return plan

    async def revoke(self) -> None:
        """Stops all lanes. Tables are kept: a rebalance also revokes partitions that are assigned
        again."""
        self.assignment.end()
        self._active.clear()
        await asyncio.gather(*(lane.stop() for lane in self.lanes.values()))

    async def close(self) -> None:
        await self.revoke()
        await close_stores(*[lane.rows for lane in self.lanes.values()])
        if self._watch is not None:
            self._watch.cancel()

    # --- stalls ---------------------------------------------------------------------------------

    def lag(self, lane: Lane) -> dict[str, int]:
        """Known offsets of each source that are not committed."""
        return {
            topic: lane.uncommitted(topic) + self.source.unfetched(tp)
            for topic, tp in lane.sources.items()
        }

    @property
    def stalled(self) -> int:
        """Number of lanes that have work and make no progress."""
        return len(self._stalled_since)

    def ages(self) -> dict[str, float]:
        """Seconds since the last success, of the lane that has waited longest: `Readiness.ages`."""
        running = list(self.running())
        return {
            FETCH: self.assignment.age(lambda: self.source.oldest_fetch_age()),
            COMMIT: max((lane.unfinished for lane in running), default=0.0),
        }

    async def _watch_lanes(self) -> None:
        checked_at = monotonic()
        while True:
            await asyncio.sleep(WATCH_EVERY)
            try:
                for lane in self.running():
                    self._check_stall(lane)
                    lane.report_ends()
                    lane.processor.drop_erased()
                if self._active and monotonic() - checked_at > CHECK_EVERY:
                    checked_at = monotonic()
                    await self.check_layout()
            except (ConfigurationError, OSError) as error:  # OSError: of the key store
                self.crash(error)
                return

    def _check_stall(self, lane: Lane) -> None:
        stalled = self._stalled(lane)
        if stalled is None:
            if self._stalled_since.pop(lane.name, None) is not None:
                log.warning(
                    "%s: makes progress again", lane.name, extra=lane.log_context | OF_BROKER
                )
            return
        if monotonic() - self._stalled_since.get(lane.name, 0.0) < self.settings.stall_after:
            return
        self._stalled_since[lane.name] = monotonic()
        lane.counts.stalls += 1
        self.stalls += 1
        log.error(
            "%s: STALLED: %s; %s", lane.name, stalled, lane.describe(),
            extra=lane.log_context | OF_BROKER,
        )  # fmt: skip

    def _stalled(self, lane: Lane) -> str | None:
        """Reason why a lane makes no progress, or None if it progresses or is idle."""
        patience = self.settings.stall_after
        if lane.state == "ready" and not lane.waiting:
            return self._starved(lane)
        if lane.state == "released" and monotonic() - lane.since > patience:
            return "the group's coordinator reassigned the partition, but did not revoke it"
        return "no progress" if monotonic() - lane.since > patience else None

    def _starved(self, lane: Lane) -> str | None:
        """Reason why messages do not reach a lane, or None if there are none or the delay is
        short."""
        patience = self.settings.stall_after
        if (silent := lane.fetch_age) > patience:
            topics = " or ".join(lane.sources)
            return f"the broker has not responded to a fetch of {topics} for {silent:.0f} s"
        behind = {tp.topic: self.source.unfetched(tp) for tp in lane.sources.values()}
        if not any(behind.values()):
            lane.rest()
        elif monotonic() - lane.since > patience:
            missing = " and ".join(
                f"{count} of {topic}" for topic, count in behind.items() if count
            )
            return f"offsets are not fetched: {missing}"
        return None
