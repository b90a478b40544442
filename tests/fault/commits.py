"""Every offset that groups ever committed, in order, read from Kafka's own log of them.

Asking a group again and again is not as good: it misses what lies between two questions, and just
after a coordinator died, the next one may answer with the offset before the last for a moment.
"""

import asyncio
import struct
from collections import Counter
from collections.abc import Collection
from typing import NamedTuple

from aiokafka.structs import TopicPartition

from tests.fault.accounts import committed

OFFSETS = "__consumer_offsets"
OFFSET_KEYS = (0, 1)
"""Versions of a key that says (group, topic, partition); others are of members."""


class Commits(NamedTuple):
    """How many commits of each group there were, and a line for each offset that went back."""

    counts: Counter[str]
    went_back: list[str]


def of_groups(bootstrap: str, groups: Collection[str]) -> Commits:
    """All that is in the log; commits of transactions that were aborted are none."""
    return asyncio.run(_of_groups(bootstrap, groups))


async def _of_groups(bootstrap: str, groups: Collection[str]) -> Commits:
    counts: Counter[str] = Counter()
    went_back: list[str] = []
    newest: dict[tuple[str, TopicPartition], int] = {}
    async for one in committed(bootstrap, OFFSETS):
        if one.value is None or struct.unpack_from(">h", one.key)[0] not in OFFSET_KEYS:
            continue
        group, at = _place(one.key)
        if group not in groups:
            continue
        (offset,) = struct.unpack_from(">q", one.value, 2)
        before = newest.get((group, at), -1)
        if offset < before:
            went_back.append(f"{group}: {at.topic}/{at.partition} from {before} to {offset}")
        newest[group, at] = max(offset, before)
        counts[group] += 1
    return Commits(counts, went_back)


def _place(key: bytes) -> tuple[str, TopicPartition]:
    """Version, group, topic, partition: two bytes, two texts with their lengths, four bytes."""
    group, at = _text(key, 2)
    topic, at = _text(key, at)
    return group, TopicPartition(topic, struct.unpack_from(">i", key, at)[0])


def _text(key: bytes, at: int) -> tuple[str, int]:
    (length,) = struct.unpack_from(">h", key, at)
    at += 2
    return key[at : at + length].decode(), at + length
