"""Storage of a replica's rows: in memory, or on disk (`replica_disk`)."""

import asyncio
from typing import Protocol

from aiokafka.structs import TopicPartition

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.rows import MemoryRows, RowStore


class ReplicaStore(Protocol):
    """Creates the rows of lanes."""

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        """Reserves it for this server. Raises ConfigurationError, Unreachable."""
        ...

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        """Rows of a changelog's partition, not opened yet; `partitions`: their number."""
        ...

    def leave(self, group: str) -> None:
        """A generation's rows are closed and unused."""
        ...

    async def run(self) -> None:
        """For ever."""
        ...

    def release(self) -> None:
        """Allows other servers to use it."""
        ...


class MemoryStore:
    """Rows that end with the process."""

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        """No-op."""

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        return MemoryRows()

    def leave(self, group: str) -> None:
        """No-op."""

    async def run(self) -> None:
        await asyncio.Event().wait()

    def release(self) -> None:
        """No-op."""
