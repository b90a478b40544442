"""Storage of a replica's rows in memory; `replica_disk` has the one on disk."""

import asyncio

from aiokafka.structs import TopicPartition

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.transport.rows import MemoryRows, RowStore


class ReplicaStore:
    """Creates the rows of lanes; these end with the process."""

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
