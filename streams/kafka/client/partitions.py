"""Which partition a key has: that of Java's clients and of aiokafka's own partitioner."""

from functools import lru_cache

from aiokafka.partitioner import murmur2


@lru_cache(100_000)
def partition_of(key: bytes, partitions: int) -> int:
    """The partition of a key, of so many."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)
