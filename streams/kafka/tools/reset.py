"""Finds and removes an app id's, or a generation's, groups and topics in Kafka.

Input topics are never included. After a kill, removal can be repeated: missing resources are not an
error, and the next call reports the remaining ones.
"""

import asyncio
from collections.abc import Sequence
from typing import Any, NamedTuple

from aiokafka.errors import (
    GroupIdNotFound,
    NoError,
    NonEmptyGroup,
    for_code,
)
from aiokafka.protocol.admin import DeleteGroupsRequest

from streams import topology
from streams.errors import ConfigurationError
from streams.extractors.registry import MODEL
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import WITHIN, cluster_of, connected
from streams.kafka.client.aiokafka_internals import AGAIN, PASSING, KafkaAdmin
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import delete_topics
from streams.kafka.client.topic_names import changelog_name, mapped_topic, own_inputs, own_topics
from streams.kafka.tools.lag import bounds, every_partition, members_of, offsets_of

GONE_WITHIN = 30.0  # seconds for all brokers to delete a topic


class LeftoverGroup(NamedTuple):
    """A consumer group, with its number of members and of committed offsets."""

    name: str
    members: int
    offsets: int


class LeftoverTopic(NamedTuple):
    """A topic, with its partitions and the number of offsets in its log."""

    name: str
    partitions: int
    records: int


class Leftovers(NamedTuple):
    groups: list[LeftoverGroup]
    topics: list[LeftoverTopic]

    def as_json(self) -> dict[str, Any]:
        return {
            "groups": [group._asdict() for group in self.groups],
            "topics": [topic._asdict() for topic in self.topics],
        }

    def __bool__(self) -> bool:
        return bool(self.groups or self.topics)


def topics_of(app_id: str, generation: str | None = None) -> list[str]:
    """Topics that only workers of an app id use: their changelogs, and a generation's outputs."""
    group = f"{app_id}.{generation}" if generation else app_id
    changelogs = [changelog_name(group, agent) for agent in topology.AGENTS]
    return [*changelogs, *(name for _, name in own_topics(generation))]


def topics_of_mapping(generation: str | None) -> list[str]:
    """Additional topics of a generation that has had a mapping."""
    return [name for _, name in own_inputs(generation)]


async def find(
    settings: KafkaSettings,
    groups: Sequence[str],
    topics: Sequence[str],
    within: float = WITHIN,
    generation: str | None = None,
) -> tuple[str, Leftovers]:
    """The cluster (`cluster_of`) and the existing ones of these groups and topics, with changelogs
    of the groups' mappings, and groups of a generation's models. Raises as `connected`."""
    async with connected(settings, within) as admin:
        present = sorted(await admin.list_topics())
        mapped = [name for name in present if any(mapped_topic(group, name) for group in groups)]
        topics = [*topics, *mapped]
        cluster = await cluster_of(admin, settings)
        existing = {name for name, *_ in await admin.list_consumer_groups()}
        models = sorted(name for name in existing if generation and _is_model_of(name, generation))
        own_groups = [name for name in groups if name in existing]
        group_rows = [await _group(admin, name, topics) for name in (*own_groups, *models)]
        parts = await every_partition(admin, topics)
    begins, ends = await bounds(settings, parts)
    topic_rows = [
        LeftoverTopic(
            name,
            sum(tp.topic == name for tp in parts),
            sum(ends[tp] - begins[tp] for tp in parts if tp.topic == name and tp in ends),
        )
        for name in topics
        if any(tp.topic == name for tp in parts)
    ]
    return cluster, Leftovers(group_rows, topic_rows)


def _is_model_of(group: str, generation: str) -> bool:
    """Whether it is the group of a model of a generation (`llm.stream`)."""
    return group.startswith(f"{MODEL}/") and group.endswith(f".{generation}")


async def _group(admin: KafkaAdmin, name: str, topics: Sequence[str]) -> LeftoverGroup:
    """Raises ConfigurationError if the group belongs to another application."""
    offsets = await offsets_of(admin, name)
    allowed = {*topics, *(topic.name for topic in topology.TOPICS)}
    allowed |= {topic for changelog in topics if (topic := mapped_topic(name, changelog))}
    if foreign := sorted({tp.topic for tp in offsets} - allowed):
        raise ConfigurationError(
            f"group {name}: has offsets in {foreign[0]}, which is not a Turnfold topic of this "
            "name; nothing was removed"
        )
    return LeftoverGroup(name, await members_of(admin, name), len(offsets))


def check_no_members(leftovers: Leftovers) -> None:
    """Raises ConfigurationError if a group has members."""
    for group in leftovers.groups:
        if group.members:
            running = "1 member is" if group.members == 1 else f"{group.members} members are"
            raise ConfigurationError(
                f"group {group.name}: {running} running; end these workers or "
                "sinks first (one with an --instance counts for 30 s after SIGTERM, Ctrl-C ends "
                "it at once)"
            )


async def remove(settings: KafkaSettings, leftovers: Leftovers) -> None:
    """Removes these groups, then these topics. Raises ConfigurationError if a group has gained a
    member or the broker denies it, and what `connected` raises."""
    async with connected(settings, WITHIN + GONE_WITHIN) as admin:
        for group in leftovers.groups:
            await _remove_group(admin, group.name)
        names = [topic.name for topic in leftovers.topics]
        await delete_topics(admin, names, GONE_WITHIN)


async def _remove_group(admin: KafkaAdmin, name: str) -> None:
    while True:  # until the timeout of `connected`
        node = await admin.find_coordinator(name)
        reply = await admin.send_to(DeleteGroupsRequest([name]), node)
        ((_, code),) = reply.results
        error = for_code(code)
        if error in (NoError, GroupIdNotFound):
            return
        if error is NonEmptyGroup:
            raise ConfigurationError(f"group {name}: a member has joined; stop it, run this again")
        if error not in PASSING:
            raise acl_errors.of(error()) or ConfigurationError(
                f"group {admin.on_broker(name)}: the broker does not remove it: {error()}"
            )
        await asyncio.sleep(AGAIN)
