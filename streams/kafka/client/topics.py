"""Creates the topics of streams/topology.py, and refuses those that are not as they should be.

Wrong partition counts break co-partitioning, wrong clean-up loses the log, and a timestamp other
than the log's own makes `recorded_at` what a producer claims.
"""

import asyncio
from collections.abc import Collection, Iterable
from dataclasses import replace
from time import monotonic
from typing import Any

from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import (
    NoError,
    TopicAlreadyExistsError,
    UnknownTopicOrPartitionError,
    for_code,
)

from streams.errors import ConfigurationError
from streams.kafka.client import denials
from streams.kafka.client.admin import WITHIN, connected
from streams.kafka.client.aiokafka_internals import KafkaAdmin
from streams.kafka.client.settings import LONGEST, KafkaSettings
from streams.kafka.client.topic_specs import (
    PARTITIONS,
    REPLICAS,
    Difference,
    Found,
    TopicSpec,
    differences,
    spec_of,
)
from streams.topology import TOPICS, Topic

KNOWN_WITHIN = 30.0  # seconds; a moment, where the machine has other things to do
ALL_KNOW_WITHIN = 20.0
ASKED_AGAIN = 0.1
NO_LEADER = -1
STATE = "turnfold-repartition"
"""The topic that is there while `turnfold kafka repartition` is at work, or was killed at it."""
UNDER_WAY = (
    f"the number of partitions is being changed (the topic {STATE} exists): if no `turnfold "
    "kafka repartition` is running, run the same command again; it continues"
)
SHOWN = 3  # differences an error names; often all topics have the same


async def ensure_topics(
    settings: KafkaSettings,
    more: Iterable[TopicSpec] = (),
    within: float = WITHIN,
    counted: bool = True,
    topics: Iterable[Topic] = TOPICS,
) -> list[str]:
    """Creates what is missing of these topics and `more`, checks what is there; the new names.
    `counted`: those that are there must have as many partitions as the settings say.

    Raises ConfigurationError naming topic, setting, expected and found, or what `connected` raises.
    """
    specs = [spec_of(topic, settings.partitions) for topic in topics] + list(more)
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
    admin: KafkaAdmin, specs: Collection[TopicSpec], replication: int | None = None
) -> list[str]:
    """Creates the topics that do not exist; returns their names.

    Raises ConfigurationError where the broker refuses one (no permission, too few brokers).
    """
    check_lengths(admin, specs)
    present = set(await admin.list_topics())
    missing = [one for one in specs if one.name not in present]
    if not missing:
        return []
    copies = await replicas(admin, replication)
    reply = await admin.create_topics(
        [
            NewTopic(one.name, one.partitions, copies, topic_configs=one.settings(copies))
            for one in missing
        ]
    )
    created, forbidden = [], []
    for name, code, message in reply.topic_errors:
        error = for_code(code)
        if error is NoError:
            created.append(name)
        elif code in denials.RESOURCES:
            forbidden.append(name)
        elif error is not TopicAlreadyExistsError:  # another worker was faster: that is no error
            why = message or error.__name__
            raise ConfigurationError(
                f"topic {admin.on_broker(name)}: the broker does not create it: {why}"
            )
    if forbidden:
        raise ConfigurationError(_forbidden(admin, missing, forbidden))
    return created


async def replicas(admin: KafkaAdmin, replication: int | None) -> int:
    """How many a new topic gets."""
    return replication or min(REPLICAS, len((await admin.describe_cluster())["brokers"]))


def check_lengths(admin: KafkaAdmin, specs: Iterable[TopicSpec]) -> None:
    """Raises ConfigurationError for a name that no broker takes."""
    for one in specs:
        if len(name := admin.on_broker(one.name)) > LONGEST:
            raise ConfigurationError(
                f"topic {name}: its name has {len(name)} characters, Kafka allows {LONGEST}; "
                "choose a shorter topic_prefix, app id or generation"
            )


def _forbidden(admin: KafkaAdmin, missing: Iterable[TopicSpec], names: Collection[str]) -> str:
    listed = ", ".join(
        f"{admin.on_broker(one.name)} ({one.partitions} partitions)"
        for one in missing
        if one.name in names
    )
    return (
        f"Kafka: the broker does not let this client do Create on the topics {listed}. If they are "
        "there, it may not do Describe on them; if not, let an administrator create them: "
        "`turnfold kafka topics --commands` prints how (docs/shared-clusters.md)"
    )


async def check(admin: KafkaAdmin, specs: Iterable[TopicSpec], patience: float = 0.0) -> None:
    """Raises ConfigurationError naming topics that are not as their specs say, and how; `patience`
    as in `look`."""
    wanted = list(specs)
    found = await look(admin, wanted, patience)
    wrong = [
        _said(admin.on_broker(one.name), difference)
        for one in wanted
        for difference in differences(one, found[one.name])
    ]
    if wrong:
        rest = (
            f"; and {len(wrong) - SHOWN} more (`turnfold kafka topics`)"
            if len(wrong) > SHOWN
            else ""
        )
        raise ConfigurationError("; ".join(wrong[:SHOWN]) + rest)


def _said(name: str, one: Difference) -> str:
    if one.setting == PARTITIONS:
        return (
            f"topic {name}: expected {one.expected} partitions (TURNFOLD_KAFKA_PARTITIONS), "
            f'found {one.found}; docs/operations.md, "Changing the number of partitions", says '
            "which of both is to change, and how"
        )
    return (
        f"topic {name}: expected {one.setting} {one.expected}, found {one.found}; "
        "alter it with kafka-configs"
    )


async def look(
    admin: KafkaAdmin, specs: Collection[TopicSpec], patience: float = 0.0
) -> dict[str, Found]:
    """What is there of the topics.

    `patience`: seconds for every broker of the cluster to know the topics and the leader of each
    partition: any broker may answer, one that has just started knows none, and none knows at once
    what another has created.
    """
    names = [one.name for one in specs]
    deadline = monotonic() + patience
    partitions = await _partitions(admin, names, deadline)
    settings = await _settings(admin, names, deadline)
    found = {}
    for name in names:
        parts = partitions.get(name, [])
        copies = min((len(one["replicas"]) for one in parts), default=0)
        found[name] = Found(len(parts), copies, settings.get(name, {}))
    return found


async def _partitions(
    admin: KafkaAdmin, names: list[str], deadline: float
) -> dict[str, list[dict[str, Any]]]:
    """The partitions of each topic, once each has a leader; none where the topic is still not
    known at the deadline."""
    while True:
        described = await admin.describe_topics(names)
        found = {one["topic"]: one["partitions"] for one in described}
        if all(map(_is_led, found.values())) or monotonic() >= deadline:
            return found
        await asyncio.sleep(ASKED_AGAIN)


def _is_led(partitions: list[dict[str, Any]]) -> bool:
    """Whether a topic's partitions are known and each has a leader, as it must to be written."""
    return bool(partitions) and all(one["leader"] != NO_LEADER for one in partitions)


async def _settings(
    admin: KafkaAdmin, names: Iterable[str], deadline: float
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
                error = for_code(code)(message)
                why = denials.of(error) or message or type(error).__name__
                raise ConfigurationError(
                    f"topic {admin.on_broker(name)}: its settings cannot be read: {why}"
                )
            found[name] = {entry[0]: entry[1] for entry in entries}
    return found


def _unknown(replies: Iterable[Any]) -> bool:
    """Whether the broker that answered does not know one of the topics."""
    codes = (code for reply in replies for code, *_ in reply.resources)
    return any(for_code(code) is UnknownTopicOrPartitionError for code in codes)
