"""What an app id, or a generation, has left in Kafka: its groups and the topics that are its alone.

Input topics are never among it. Removing continues where it was killed: what is gone already is no
error, and the next call reports what is left.
"""

import asyncio
from collections.abc import Sequence
from time import monotonic
from typing import Any, NamedTuple

from aiokafka.errors import (
    GroupIdNotFound,
    NoError,
    NonEmptyGroup,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.admin import DeleteGroupsRequest

from streams import topology
from streams.errors import ConfigurationError, TurnfoldError
from streams.extractors.naming import MODEL
from streams.kafka.client import denials
from streams.kafka.client.admin import WITHIN, cluster_of, connected
from streams.kafka.client.aiokafka_internals import AGAIN, PASSING, KafkaAdmin
from streams.kafka.client.names import changelog_name, mapped_topic, own_inputs, own_topics
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.lag import bounds, every_partition, members_of, offsets_of

GONE_WITHIN = 30.0  # seconds, for every broker to have let go of a topic


class Group(NamedTuple):
    """A consumer group: how many members are there, and how many offsets it has committed."""

    name: str
    members: int
    offsets: int


class Left(NamedTuple):
    """A topic: its partitions, and how many offsets its log spans."""

    name: str
    partitions: int
    records: int


class Leftovers(NamedTuple):
    """What is there of what was asked for."""

    groups: list[Group]
    topics: list[Left]

    def as_json(self) -> dict[str, Any]:
        """Plain objects."""
        return {
            "groups": [one._asdict() for one in self.groups],
            "topics": [one._asdict() for one in self.topics],
        }

    def __bool__(self) -> bool:
        return bool(self.groups or self.topics)


def topics_of(app_id: str, generation: str | None = None) -> list[str]:
    """The topics that workers of an app id have for themselves: their changelogs, and all that a
    generation's write."""
    group = f"{app_id}.{generation}" if generation else app_id
    changelogs = [changelog_name(group, agent) for agent in topology.AGENTS]
    return [*changelogs, *(name for _, name in own_topics(generation))]


def topics_of_mapping(generation: str | None) -> list[str]:
    """The topics that a generation has besides, if it has had a mapping."""
    return [name for _, name in own_inputs(generation)]


async def find(
    settings: KafkaSettings,
    groups: Sequence[str],
    topics: Sequence[str],
    within: float = WITHIN,
    generation: str | None = None,
) -> tuple[str, Leftovers]:
    """The cluster (`cluster_of`), and what of these is there, with the changelogs of the groups'
    mappings, and the groups of a generation's models. Raises as `connected`."""
    async with connected(settings, within) as admin:
        present = sorted(await admin.list_topics())
        mapped = [name for name in present if any(mapped_topic(group, name) for group in groups)]
        topics = [*topics, *mapped]
        cluster = await cluster_of(admin, settings)
        known = {name for name, *_ in await admin.list_consumer_groups()}
        models = sorted(name for name in known if generation and _is_model_of(name, generation))
        mine = [name for name in groups if name in known]
        found = [await _group(admin, name, topics) for name in (*mine, *models)]
        parts = await every_partition(admin, topics)
    begins, ends = await bounds(settings, parts)
    left = [
        Left(
            name,
            sum(at.topic == name for at in parts),
            sum(ends[at] - begins[at] for at in parts if at.topic == name and at in ends),
        )
        for name in topics
        if any(at.topic == name for at in parts)
    ]
    return cluster, Leftovers(found, left)


def _is_model_of(group: str, generation: str) -> bool:
    """Whether a group is that of a model which a generation's workers ask (`llm.stream`)."""
    return group.startswith(f"{MODEL}/") and group.endswith(f".{generation}")


async def _group(admin: KafkaAdmin, name: str, own: Sequence[str]) -> Group:
    """Raises ConfigurationError where it is somebody else's."""
    offsets = await offsets_of(admin, name)
    known = {*own, *(topic.name for topic in topology.TOPICS)}
    known |= {topic for changelog in own if (topic := mapped_topic(name, changelog))}
    if foreign := sorted({at.topic for at in offsets} - known):
        raise ConfigurationError(
            f"group {name}: has read {foreign[0]}, which is no topic of Turnfold's under this "
            "name; nothing is removed"
        )
    return Group(name, await members_of(admin, name), len(offsets))


def check_no_members(found: Leftovers) -> None:
    """Raises ConfigurationError where a group is at work."""
    for group in found.groups:
        if group.members:
            running = "1 member is" if group.members == 1 else f"{group.members} members are"
            raise ConfigurationError(
                f"group {group.name}: {running} running; end these workers or "
                "sinks first (one with an --instance counts for 30 s after SIGTERM, Ctrl-C ends "
                "it at once)"
            )


async def remove(settings: KafkaSettings, found: Leftovers) -> None:
    """Removes these groups, then these topics. Raises ConfigurationError where a group has got a
    member meanwhile or the broker forbids it, and what `connected` raises."""
    async with connected(settings, WITHIN + GONE_WITHIN) as admin:
        for group in found.groups:
            await _remove_group(admin, group.name)
        names = [topic.name for topic in found.topics]
        if names:
            await _remove_topics(admin, names)


async def _remove_group(admin: KafkaAdmin, name: str) -> None:
    while True:  # `connected` ends it
        node = await admin.find_coordinator(name)
        reply = await admin.ask(DeleteGroupsRequest([name]), node)
        ((_, code),) = reply.results
        error = for_code(code)
        if error in (NoError, GroupIdNotFound):
            return
        if error is NonEmptyGroup:
            raise ConfigurationError(f"group {name}: a member has joined; stop it, run this again")
        if error not in PASSING:
            raise denials.of(error()) or ConfigurationError(
                f"group {admin.on_broker(name)}: the broker does not remove it: {error()}"
            )
        await asyncio.sleep(AGAIN)


async def _remove_topics(admin: KafkaAdmin, names: list[str]) -> None:
    reply = await admin.delete_topics(names)
    for name, code, *_ in reply.topic_error_codes:
        error = for_code(code)
        if error not in (NoError, UnknownTopicOrPartitionError):
            raise denials.of(error()) or ConfigurationError(
                f"topic {admin.on_broker(name)}: the broker does not remove it: {error()}"
            )
    deadline = monotonic() + GONE_WITHIN
    while left := sorted(set(names).intersection(await admin.list_topics())):
        if monotonic() > deadline:
            raise TurnfoldError(
                f"topic {left[0]}: still there {GONE_WITHIN:.0f} s after it was removed; call again"
            )
        await asyncio.sleep(AGAIN)
