"""Creates, deletes and alters topics; each call returns once the broker knows the change."""

import asyncio
from collections.abc import Collection, Mapping
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

from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import partitions_of
from streams.kafka.client.aiokafka_internals import KafkaAdmin

KNOWN_WITHIN = 60.0
AGAIN = 0.1


async def own_settings(
    admin: AIOKafkaAdminClient, names: Collection[str]
) -> dict[str, dict[str, str]]:
    """Settings of topics that override the broker's defaults."""
    resources = [ConfigResource(ConfigResourceType.TOPIC, name) for name in names]
    settings: dict[str, dict[str, str]] = {}
    for reply in await admin.describe_configs(resources) if resources else []:
        for *_, name, entries in reply.resources:
            settings[name] = {entry[0]: entry[1] for entry in entries if _is_own(entry)}
    return settings


def _is_own(entry: Any) -> bool:
    """Whether the topic itself is the setting's source (1)."""
    return bool(entry[3] == 1)


async def delete_topics(
    admin: KafkaAdmin, names: Collection[str], within: float = KNOWN_WITHIN
) -> None:
    """Deletes the existing topics of these, and waits until they are gone. Raises
    ConfigurationError if the broker rejects it, TurnfoldError after `within` seconds."""
    deadline, remaining = monotonic() + within, list(names)
    while remaining:
        if monotonic() > deadline:
            raise TurnfoldError(
                f"Timed out after {within:.0f} s waiting for topic {remaining[0]} to be deleted; "
                "run the command again"
            )
        reply = await admin.delete_topics(remaining)
        errors = {name: for_code(code) for name, code, *_ in reply.topic_error_codes}
        remaining = [name for name, error in errors.items() if error is NoError]
        for name, error in errors.items():
            if error not in (NoError, UnknownTopicOrPartitionError):
                raise acl_errors.of(error()) or ConfigurationError(
                    f"topic {admin.on_broker(name)}: the broker does not remove it: {error()}"
                )
        if remaining:
            await asyncio.sleep(AGAIN)


async def create_topic(
    admin: AIOKafkaAdminClient, name: str, partitions: int, copies: int, settings: dict[str, str]
) -> bool:
    """Creates a topic and waits until it is known; returns False if it existed."""
    new = NewTopic(name, partitions, copies, topic_configs=settings)
    for _, code, message in (await admin.create_topics([new])).topic_errors:
        error = for_code(code)
        if error is TopicAlreadyExistsError:
            return False
        if error is not NoError:
            why = message or error.__name__
            raise ConfigurationError(f"topic {name}: the broker does not create it: {why}")
    deadline = monotonic() + KNOWN_WITHIN
    while (await partitions_of(admin, [name])).get(name) != partitions:
        if monotonic() > deadline:
            raise ConfigurationError(
                f"topic {name}: was created but is not visible yet; run the command again"
            )
        await asyncio.sleep(AGAIN)
    return True


async def alter_topic(admin: AIOKafkaAdminClient, name: str, settings: Mapping[str, str]) -> None:
    """Replaces a topic's settings."""
    resource = ConfigResource(ConfigResourceType.TOPIC, name, dict(settings))
    for reply in await admin.alter_configs([resource]):
        for code, message, *_ in reply.resources:
            if for_code(code) is not NoError:
                raise ConfigurationError(f"topic {name}: its settings cannot be changed: {message}")
