"""Lanes of topics that a mapping reads, and their changelogs."""

from functools import partial

from aiokafka.admin import NewPartitions

from streams.errors import ConfigurationError
from streams.kafka.agents.mapping_agent import MappingAgent
from streams.kafka.client.admin import connected, partitions_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import mapping_changelog
from streams.kafka.client.topic_specs import TopicSpec, spec
from streams.kafka.transport.interfaces import AgentSpec
from streams.mapping.definition import like_a_generations
from streams.mapping.mapper import Mapper

LONGEST = 249
"""Maximum characters of a topic name."""


def plans(group: str, mapper: Mapper, partitions: int) -> list[AgentSpec]:
    """One plan per mapped topic; `partitions`: of the input topics."""
    return [
        AgentSpec(
            f"mapping-{topic}",
            (topic,),
            mapping_changelog(group, topic),
            partial(MappingAgent, source=source, partitions=partitions),
            f"mapping-{topic}",
            f"how far {topic} is mapped",
        )
        for topic, source in mapper.sources.items()
    ]


async def changelogs(settings: KafkaSettings, group: str, mapper: Mapper) -> list[TopicSpec]:
    """Changelogs of a mapping's topics, with the same numbers of partitions. Adds partitions to an
    existing changelog if its topic has more.

    Raises:
        ConfigurationError: a mapped topic is missing, or belongs to this installation.
        Unreachable: no broker responds.
    """
    prefix = settings.topic_prefix
    for topic in mapper.sources:
        if prefix and topic.startswith(prefix):
            raise ConfigurationError(
                f"{mapper.path}: topic {topic} is this installation's own: its name begins with "
                f"the prefix {prefix}; name a platform's topic under `sources`"
            )
        if not prefix and like_a_generations(topic):
            raise ConfigurationError(
                f"{mapper.path}: topic {topic} has a name that a generation's topic may have; a "
                "worker with a topic prefix (TURNFOLD_KAFKA_TOPIC_PREFIX) can read it"
            )
    names = {topic: mapping_changelog(group, topic) for topic in mapper.sources}
    for topic, name in names.items():
        if len(name) > LONGEST:
            raise ConfigurationError(
                f"{mapper.path}: topic {topic}: the name of its changelog, {name}, has more than "
                f"{LONGEST} characters; choose a shorter --app-id"
            )
    async with connected(settings) as admin:
        counts = await partitions_of(admin, [*names, *names.values()])
        if missing := [topic for topic in names if topic not in counts]:
            raise ConfigurationError(
                f"{mapper.path}: topic {missing[0]} is not on the broker; create it, or correct "
                "its name under `sources`"
            )
        for topic, name in names.items():
            if 0 < counts.get(name, 0) < counts[topic]:
                await admin.create_partitions({name: NewPartitions(counts[topic])})
    return [spec(name, counts[topic], compacted=True) for topic, name in names.items()]
