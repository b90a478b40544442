"""What lanes ask of the group's consumer (`opening.Source`, `lanes.GroupSource`)."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Iterable, Mapping
from time import monotonic
from typing import Any

from aiokafka.errors import (
    IllegalGenerationError,
    KafkaError,
    NoError,
    RebalanceInProgressError,
    UnknownMemberIdError,
    for_code,
)
from aiokafka.protocol.commit import OffsetCommitRequest
from aiokafka.protocol.group import HeartbeatRequest, LeaveGroupRequest
from aiokafka.structs import TopicPartition

from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.observing.logs import OF_BROKER

log = logging.getLogger(__name__)

NOT_OURS = (IllegalGenerationError, UnknownMemberIdError)
NO_GENERATION = -1
COMMIT_WITHIN = 2.0
ASK_AGAIN = 0.2
"""Seconds between two questions to a coordinator that does not answer."""


class ConsumerSource:
    """aiokafka's consumer, with `connection`, what every client is made with."""

    def __init__(self, kafka: KafkaConsumer, connection: Mapping[str, Any]) -> None:
        self._kafka = kafka
        self.connection = connection
        self._answers: dict[TopicPartition, tuple[Any, float]] = {}

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._kafka.pause(*self._ours(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._kafka.resume(*self._ours(partitions))

    def _ours(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """A lane may still be ending when its partitions are gone."""
        assigned = self._kafka.assignment()
        return [at for at in partitions if at in assigned]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition in self._kafka.assignment():
            self._kafka.seek(partition, offset)

    async def committed(self, partition: TopicPartition) -> int | None:
        offset: int | None = await self._kafka.committed(partition)
        return offset

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Whether the group has taken the offsets, or will not take them from us any more. One
        request within `COMMIT_WITHIN` seconds: aiokafka's own commit asks for ever, and joins the
        group again."""
        group = self._kafka.coordinator
        if group.generation == NO_GENERATION:
            return True
        topics: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for at, offset in offsets.items():
            topics[at.topic].append((at.partition, offset, ""))
        request = OffsetCommitRequest(
            group.group_id,
            group.generation,
            group.member_id,
            OffsetCommitRequest.DEFAULT_RETENTION_TIME,
            list(topics.items()),
        )
        try:
            async with asyncio.timeout(COMMIT_WITHIN):
                await group.ensure_coordinator_known()
                answer = await self._kafka.ask_coordinator(request)
        except (KafkaError, OSError, TimeoutError) as error:
            log.info("the group's offsets: %r; later", error, extra=OF_BROKER)
            return False
        errors = {for_code(code) for _, partitions in answer.topics for _, code in partitions}
        if errors - {NoError, RebalanceInProgressError, *NOT_OURS}:
            group.coordinator_dead()
            return False
        return RebalanceInProgressError not in errors

    async def beginning(self, partition: TopicPartition) -> int:
        offsets: dict[TopicPartition, int] = await self._kafka.beginning_offsets([partition])
        return offsets[partition]

    async def still_ours(self, generation: int) -> bool:
        """Asks the group's coordinator. While the group rebalances a partition is its old owner's
        until that has given it back."""
        group = self._kafka.coordinator
        while group.generation == generation:
            request = HeartbeatRequest(group.group_id, group.generation, group.member_id)
            try:
                await group.ensure_coordinator_known()
                error = for_code((await self._kafka.ask_coordinator(request)).error_code)
            except KafkaError as failure:
                log.warning("whose the partitions are: %r; asks again", failure, extra=OF_BROKER)
                await asyncio.sleep(ASK_AGAIN)
                continue
            if error in (NoError, RebalanceInProgressError):
                return bool(group.generation == generation)
            if error in NOT_OURS:
                return False
            group.coordinator_dead()
            await asyncio.sleep(ASK_AGAIN)
        return False

    async def counts(self) -> dict[str, int] | None:
        """How many partitions each topic of the cluster has now; None where no broker says it."""
        try:
            async with asyncio.timeout(COMMIT_WITHIN):
                known = await self._kafka.client.fetch_all_metadata()
        except (KafkaError, OSError, TimeoutError) as error:
            why = "cannot ask for the number of partitions: %r; tries again"
            log.info(why, error, extra=OF_BROKER)
            return None
        return {topic: len(known.partitions_for_topic(topic) or ()) for topic in known.topics()}

    @property
    def forgotten(self) -> bool:
        """Whether the coordinator no longer knows this member."""
        return bool(self._kafka.coordinator.generation == NO_GENERATION)

    async def leave(self) -> None:
        """Leaves the group for good. aiokafka does so only for members without a name of their
        own; the partitions of one that has a name wait for its session to end."""
        group = self._kafka.coordinator
        if group.generation > 0 and self._kafka.has_instance:
            try:
                await self._kafka.ask_coordinator(
                    LeaveGroupRequest(group.group_id, group.member_id)
                )
            except KafkaError as error:
                log.warning("leaving the group: %r; its session has to end by itself", error)

    def behind(self, partition: TopicPartition) -> int:
        """How many offsets the broker is known to have beyond what was fetched."""
        state = self.state(partition)
        if state is None or state.lso is None or not state.has_valid_position:
            return 0
        return max(0, int(state.lso) - int(state.position))

    def is_known(self, partition: TopicPartition) -> bool:
        """Whether the broker has told how far the partition goes."""
        state = self.state(partition)
        return state is not None and state.lso is not None

    def end(self, partition: TopicPartition) -> int:
        """Where the partition is known to end for readers of what is committed."""
        state = self.state(partition)
        return int(state.lso or 0) if state is not None else 0

    def unheard(self, partition: TopicPartition) -> float:
        """Seconds since the broker was last seen to answer a fetch of a partition, or since it was
        first looked at; 0 while nothing of it is fetched. The answers' own times are of a clock
        that may be set, so they only tell two answers apart."""
        state = self.state(partition)
        if not self._is_fetched(partition):
            self._answers.pop(partition, None)
            return 0.0
        now, answer = monotonic(), self._answers.get(partition)
        if answer is None or answer[0] != state.timestamp:
            answer = self._answers[partition] = (state.timestamp, now)
        return now - answer[1]

    def longest_unheard(self) -> float:
        """The same of the partition that has waited longest; while nothing is fetched, as with a
        member that has no partition, seconds since the coordinator answered a heartbeat."""
        fetched = [at for at in self._kafka.assignment() if self._is_fetched(at)]
        now = monotonic()
        return max(map(self.unheard, fetched), default=now - self._kafka.heard_at)

    def _is_fetched(self, partition: TopicPartition) -> bool:
        state = self.state(partition)
        return not (state is None or state.paused or self._kafka.has_unread(partition))

    def state(self, partition: TopicPartition) -> Any:
        """aiokafka's own record of a partition; None where it is not assigned."""
        return self._kafka.state(partition)
