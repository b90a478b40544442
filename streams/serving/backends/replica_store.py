"""Where a replica's rows lie: in memory, or on disk (`replica_disk`)."""

import asyncio
from typing import Protocol

from aiokafka.structs import TopicPartition

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.rows import MemoryRows, RowStore


class ReplicaStore(Protocol):
    """Makes the rows of lanes."""

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        """Makes it this server's. Raises ConfigurationError, Unreachable."""
        ...

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        """Those of a changelog's partition, one of so many; not opened yet."""
        ...

    def leave(self, group: str) -> None:
        """A generation's rows are closed and not used any more."""
        ...

    async def run(self) -> None:
        """For ever."""
        ...

    def release(self) -> None:
        """Another server may have it."""
        ...


class MemoryStore:
    """Rows that end with the process."""

    async def take(self, kafka: KafkaSettings, app_id: str) -> None:
        """There is nothing that others could have."""

    def rows(self, group: str, at: TopicPartition, partitions: int) -> RowStore:
        return MemoryRows()

    def leave(self, group: str) -> None:
        """Its rows have gone with it."""

    async def run(self) -> None:
        await asyncio.Event().wait()

    def release(self) -> None:
        """There is nothing to be released."""
