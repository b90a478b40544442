"""`turnstone lag`: how far each group is behind the end of its topics."""

from collections.abc import Sequence
from typing import NamedTuple

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError, Unreachable
from streams.kafka.admin import connected
from streams.kafka.fetching import KafkaConsumer
from streams.kafka.settings import KafkaSettings
from streams.topology import TOPICS


class Lag(NamedTuple):
    """Offsets of one group in one partition. `committed` is the next to read, None before any."""

    group: str
    topic: str
    partition: int
    end: int
    committed: int | None
    lag: int


async def lag(settings: KafkaSettings, groups: Sequence[str] = ()) -> list[Lag]:
    """The partitions of these groups, default of all that read topics of the topology.

    A partition without a committed offset counts from the log's beginning. Raises Unreachable, or
    ConfigurationError for a group that has committed nothing.
    """
    async with connected(settings) as admin:
        committed = await _committed(admin, groups)
        topics = sorted({at.topic for offsets in committed.values() for at in offsets})
        described = await admin.describe_topics(topics) if topics else []
    parts = [
        TopicPartition(one["topic"], part["partition"])
        for one in described
        for part in one["partitions"]
    ]
    begins, ends = await _bounds(settings, parts)
    return [
        _lag(group, at, begins[at], ends[at], offsets.get(at))
        for group, offsets in sorted(committed.items())
        for at in sorted(parts)
        if at.topic in {known.topic for known in offsets}
    ]


def _lag(group: str, at: TopicPartition, begin: int, end: int, committed: int | None) -> Lag:
    stands = begin if committed is None else max(committed, begin)
    return Lag(group, at.topic, at.partition, end, committed, max(0, end - stands))


async def _committed(
    admin: AIOKafkaAdminClient, groups: Sequence[str]
) -> dict[str, dict[TopicPartition, int]]:
    names = groups or [name for name, *_ in await admin.list_consumer_groups()]
    ours = {topic.name for topic in TOPICS}
    found = {}
    for name in names:
        offsets = await admin.list_consumer_group_offsets(name)
        known = {at: one.offset for at, one in offsets.items() if one.offset >= 0}
        if not known and groups:
            raise ConfigurationError(f"group {name}: has committed no offset; is it its name?")
        if groups or any(at.topic in ours for at in known):
            found[name] = known
    return found


async def _bounds(
    settings: KafkaSettings, parts: list[TopicPartition]
) -> tuple[dict[TopicPartition, int], dict[TopicPartition, int]]:
    """First and next offset of each partition."""
    if not parts:
        return {}, {}
    try:
        async with KafkaConsumer(**settings.client()) as consumer:
            return await consumer.beginning_offsets(parts), await consumer.end_offsets(parts)
    except KafkaError as error:
        raise Unreachable(f"Kafka: {settings.bootstrap}: {error!r}") from None
