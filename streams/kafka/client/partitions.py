"""Partition of a key, as Java's clients and aiokafka's partitioner compute it."""

from functools import lru_cache

from aiokafka.partitioner import murmur2


@lru_cache(100_000)
def partition_of(key: bytes, partitions: int) -> int:
    """Partition of a key in a topic with this number of partitions."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)
