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

from streams.errors import ConfigurationError
from streams.kafka.client.admin import partitions_of

KNOWN_WITHIN = 60.0


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


async def delete_topic(admin: AIOKafkaAdminClient, name: str) -> None:
    """Deletes a topic if it exists, and waits until it is gone."""
    deadline = monotonic() + KNOWN_WITHIN
    while monotonic() < deadline:
        reply = await admin.delete_topics([name])
        ((_, code, *_),) = reply.topic_error_codes
        if for_code(code) is UnknownTopicOrPartitionError:
            return
        if for_code(code) is not NoError:
            raise for_code(code)(f"topic {name}: the broker does not delete it")
        await asyncio.sleep(0.1)
    raise ConfigurationError(
        f"Timed out after {KNOWN_WITHIN:.0f} s waiting for topic {name} to be deleted"
    )


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
        await asyncio.sleep(0.1)
    return True


async def alter_topic(admin: AIOKafkaAdminClient, name: str, settings: Mapping[str, str]) -> None:
    """Replaces a topic's settings."""
    resource = ConfigResource(ConfigResourceType.TOPIC, name, dict(settings))
    for reply in await admin.alter_configs([resource]):
        for code, message, *_ in reply.resources:
            if for_code(code) is not NoError:
                raise ConfigurationError(f"topic {name}: its settings cannot be changed: {message}")
