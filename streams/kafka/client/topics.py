"""Creates the topics of streams/topology.py, and rejects topics with wrong settings.

Wrong partition counts break co-partitioning, wrong clean-up loses the log, and with CreateTime a
producer would set `recorded_at`.
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
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import WITHIN, connected
from streams.kafka.client.aiokafka_internals import KafkaAdmin
from streams.kafka.client.settings import LONGEST, KafkaSettings
from streams.kafka.client.topic_specs import (
    PARTITIONS,
    REPLICAS,
    Difference,
    ExistingTopic,
    TopicSpec,
    differences,
    spec_of,
)
from streams.output import counted
from streams.topology import TOPICS, Topic

KNOWN_WITHIN = 30.0  # seconds; usually a moment
ALL_KNOW_WITHIN = 20.0
RETRY_AFTER = 0.1
NO_LEADER = -1
STATE = "turnfold-repartition"
"""The topic exists while `turnfold kafka repartition` runs, or after it was killed."""
UNDER_WAY = (
    f"the number of partitions is being changed (the topic {STATE} exists): if no `turnfold "
    "kafka repartition` is running, run the same command again; it continues"
)
SHOWN = 3  # differences per error; often all topics have the same


async def ensure_topics(
    settings: KafkaSettings,
    more: Iterable[TopicSpec] = (),
    within: float = WITHIN,
    counted: bool = True,
    topics: Iterable[Topic] = TOPICS,
) -> list[str]:
    """Creates missing topics of `topics` and `more`, checks existing ones; returns the created
    names. `counted`: existing ones must have the configured number of partitions.

    Raises ConfigurationError with topic, setting, expected and found, or what `connected` raises.
    """
    specs = [spec_of(topic, settings.partitions) for topic in topics] + list(more)
    async with connected(settings, within) as admin:
        check_no_repartition(await admin.list_topics())
        created = await create(admin, specs, settings.replication)
    if not counted:
        specs = [replace(spec, partitions=1, more=True) for spec in specs]
    async with connected(settings, max(within, KNOWN_WITHIN)) as admin:
        await check(admin, specs, ALL_KNOW_WITHIN)
    return created


def check_no_repartition(topics: Collection[str]) -> None:
    """Raises ConfigurationError while a repartition is in progress."""
    if STATE in topics:
        raise ConfigurationError(UNDER_WAY)


async def create(
    admin: KafkaAdmin, specs: Collection[TopicSpec], replication: int | None = None
) -> list[str]:
    """Creates the missing topics; returns their names.

    Raises ConfigurationError if the broker rejects one (no permission, too few brokers).
    """
    check_lengths(admin, specs)
    present = set(await admin.list_topics())
    missing = [spec for spec in specs if spec.name not in present]
    if not missing:
        return []
    copies = await replicas(admin, replication)
    reply = await admin.create_topics(
        [
            NewTopic(spec.name, spec.partitions, copies, topic_configs=spec.settings(copies))
            for spec in missing
        ]
    )
    created, forbidden = [], []
    for name, code, message in reply.topic_errors:
        error = for_code(code)
        if error is NoError:
            created.append(name)
        elif code in acl_errors.RESOURCES:
            forbidden.append(name)
        elif error is not TopicAlreadyExistsError:  # created by another worker
            why = message or error.__name__
            raise ConfigurationError(
                f"topic {admin.on_broker(name)}: the broker does not create it: {why}"
            )
    if forbidden:
        raise ConfigurationError(_forbidden(admin, missing, forbidden))
    return created


async def replicas(admin: KafkaAdmin, replication: int | None) -> int:
    """Replication factor of a new topic."""
    return replication or min(REPLICAS, len((await admin.describe_cluster())["brokers"]))


def check_lengths(admin: KafkaAdmin, specs: Iterable[TopicSpec]) -> None:
    """Raises ConfigurationError for a name that is too long."""
    for spec in specs:
        if len(name := admin.on_broker(spec.name)) > LONGEST:
            raise ConfigurationError(
                f"topic {name}: its name has {len(name)} characters, Kafka allows {LONGEST}; "
                "choose a shorter topic_prefix, app id or generation"
            )


def _forbidden(admin: KafkaAdmin, missing: Iterable[TopicSpec], names: Collection[str]) -> str:
    listed = ", ".join(
        f"{admin.on_broker(spec.name)} ({counted(spec.partitions, 'partition')})"
        for spec in missing
        if spec.name in names
    )
    return (
        f"Kafka: this client is not authorized: Create on topics {listed}. If they exist, it lacks "
        "Describe on them; otherwise let an administrator create them: `turnfold kafka topics "
        "--commands` prints the commands (docs/shared-clusters.md)"
    )


async def check(admin: KafkaAdmin, specs: Iterable[TopicSpec], patience: float = 0.0) -> None:
    """Raises ConfigurationError with the topics that differ from their specs, and how; `patience`
    as in `look`."""
    expected = list(specs)
    existing = await look(admin, expected, patience)
    wrong = [
        _describe(admin.on_broker(spec.name), difference)
        for spec in expected
        for difference in differences(spec, existing[spec.name])
    ]
    if wrong:
        rest = (
            f"; and {len(wrong) - SHOWN} more (`turnfold kafka topics`)"
            if len(wrong) > SHOWN
            else ""
        )
        raise ConfigurationError("; ".join(wrong[:SHOWN]) + rest)


def _describe(name: str, difference: Difference) -> str:
    if difference.setting == PARTITIONS:
        return (
            f"topic {name}: expected {difference.expected} partitions (TURNFOLD_KAFKA_PARTITIONS), "
            f"found {difference.found}; see docs/operations.md, "
            '"Changing the number of partitions"'
        )
    return (
        f"topic {name}: expected {difference.setting} {difference.expected}, found "
        f"{difference.found}; alter it with kafka-configs"
    )


async def look(
    admin: KafkaAdmin, specs: Collection[TopicSpec], patience: float = 0.0
) -> dict[str, ExistingTopic]:
    """State of the topics.

    `patience`: seconds to wait until all brokers know the topics and a leader of each partition:
    any broker may respond, one that has just started knows no topics, and a new topic takes time to
    be known.
    """
    names = [spec.name for spec in specs]
    deadline = monotonic() + patience
    partitions = await _partitions(admin, names, deadline)
    settings = await _settings(admin, names, deadline)
    existing = {}
    for name in names:
        parts = partitions.get(name, [])
        copies = min((len(partition["replicas"]) for partition in parts), default=0)
        existing[name] = ExistingTopic(len(parts), copies, settings.get(name, {}))
    return existing


async def _partitions(
    admin: KafkaAdmin, names: list[str], deadline: float
) -> dict[str, list[dict[str, Any]]]:
    """Partitions of each topic, once each has a leader; incomplete at the deadline."""
    while True:
        described = await admin.describe_topics(names)
        partitions = {topic["topic"]: topic["partitions"] for topic in described}
        if all(map(_is_led, partitions.values())) or monotonic() >= deadline:
            return partitions
        await asyncio.sleep(RETRY_AFTER)


def _is_led(partitions: list[dict[str, Any]]) -> bool:
    """Whether a topic's partitions are known and each has a leader, as writing requires."""
    return bool(partitions) and all(partition["leader"] != NO_LEADER for partition in partitions)


async def _settings(
    admin: KafkaAdmin, names: Iterable[str], deadline: float
) -> dict[str, dict[str, str]]:
    """All settings by topic."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    replies: list[Any] = await admin.describe_configs(resources)
    while _unknown(replies) and monotonic() < deadline:
        await asyncio.sleep(RETRY_AFTER)
        replies = await admin.describe_configs(resources)
    settings: dict[str, dict[str, str]] = {}
    for reply in replies:
        for code, message, _, name, entries in reply.resources:
            if for_code(code) is not NoError:
                error = for_code(code)(message)
                why = acl_errors.of(error) or message or type(error).__name__
                raise ConfigurationError(
                    f"topic {admin.on_broker(name)}: its settings cannot be read: {why}"
                )
            settings[name] = {entry[0]: entry[1] for entry in entries}
    return settings


def _unknown(replies: Iterable[Any]) -> bool:
    """Whether the responding broker does not know one of the topics."""
    codes = (code for reply in replies for code, *_ in reply.resources)
    return any(for_code(code) is UnknownTopicOrPartitionError for code in codes)
