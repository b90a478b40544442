"""`turnfold kafka lag`: lag of each group behind the end of its topics.

Groups and topics may be deleted at the same time: dropped ones are omitted.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaAdmin, KafkaConsumer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import mapped_topic
from streams.topology import RECURSIONS, TOPICS, USER_SIGNALS

OF_WORKERS = {RECURSIONS.name, USER_SIGNALS.name}
"""Topics with offsets of a worker's group, but not of an extractor's."""
ANSWER_MS = 10_000
ATTEMPTS = 3
"""Topics deleted during a request fail all of it: it is repeated without them."""


class Lag(NamedTuple):
    """Offsets of one group in one partition. `committed`: next to read, None if there is none."""

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int


async def lag(settings: KafkaSettings, groups: Sequence[str] = ()) -> list[Lag]:
    """Lag per partition of these groups; default: all groups with offsets in topics of the
    topology, except dropped ones.

    A partition without a committed offset counts from the log's start. Raises Unreachable, or
    ConfigurationError for a group without committed offsets.
    """
    if settings.topic_prefix:
        settings = settings.with_unprefixed(await _mapped(settings, groups))
    async with connected(settings) as admin:
        committed = await _committed(admin, groups)
        topics = {tp.topic for offsets in committed.values() for tp in offsets}
        parts = await every_partition(admin, sorted(topics))
    begins, ends = await bounds(settings, parts)
    return [
        _lag(group, tp, begins[tp], ends[tp], offsets.get(tp))
        for group, offsets in sorted(committed.items())
        for tp in sorted(ends)
        if tp.topic in {committed_tp.topic for committed_tp in offsets}
    ]


async def _mapped(settings: KafkaSettings, groups: Sequence[str]) -> set[str]:
    """Platform topics that mappings of these groups read; their names have no prefix."""
    async with connected(settings) as admin:
        names = groups or [name for name, *_ in await admin.list_consumer_groups()]
        present = await admin.list_topics()
    topics = (mapped_topic(group, name) for group in names for name in present)
    return {topic for topic in topics if topic is not None}


def _lag(group: str, tp: TopicPartition, begin: int, end: int, committed: int | None) -> Lag:
    position = begin if committed is None else max(committed, begin)
    return Lag(group, tp.topic, tp.partition, end, committed, max(0, end - position))


async def _committed(
    admin: KafkaAdmin, groups: Sequence[str]
) -> dict[str, dict[TopicPartition, int]]:
    names = groups or [name for name, *_ in await admin.list_consumer_groups()]
    topics = {topic.name for topic in TOPICS}
    present = set(await admin.list_topics())
    committed = {}
    for name in names:
        offsets = await offsets_of(admin, name)
        if not offsets and groups:
            raise ConfigurationError(f"group {name}: has no committed offsets; check the name")
        if not groups and not any(tp.topic in topics for tp in offsets):
            continue
        if groups or not await _dropped(admin, name, offsets, present):
            committed[name] = {tp: offset for tp, offset in offsets.items() if tp.topic in present}
    return committed


async def offsets_of(admin: KafkaAdmin, group: str) -> dict[TopicPartition, int]:
    """Committed offsets of a group; empty if it is gone. Raises ConfigurationError if the broker's
    ACLs deny access, KafkaError if its coordinator does not respond."""
    try:
        offsets = await admin.list_consumer_group_offsets(group)
    except KafkaError as error:
        if (refused := acl_errors.of(error)) is not None:
            raise refused from None
        raise
    return {tp: entry.offset for tp, entry in offsets.items() if entry.offset >= 0}


async def _dropped(
    admin: AIOKafkaAdminClient, group: str, partitions: Iterable[TopicPartition], present: set[str]
) -> bool:
    """Whether a group belonged to a dropped generation: it has offsets in topics that workers read,
    and all topics, changelogs and members of that generation are gone. The broker deletes offsets
    of deleted topics itself."""
    _, dot, generation = group.rpartition(".")
    if not dot or not {tp.topic for tp in partitions}.intersection(OF_WORKERS):
        return False
    if any(name.startswith(f"{group}-") or name.endswith(f".{generation}") for name in present):
        return False
    return not await members_of(admin, group)


async def members_of(admin: AIOKafkaAdminClient, group: str) -> int:
    """Number of members of a group; 0 if it does not exist."""
    (reply,) = await admin.describe_consumer_groups([group])
    return sum(len(members) for _, _, _, _, _, members, *_ in reply.groups)


async def every_partition(
    admin: AIOKafkaAdminClient, topics: Iterable[str]
) -> list[TopicPartition]:
    """Partitions of the existing topics. Missing ones are not requested by name: a broker might
    create them."""
    counts = await partitions_of(admin, topics)
    return [TopicPartition(name, n) for name, count in counts.items() for n in range(count)]


async def bounds(
    settings: KafkaSettings, parts: list[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """First and next offset of each partition; deleted ones are omitted."""
    for attempt in range(ATTEMPTS):
        if not parts:
            break
        try:
            async with KafkaConsumer(request_timeout_ms=ANSWER_MS, **settings.client()) as consumer:
                begins = await consumer.beginning_offsets(parts)
                return begins, await consumer.end_offsets(parts)
        except KafkaError as error:
            async with connected(settings) as admin:
                existing = await every_partition(admin, dict.fromkeys(tp.topic for tp in parts))
            same = len(existing) == len(parts)
            if same and not isinstance(error, UnknownTopicOrPartitionError):
                raise lost(settings, error) from None
            if attempt == ATTEMPTS - 1:
                raise lost(settings, error) from None
            parts = existing
    return {}, {}
