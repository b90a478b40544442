"""Creates the topics of streams/topology.py, and refuses those that are not as they should be.

Wrong partition counts break co-partitioning, wrong clean-up loses the log, and a timestamp other
than the log's own makes `recorded_at` what a producer claims.
"""

import asyncio
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from time import monotonic
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient, NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from streams.errors import ConfigurationError
from streams.kafka.client.admin import WITHIN, connected
from streams.kafka.client.settings import KafkaSettings
from streams.topology import INPUT_BYTES, OUTPUT_BYTES, TOPICS, Topic

DAY_MS = 86_400_000
REPLICAS = 3
KNOWN_WITHIN = 30.0  # seconds; a moment, where the machine has other things to do
ALL_KNOW_WITHIN = 20.0
ASKED_AGAIN = 0.1
NO_LEADER = -1
STATE = "turnfold-repartition"
"""The topic that is there while `turnfold repartition` is at work, or was killed at it."""
UNDER_WAY = (
    f"the number of partitions is being changed (the topic {STATE} exists): if no `turnfold "
    "repartition` is running, run the same command again; it continues"
)
SHOWN = 3  # differences an error names; often all topics have the same


@dataclass(frozen=True, slots=True)
class TopicSpec:
    """A topic as it must be. `exact` settings must be equal, `at_least` must not be lower,
    `initial` are set when it is created and the operator's afterwards (retention). `more`: it may
    have more partitions than that, of which nothing depends (no key is looked up in it)."""

    name: str
    partitions: int
    exact: Mapping[str, str]
    at_least: Mapping[str, int]
    initial: Mapping[str, str]
    more: bool = False

    def settings(self) -> dict[str, str]:
        """What it is created with."""
        limits = {name: str(value) for name, value in self.at_least.items()}
        return {**self.exact, **limits, **self.initial}


def spec(
    name: str,
    partitions: int,
    *,
    compacted: bool = False,
    retention_days: int | None = None,
    max_bytes: int = OUTPUT_BYTES,
    more: bool = False,
) -> TopicSpec:
    """One topic; also for those the topology does not name, such as a table's changelog.

    `retention_days` None keeps messages for ever; a compacted topic keeps the newest of each key.
    """
    retention = -1 if retention_days is None else retention_days * DAY_MS
    return TopicSpec(
        name,
        partitions,
        exact={
            "cleanup.policy": "compact" if compacted else "delete",
            "message.timestamp.type": "LogAppendTime",
        },
        at_least={"max.message.bytes": max_bytes},
        initial={} if compacted else {"retention.ms": str(retention), "retention.bytes": "-1"},
        more=more,
    )


def spec_of(topic: Topic, partitions: int) -> TopicSpec:
    """A topic of the topology."""
    return spec(
        topic.name,
        partitions,
        compacted=topic.compacted,
        retention_days=topic.retention_days,
        max_bytes=OUTPUT_BYTES if topic.direction == "output" else INPUT_BYTES,
        more=topic.direction == "output" and not topic.compacted,
    )


async def ensure_topics(
    settings: KafkaSettings,
    more: Iterable[TopicSpec] = (),
    within: float = WITHIN,
    counted: bool = True,
) -> list[str]:
    """Creates what is missing of the topology and `more`, checks what is there; the new names.
    `counted`: those that are there must have as many partitions as the settings say.

    Raises ConfigurationError naming topic, setting, expected and found, or what `connected` raises.
    """
    specs = [spec_of(topic, settings.partitions) for topic in TOPICS] + list(more)
    async with connected(settings, within) as admin:
        refuse_under_way(await admin.list_topics())
        created = await create(admin, specs, settings.replication)
    if not counted:
        specs = [replace(one, partitions=1, more=True) for one in specs]
    async with connected(settings, max(within, KNOWN_WITHIN)) as admin:
        await check(admin, specs, ALL_KNOW_WITHIN)
    return created


def refuse_under_way(topics: Collection[str]) -> None:
    """Raises ConfigurationError while the number of partitions is being changed."""
    if STATE in topics:
        raise ConfigurationError(UNDER_WAY)


async def create(
    admin: AIOKafkaAdminClient, specs: Iterable[TopicSpec], replication: int | None = None
) -> list[str]:
    """Creates the topics that do not exist; returns their names.

    Raises ConfigurationError where the broker refuses one (no permission, too few brokers).
    """
    present = set(await admin.list_topics())
    missing = [one for one in specs if one.name not in present]
    if not missing:
        return []
    brokers = len((await admin.describe_cluster())["brokers"])
    copies = replication or min(REPLICAS, brokers)
    reply = await admin.create_topics(
        [
            NewTopic(one.name, one.partitions, copies, topic_configs=one.settings())
            for one in missing
        ]
    )
    created = []
    for name, code, message in reply.topic_errors:
        error = for_code(code)
        if error is NoError:
            created.append(name)
        elif error is not TopicAlreadyExistsError:  # another worker was faster: that is no error
            why = message or error.__name__
            raise ConfigurationError(f"topic {name}: the broker does not create it: {why}")
    return created


async def check(
    admin: AIOKafkaAdminClient, specs: Iterable[TopicSpec], patience: float = 0.0
) -> None:
    """Raises ConfigurationError naming topics that are not as their specs say, and how.

    `patience`: seconds for every broker of the cluster to know the topics and the leader of each
    partition: any broker may answer, one that has just started knows none, and none knows at once
    what another has created.
    """
    wanted = {one.name: one for one in specs}
    deadline = monotonic() + patience
    partitions = await _partitions(admin, list(wanted), deadline)
    found = await _settings(admin, wanted, deadline)
    wrong = [
        line
        for name, one in wanted.items()
        for line in _differences(one, partitions.get(name, 0), found.get(name, {}))
    ]
    if wrong:
        rest = f"; and {len(wrong) - SHOWN} more" if len(wrong) > SHOWN else ""
        raise ConfigurationError("; ".join(wrong[:SHOWN]) + rest)


def _differences(one: TopicSpec, partitions: int, found: Mapping[str, str]) -> list[str]:
    lines = []
    if partitions < one.partitions or (partitions > one.partitions and not one.more):
        lines.append(
            f"topic {one.name}: expected {one.partitions} partitions (TURNFOLD_KAFKA_PARTITIONS), "
            f'found {partitions}; docs/operations.md, "Changing the number of partitions", says '
            "which of both is to change, and how"
        )
    wrong = [(name, value) for name, value in one.exact.items() if found.get(name) != value]
    wrong += [
        (name, f"at least {value}")
        for name, value in one.at_least.items()
        if int(found.get(name, 0)) < value
    ]
    lines += [
        f"topic {one.name}: expected {name} {value}, found {found.get(name, 'nothing')}; "
        "alter it with kafka-configs"
        for name, value in wrong
    ]
    return lines


async def _partitions(
    admin: AIOKafkaAdminClient, names: list[str], deadline: float
) -> dict[str, int]:
    """How many partitions each topic has, once each has a leader; 0 where the topic is still not
    known at the deadline."""
    while True:
        described = await admin.describe_topics(names)
        found = {one["topic"]: one["partitions"] for one in described}
        if all(map(_is_led, found.values())) or monotonic() >= deadline:
            return {name: len(partitions) for name, partitions in found.items()}
        await asyncio.sleep(ASKED_AGAIN)


def _is_led(partitions: list[dict[str, Any]]) -> bool:
    """Whether a topic's partitions are known and each has a leader, as it must to be written."""
    return bool(partitions) and all(one["leader"] != NO_LEADER for one in partitions)


async def _settings(
    admin: AIOKafkaAdminClient, names: Iterable[str], deadline: float
) -> dict[str, dict[str, str]]:
    """Every setting of the topics, by topic."""
    asked = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    replies: list[Any] = await admin.describe_configs(asked)
    while _unknown(replies) and monotonic() < deadline:
        await asyncio.sleep(ASKED_AGAIN)
        replies = await admin.describe_configs(asked)
    found: dict[str, dict[str, str]] = {}
    for reply in replies:
        for code, message, _, name, entries in reply.resources:
            if for_code(code) is not NoError:
                why = message or for_code(code).__name__
                raise ConfigurationError(f"topic {name}: its settings cannot be read: {why}")
            found[name] = {entry[0]: entry[1] for entry in entries}
    return found


def _unknown(replies: Iterable[Any]) -> bool:
    """Whether the broker that answered does not know one of the topics."""
    codes = (code for reply in replies for code, *_ in reply.resources)
    return any(for_code(code) is UnknownTopicOrPartitionError for code in codes)
