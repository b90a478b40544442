"""Topics are created as the topology says, and one that is not so is refused."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from schemas.events import MAX_RECORD_BYTES
from streams.errors import ConfigurationError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import DAY_MS, TopicSpec, check, create, ensure_topics, spec
from streams.topology import DEAD_LETTERS, TOPICS, TURNS

R = TypeVar("R")
WITHIN = 20.0
"""Seconds for the broker to know what it has just created."""


def run(settings: KafkaSettings, job: Callable[[AIOKafkaAdminClient], Awaitable[R]]) -> R:
    """What a job with an admin client returns."""

    async def inside() -> R:
        async with connected(settings) as admin:
            return await job(admin)

    return asyncio.run(inside())


def configs(settings: KafkaSettings, names: list[str]) -> dict[str, dict[str, str]]:
    """What the broker says of topics: by name, its settings and `partitions`."""

    async def ask(admin: AIOKafkaAdminClient) -> dict[str, dict[str, str]]:
        asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
        (reply,) = await admin.describe_configs(asked)
        said = {one[3]: {entry[0]: entry[1] for entry in one[4]} for one in reply.resources}
        for one in await admin.describe_topics(names):
            said[one["topic"]]["partitions"] = str(len(one["partitions"]))
        return said

    return run(settings, ask)


def made(settings: KafkaSettings, topic: str, partitions: int, **config: str) -> None:
    """A topic made by somebody else."""

    async def make(admin: AIOKafkaAdminClient) -> Any:
        return await admin.create_topics([NewTopic(topic, partitions, 1, topic_configs=config)])

    run(settings, make)


def refusal(settings: KafkaSettings, *specs: TopicSpec) -> str:
    """Why topics are refused."""
    with pytest.raises(ConfigurationError) as caught:
        run(settings, lambda admin: check(admin, specs, WITHIN))
    return str(caught.value)


def name() -> str:
    return f"topic-{uuid4()}"


def test_every_topic_of_the_topology_is_created_once(settings: KafkaSettings) -> None:
    changelog = spec(name(), settings.partitions, compacted=True)
    created = asyncio.run(ensure_topics(settings, more=[changelog]))
    assert changelog.name in created
    assert asyncio.run(ensure_topics(settings, more=[changelog])) == []
    said = configs(settings, [topic.name for topic in TOPICS])
    assert len(said) == len(TOPICS)
    for topic in TOPICS:
        found = said[topic.name]
        assert found["partitions"] == str(settings.partitions)
        assert found["message.timestamp.type"] == "LogAppendTime"
        assert found["cleanup.policy"] == ("compact" if topic.compacted else "delete")
        if not topic.compacted:
            days = topic.retention_days
            assert int(found["retention.ms"]) == (-1 if days is None else days * DAY_MS)
            assert found["retention.bytes"] == "-1"
    largest = {topic: int(said[topic.name]["max.message.bytes"]) for topic in (TURNS, DEAD_LETTERS)}
    assert largest[DEAD_LETTERS] >= 2 * largest[TURNS] > 2 * MAX_RECORD_BYTES


def test_the_log_says_when_a_record_came_not_the_producer(settings: KafkaSettings) -> None:
    topic = name()

    async def write_and_read() -> tuple[int, int]:
        async with connected(settings) as admin:
            await create(admin, [spec(topic, 1)])
        async with AIOKafkaProducer(**settings.client()) as producer:
            sent = await producer.send_and_wait(topic, b"late", timestamp_ms=1_000_000)
        async with AIOKafkaConsumer(
            topic, auto_offset_reset="earliest", **settings.client()
        ) as consumer:
            return sent.timestamp, (await asyncio.wait_for(consumer.getone(), 10)).timestamp

    acknowledged, stored = asyncio.run(write_and_read())
    assert acknowledged == stored > 1_600_000_000_000


def test_a_record_of_the_maximum_size_gets_in(settings: KafkaSettings) -> None:
    topic = name()

    async def write() -> int:
        async with connected(settings) as admin:
            await create(admin, [spec(topic, 1, max_bytes=2 * 1024 * 1024)])
        async with AIOKafkaProducer(
            max_request_size=4 * 1024 * 1024, **settings.client()
        ) as producer:
            await producer.send_and_wait(topic, b"x" * MAX_RECORD_BYTES)
            # somewhat too large: a dead letter later on, not an error of the producer
            sent = await producer.send_and_wait(topic, b"x" * (MAX_RECORD_BYTES + 500_000))
        return int(sent.offset)

    assert asyncio.run(write()) == 1


def test_a_wrong_partition_count_is_named(settings: KafkaSettings) -> None:
    topic = name()
    made(settings, topic, 3, **{"message.timestamp.type": "LogAppendTime"})
    said = refusal(settings, spec(topic, 4, max_bytes=1))
    assert f"topic {topic}: expected 4 partitions (TURNFOLD_KAFKA_PARTITIONS), found 3" in said
    assert "Changing the number of partitions" in said and "anew" not in said


@pytest.mark.parametrize(
    ("setting", "wrong", "expected"),
    [
        ("cleanup.policy", "compact", "delete"),
        ("message.timestamp.type", "CreateTime", "LogAppendTime"),
        ("max.message.bytes", "1000", "at least 2000"),
    ],
)
def test_a_wrong_setting_is_named(
    settings: KafkaSettings, setting: str, wrong: str, expected: str
) -> None:
    topic = name()
    right = {"cleanup.policy": "delete", "message.timestamp.type": "LogAppendTime"}
    made(settings, topic, 1, **{**right, setting: wrong})
    said = refusal(settings, spec(topic, 1, max_bytes=2000))
    assert said.count("topic ") == 1
    assert f"topic {topic}: expected {setting} {expected}, found {wrong}" in said


def test_retention_is_the_operators(settings: KafkaSettings) -> None:
    topic = name()
    made(settings, topic, 1, **{"message.timestamp.type": "LogAppendTime", "retention.ms": "60000"})
    run(settings, lambda admin: check(admin, [spec(topic, 1, max_bytes=1)], WITHIN))


def test_what_is_missing_is_a_difference_too(settings: KafkaSettings) -> None:
    with pytest.raises(ConfigurationError, match="topic missing-"):
        run(settings, lambda admin: check(admin, [spec(f"missing-{uuid4()}", 1)]))


def test_two_who_create_at_once_both_succeed(settings: KafkaSettings) -> None:
    wanted = [spec(name(), 2) for _ in range(5)]

    async def both() -> tuple[list[str], list[str]]:
        async with connected(settings) as one, connected(settings) as other:
            return await asyncio.gather(create(one, wanted), create(other, wanted))

    first, second = asyncio.run(both())
    assert sorted(first + second) == sorted(one.name for one in wanted)


def test_more_copies_than_brokers_are_refused_with_the_brokers_words(
    settings: KafkaSettings,
) -> None:
    with pytest.raises(ConfigurationError, match="does not create it") as caught:
        run(settings, lambda admin: create(admin, [spec(name(), 1)], replication=3))
    assert "replication" in str(caught.value).lower()


def test_a_dead_broker_is_unreachable() -> None:
    with pytest.raises(Unreachable, match=r"127\.0\.0\.1:1"):
        asyncio.run(ensure_topics(KafkaSettings.plain("127.0.0.1:1")))
