"""`turnfold kafka lag`: how far each group is behind the end of its topics.

Groups and topics go while they are looked at: what was dropped, or is being dropped, is left out.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError, UnknownTopicOrPartitionError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client import denials
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaAdmin, KafkaConsumer
from streams.kafka.client.names import mapped_topic
from streams.kafka.client.settings import KafkaSettings
from streams.topology import RECURSIONS, TOPICS, USER_SIGNALS

OF_WORKERS = {RECURSIONS.name, USER_SIGNALS.name}
"""What a worker's group has offsets in, and an extractor's has not."""
ANSWER_MS = 10_000
ATTEMPTS = 3
"""Topics that are deleted meanwhile fail a whole request: it is made again without them."""


class Lag(NamedTuple):
    """Offsets of one group in one partition. `committed` is the next to read, None before any."""

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int


async def lag(settings: KafkaSettings, groups: Sequence[str] = ()) -> list[Lag]:
    """The partitions of these groups, default of all that read topics of the topology and are not
    dropped.

    A partition without a committed offset counts from the log's beginning. Raises Unreachable, or
    ConfigurationError for a group that has committed nothing.
    """
    if settings.topic_prefix:
        settings = settings.beside(await _mapped(settings, groups))
    async with connected(settings) as admin:
        committed = await _committed(admin, groups)
        topics = {at.topic for offsets in committed.values() for at in offsets}
        parts = await every_partition(admin, sorted(topics))
    begins, ends = await bounds(settings, parts)
    return [
        _lag(group, at, begins[at], ends[at], offsets.get(at))
        for group, offsets in sorted(committed.items())
        for at in sorted(ends)
        if at.topic in {known.topic for known in offsets}
    ]


async def _mapped(settings: KafkaSettings, groups: Sequence[str]) -> set[str]:
    """The platform's topics that mappings of these groups read, whose names have no prefix."""
    async with connected(settings) as admin:
        names = groups or [name for name, *_ in await admin.list_consumer_groups()]
        present = await admin.list_topics()
    found = (mapped_topic(group, name) for group in names for name in present)
    return {topic for topic in found if topic is not None}


def _lag(group: str, at: TopicPartition, begin: int, end: int, committed: int | None) -> Lag:
    stands = begin if committed is None else max(committed, begin)
    return Lag(group, at.topic, at.partition, end, committed, max(0, end - stands))


async def _committed(
    admin: KafkaAdmin, groups: Sequence[str]
) -> dict[str, dict[TopicPartition, int]]:
    names = groups or [name for name, *_ in await admin.list_consumer_groups()]
    ours = {topic.name for topic in TOPICS}
    present = set(await admin.list_topics())
    found = {}
    for name in names:
        known = await offsets_of(admin, name)
        if not known and groups:
            raise ConfigurationError(f"group {name}: has no committed offsets; check the name")
        if not groups and not any(at.topic in ours for at in known):
            continue
        if groups or not await _dropped(admin, name, known, present):
            found[name] = {at: offset for at, offset in known.items() if at.topic in present}
    return found


async def offsets_of(admin: KafkaAdmin, group: str) -> dict[TopicPartition, int]:
    """What a group has committed; nothing where it is gone. Raises ConfigurationError where the
    broker's ACLs do not let us ask, KafkaError where its coordinator does not say."""
    try:
        offsets = await admin.list_consumer_group_offsets(group)
    except KafkaError as error:
        if (refused := denials.of(error)) is not None:
            raise refused from None
        raise
    return {at: one.offset for at, one in offsets.items() if one.offset >= 0}


async def _dropped(
    admin: AIOKafkaAdminClient, group: str, known: Iterable[TopicPartition], present: set[str]
) -> bool:
    """Whether a group is what a generation's workers have left: it has read what workers read, and
    there is no topic of that generation any more, no changelog and no member. The broker itself
    forgets the offsets of topics that are deleted."""
    _, dot, generation = group.rpartition(".")
    if not dot or not {at.topic for at in known}.intersection(OF_WORKERS):
        return False
    if any(name.startswith(f"{group}-") or name.endswith(f".{generation}") for name in present):
        return False
    return not await members_of(admin, group)


async def members_of(admin: AIOKafkaAdminClient, group: str) -> int:
    """How many members a group has; 0 where there is none of that name."""
    (reply,) = await admin.describe_consumer_groups([group])
    return sum(len(members) for _, _, _, _, _, members, *_ in reply.groups)


async def every_partition(
    admin: AIOKafkaAdminClient, topics: Iterable[str]
) -> list[TopicPartition]:
    """Those of the topics that exist. None is asked for by name that does not: a broker may make
    what it is asked for."""
    counts = await partitions_of(admin, topics)
    return [TopicPartition(name, n) for name, count in counts.items() for n in range(count)]


async def bounds(
    settings: KafkaSettings, parts: list[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """First and next offset of each partition; without those that are gone meanwhile."""
    for attempt in range(ATTEMPTS):
        if not parts:
            break
        try:
            made = KafkaConsumer(request_timeout_ms=ANSWER_MS, **settings.client())
            async with made as consumer:
                begins = await consumer.beginning_offsets(parts)
                return begins, await consumer.end_offsets(parts)
        except KafkaError as error:
            async with connected(settings) as admin:
                left = await every_partition(admin, dict.fromkeys(at.topic for at in parts))
            same = len(left) == len(parts)
            if same and not isinstance(error, UnknownTopicOrPartitionError):
                raise lost(settings, error) from None
            if attempt == ATTEMPTS - 1:
                raise lost(settings, error) from None
            parts = left
    return {}, {}
