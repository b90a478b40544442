"""Topics are created as the topology says, and one that is not so is refused."""

import asyncio
import shlex
from collections import defaultdict
from collections.abc import Awaitable, Callable
from typing import TypeVar
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer
from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from schemas.events import MAX_RECORD_BYTES
from streams.errors import ConfigurationError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import alter_topic, own_settings
from streams.kafka.client.topic_specs import DAY_MS, TopicSpec, spec
from streams.kafka.client.topics import check, create, ensure_topics
from streams.topology import DEAD_LETTERS, TOPICS, TURNS
from tests.command import Done, turnfold
from tests.kafka.counting import create_known

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

    run(
        settings,
        lambda admin: create_known(admin, NewTopic(topic, partitions, 1, topic_configs=config)),
    )


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


async def test_a_record_of_the_maximum_size_gets_in(settings: KafkaSettings) -> None:
    topic = name()
    async with connected(settings) as admin:
        await create(admin, [spec(topic, 1, max_bytes=2 * 1024 * 1024)])
    async with AIOKafkaProducer(max_request_size=4 * 1024 * 1024, **settings.client()) as producer:
        await producer.send_and_wait(topic, b"x" * MAX_RECORD_BYTES)
        # somewhat too large: a dead letter later on, not an error of the producer
        sent = await producer.send_and_wait(topic, b"x" * (MAX_RECORD_BYTES + 500_000))
    assert int(sent.offset) == 1


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


def told(settings: KafkaSettings, *args: str, prefix: str) -> Done:
    return turnfold(
        "kafka", "topics", "--bootstrap", settings.bootstrap, "--topic-prefix", prefix, *args
    )  # fmt: skip


def do(settings: KafkaSettings, line: str) -> None:
    """What one of Kafka's tools would do that an administrator was told to call."""
    tool, *args = shlex.split(line)
    given: defaultdict[str, list[str]] = defaultdict(list)
    names = iter(args)
    for name in names:
        given[name].append("" if name in ("--create", "--alter") else next(names))
    assert given["--bootstrap-server"] == [settings.bootstrap]
    ((topic,),) = [given["--topic"]]
    if tool == "kafka-topics.sh":
        configs = dict(one.split("=") for one in given["--config"])
        assert given["--replication-factor"] == ["1"]
        made(settings, topic, int(given["--partitions"][0]), **configs)
        return
    assert tool == "kafka-configs.sh"
    changes = dict(one.split("=") for text in given["--add-config"] for one in text.split(","))

    async def alter(admin: AIOKafkaAdminClient) -> None:
        own = (await own_settings(admin, [topic]))[topic]
        await alter_topic(admin, topic, own | changes)

    run(settings, alter)


@pytest.mark.nightly
def test_topics_are_made_as_the_administrator_is_told(settings: KafkaSettings) -> None:
    prefix = f"made-{uuid4().hex[:8]}."
    missing = told(settings, "-o", "json", prefix=prefix)
    assert missing.code == 0
    assert {one["state"] for one in missing.json()} == {"missing"}
    assert len(missing.json()) == len(TOPICS) + 2
    for line in told(settings, "--commands", prefix=prefix).out.splitlines():
        do(settings, line)
    found = told(settings, "-o", "json", prefix=prefix)
    assert found.code == 0
    assert {one["state"] for one in found.json()} == {"ok"}
    assert told(settings, "--commands", prefix=prefix).out == ""
    through = KafkaSettings(bootstrap=settings.bootstrap, topic_prefix=prefix)
    assert asyncio.run(ensure_topics(through)) == []


@pytest.mark.nightly
def test_each_setting_that_does_not_do_is_named_with_what_it_must_be(
    settings: KafkaSettings,
) -> None:
    prefix = f"wrong-{uuid4().hex[:8]}."
    own = {"message.timestamp.type": "LogAppendTime", "max.message.bytes": "5000000"}
    made(settings, f"{prefix}turns", 4, **own)  # an operator's own settings that do
    made(settings, f"{prefix}recursions", 3, **own)
    made(settings, f"{prefix}moods", 4, **own)
    made(settings, f"{prefix}history", 7, **own | {"max.message.bytes": "1000000"})
    made(settings, f"{prefix}links", 4, **own | {"message.timestamp.type": "CreateTime"})
    made(settings, f"{prefix}tasks", 4,
         **own | {"cleanup.policy": "compact", "min.insync.replicas": "2"})  # fmt: skip
    done = told(settings, prefix=prefix)
    assert done.code == 3
    for line in (
        f"topic {prefix}recursions: partitions is 3, must be 4",
        f"topic {prefix}moods: cleanup.policy is delete, must be compact",
        f"topic {prefix}history: max.message.bytes is 1000000, must be at least 4194304",
        f"topic {prefix}links: message.timestamp.type is CreateTime, must be LogAppendTime",
        f"topic {prefix}tasks: min.insync.replicas is 2, must be at most 1",
    ):
        assert line in done.err
    assert f"topic {prefix}turns" not in done.err
    said = {one["topic"]: one for one in told(settings, "-o", "json", prefix=prefix).json()}
    assert said["turns"]["state"] == "ok" and said["moods"]["state"] == "wrong"
    assert said["moods"]["wrong"] == [
        {"setting": "cleanup.policy", "expected": "compact", "found": "delete"}
    ]
    for line in told(settings, "--commands", prefix=prefix).out.splitlines():
        if line.startswith("kafka-configs.sh"):
            do(settings, line)
    left = told(settings, prefix=prefix).err
    assert "must be" in left and left.count("must be") == 1, "the partitions alone"


def test_a_name_that_is_too_long_on_the_broker_is_refused(settings: KafkaSettings) -> None:
    through = KafkaSettings(bootstrap=settings.bootstrap, topic_prefix="x" * 200)
    long = spec("y" * 50, 1)

    async def make() -> None:
        async with connected(through) as admin:
            await create(admin, [long])

    with pytest.raises(ConfigurationError, match="250 characters, Kafka allows 249"):
        asyncio.run(make())
