"""The group's consumer as lanes, sinks and the model's reader use it."""

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
from streams.observability.logs import OF_BROKER

log = logging.getLogger(__name__)

MEMBERSHIP_LOST = (IllegalGenerationError, UnknownMemberIdError)
NO_GENERATION = -1
COMMIT_WITHIN = 2.0
RETRY_AFTER = 0.2
"""Seconds between two requests to an unresponsive coordinator."""


class ConsumerSource:
    """Wraps aiokafka's consumer. `connection`: keyword arguments of every client."""

    def __init__(self, kafka: KafkaConsumer, connection: Mapping[str, Any]) -> None:
        self._kafka = kafka
        self.connection = connection
        self._answers: dict[TopicPartition, tuple[Any, float]] = {}

    def pause(self, partitions: Iterable[TopicPartition]) -> None:
        self._kafka.pause(*self._assigned(partitions))

    def resume(self, partitions: Iterable[TopicPartition]) -> None:
        self._kafka.resume(*self._assigned(partitions))

    def _assigned(self, partitions: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The assigned ones: a lane may still be stopping after its partitions were revoked."""
        assigned = self._kafka.assignment()
        return [tp for tp in partitions if tp in assigned]

    def seek(self, partition: TopicPartition, offset: int) -> None:
        if partition in self._kafka.assignment():
            self._kafka.seek(partition, offset)

    async def committed(self, partition: TopicPartition) -> int | None:
        offset: int | None = await self._kafka.committed(partition)
        return offset

    async def commit(self, offsets: Mapping[TopicPartition, int]) -> bool:
        """Commits offsets to the group. Returns False if it has to be retried. One request within
        `COMMIT_WITHIN` seconds: aiokafka's commit retries forever and rejoins the group."""
        group = self._kafka.coordinator
        if group.generation == NO_GENERATION:
            return True
        topics: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
        for tp, offset in offsets.items():
            topics[tp.topic].append((tp.partition, offset, ""))
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
                response = await self._kafka.send_to_coordinator(request)
        except (KafkaError, OSError, TimeoutError) as error:
            log.info("the group's offsets: %r; later", error, extra=OF_BROKER)
            return False
        errors = {for_code(code) for _, partitions in response.topics for _, code in partitions}
        if errors - {NoError, RebalanceInProgressError, *MEMBERSHIP_LOST}:
            group.coordinator_dead()
            return False
        return RebalanceInProgressError not in errors

    async def beginning(self, partition: TopicPartition) -> int:
        offsets: dict[TopicPartition, int] = await self._kafka.beginning_offsets([partition])
        return offsets[partition]

    async def is_member(self, generation: int) -> bool:
        """Checks with the coordinator that the member is still in this generation. While the group
        rebalances, a partition belongs to its old owner until it is released."""
        group = self._kafka.coordinator
        while group.generation == generation:
            request = HeartbeatRequest(group.group_id, group.generation, group.member_id)
            try:
                await group.ensure_coordinator_known()
                error = for_code((await self._kafka.send_to_coordinator(request)).error_code)
            except KafkaError as failure:
                log.warning("group membership unknown: %r; retrying", failure, extra=OF_BROKER)
                await asyncio.sleep(RETRY_AFTER)
                continue
            if error in (NoError, RebalanceInProgressError):
                return bool(group.generation == generation)
            if error in MEMBERSHIP_LOST:
                return False
            group.coordinator_dead()
            await asyncio.sleep(RETRY_AFTER)
        return False

    async def counts(self) -> dict[str, int] | None:
        """Current number of partitions of each topic of the cluster, or None if no broker
        responds."""
        try:
            async with asyncio.timeout(COMMIT_WITHIN):
                metadata = await self._kafka.client.fetch_all_metadata()
        except (KafkaError, OSError, TimeoutError) as error:
            why = "number of partitions unknown: %r; retrying"
            log.info(why, error, extra=OF_BROKER)
            return None
        return {
            topic: len(metadata.partitions_for_topic(topic) or ()) for topic in metadata.topics()
        }

    @property
    def forgotten(self) -> bool:
        """Whether the coordinator no longer knows this member."""
        return bool(self._kafka.coordinator.generation == NO_GENERATION)

    async def leave(self) -> None:
        """Leaves the group permanently. aiokafka only does so for members without static
        membership; otherwise partitions wait for the session timeout."""
        group = self._kafka.coordinator
        if group.generation > 0 and self._kafka.has_instance:
            try:
                await self._kafka.send_to_coordinator(
                    LeaveGroupRequest(group.group_id, group.member_id)
                )
            except KafkaError as error:
                log.warning("leaving the group failed: %r; its session will time out", error)

    def unfetched(self, partition: TopicPartition) -> int:
        """Known offsets on the broker after the last fetch."""
        state = self.state(partition)
        if state is None or state.lso is None or not state.has_valid_position:
            return 0
        return max(0, int(state.lso) - int(state.position))

    def is_known(self, partition: TopicPartition) -> bool:
        """Whether the broker has reported the partition's end."""
        state = self.state(partition)
        return state is not None and state.lso is not None

    def end(self, partition: TopicPartition) -> int:
        """Known end of the partition for read_committed consumers."""
        state = self.state(partition)
        return int(state.lso or 0) if state is not None else 0

    def fetch_age(self, partition: TopicPartition) -> float:
        """Seconds since the broker's last fetch response for a partition, or since the first call;
        0 while it is not fetched. Timestamps of responses only distinguish them, since their clock
        may be set."""
        state = self.state(partition)
        if not self._is_fetched(partition):
            self._answers.pop(partition, None)
            return 0.0
        now, fetch = monotonic(), self._answers.get(partition)
        if fetch is None or fetch[0] != state.timestamp:
            fetch = self._answers[partition] = (state.timestamp, now)
        return now - fetch[1]

    def oldest_fetch_age(self) -> float:
        """Maximum `fetch_age` of the fetched partitions; if there are none, as for a member without
        partitions, seconds since the coordinator's last response to a heartbeat."""
        fetched = [at for at in self._kafka.assignment() if self._is_fetched(at)]
        return max(map(self.fetch_age, fetched), default=monotonic() - self._kafka.heard_at)

    def _is_fetched(self, partition: TopicPartition) -> bool:
        state = self.state(partition)
        return not (state is None or state.paused or self._kafka.has_unread(partition))

    def state(self, partition: TopicPartition) -> Any:
        """aiokafka's state of a partition, or None if it is not assigned."""
        return self._kafka.state(partition)
