"""What `turnfold kafka repartition` is to do, and how far it is: kept in a topic of its own."""

import asyncio
from collections.abc import Collection
from dataclasses import replace
from time import monotonic
from typing import Any, Literal

import msgspec
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import TopicPartition

from streams import topology
from streams.errors import ConfigurationError
from streams.kafka.agents.agents import changelogs, own_specs
from streams.kafka.agents.outcomes import NOTED
from streams.kafka.client.admin import partitions_of
from streams.kafka.client.aiokafka_internals import KafkaAdmin
from streams.kafka.client.names import changelog_name, sources_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import own_settings
from streams.kafka.client.topic_specs import spec, spec_of
from streams.kafka.client.topics import STATE, check, create
from streams.kafka.client.transaction import Transactions
from streams.kafka.tools.copying import Reader
from streams.kafka.transport import layout
from streams.topology import DEAD_LETTERS, HISTORY, TURNS

STAGING = "-repartition"
"""Behind a topic's name: where its records wait."""
MEMBERS = 5
"""Where the broker's description of a group has its members."""
WRITTEN_WITHIN = 30.0
"""Seconds in which a sink that runs may write what it has read."""
LEAVE_WITHIN = 15.0
"""Seconds in which members of a group that were stopped are forgotten."""

Kind = Literal["source", "documents", "table"]
STEPS: dict[Kind, tuple[str, ...]] = {
    "source": ("fresh", "past", "close", "rest", "delete", "make", "pad", "back", "open", "tail",
               "drop"),
    "documents": ("fresh", "past", "delete", "make", "back", "drop"),
    "table": ("fresh", "past", "delete", "make", "back", "drop", "mark"),
}  # fmt: skip


class Moved(msgspec.Struct):
    """A topic. `key`: the template of its keys. `settings`: what it has of its own, kept.
    `moved`: False where it stays as it is, and just gets new markers."""

    name: str
    kind: Kind
    key: str
    partitions: int
    copies: int
    settings: dict[str, str]
    offsets: int
    moved: bool = True


class State(msgspec.Struct):
    """How far it is; all of it lies in the newest record of `topics.STATE`.

    `read`: the old lanes' markers by changelog and partition. Of the topic under way: `step`, `at`
    the next offset to copy by partition, `cut` where the staging topic ends with what was folded,
    `stops` where the old topic ended, `length` the longest that it ever was; `known` up to where
    the new topic is ours, `padded` where it begins, `strays` where others may have written.
    `forgotten`: other groups, whose offsets go with the topics.
    `starts`: where lanes read on, by topic and partition. `hops`: see `MemoryAgent.hops`. `staged`
    records were copied into the staging topic, as many have to be `returned` from it.
    """

    group: str
    generation: str | None
    to: int
    folded: int | None
    topics: list[Moved]
    read: dict[str, dict[int, dict[str, Any]]]
    number: int = 0
    step: str = ""
    at: dict[int, int] = {}
    cut: dict[int, int] = {}
    stops: dict[int, int] = {}
    length: int = 0
    known: dict[int, int] = {}
    padded: dict[int, int] = {}
    strays: list[tuple[int, int, int]] = []
    starts: dict[str, dict[int, int]] = {}
    hops: dict[int, dict[str, int]] = {}
    forgotten: list[str] = []
    staged: int = 0
    returned: int = 0
    copied: int = 0


async def state_of(
    settings: KafkaSettings, admin: AIOKafkaAdminClient, isolation: str = "read_committed"
) -> State | None:
    """Where a killed call has come to; None where there is none. Waits for the transaction that it
    has left open; with `isolation` read_uncommitted it does not, and says what it was doing."""
    if STATE not in await admin.list_topics():
        return None
    async with Reader(settings, isolation) as reader:
        newest = None
        async for found, _ in reader.read(STATE, await reader.bounds(STATE, 1)):
            newest = found.record.value
    return None if newest is None else msgspec.json.decode(newest, type=State)


def other_memories(group: str, names: Collection[str]) -> str | None:
    """Why it may not begin while another memory reads the same topics; None where there is none.
    `names` are all topics."""
    ending = changelog_name("", topology.SESSION_AGENT)
    others = sorted(
        one for one in names
        if one.endswith(ending) and one != f"{group}{ending}" and not _has_other_inputs(one, names)
    )  # fmt: skip
    if not others:
        return None
    return (
        f"{', '.join(others)}: another memory reads the same topics and would lose its place "
        "in them. End it first: `turnfold generation drop NAME` for a generation, `turnfold "
        "kafka reset APP_ID --yes` for another app id"
    )


async def planned(
    settings: KafkaSettings, admin: KafkaAdmin, group: str, generation: str | None, to: int
) -> State:
    """What is to be done. Raises ConfigurationError where a topic is not set as it must be."""
    names = await admin.list_topics()
    counts = await partitions_of(admin, layout.topics_of(group, generation))
    found = await layout.look(settings, group, counts)
    if found.folded is None and not found.counts:
        raise ConfigurationError(
            f"group {group}: has no topics here; start its worker with --partitions {to}"
        )
    if found.older:
        raise ConfigurationError(
            f"group {group}: {found.older} changelog partitions have rows of an older version; "
            "start workers of this version until `turnfold admin doctor` finds none, stop them, "
            "and call this again"
        )
    kinds = kinds_of(group, generation)
    described = {
        one["topic"]: one["partitions"]
        for one in await admin.describe_topics([name for name in kinds if name in names])
    }
    await _check_settings(admin, group, generation, described)
    own = await own_settings(admin, described)
    async with Reader(settings) as reader:
        topics = []
        for name, parts in described.items():
            kind, key = kinds[name]
            bounds = await reader.bounds(name, len(parts))
            moved = found.folded != to or len(parts) != to
            if kind != "documents" or moved:
                offsets = sum(end - begin for begin, end in bounds.values())
                one = Moved(name, kind, key, len(parts), len(parts[0]["replicas"]), own[name],
                            offsets, moved)  # fmt: skip
                topics.append(one)
    topics = [one for one in topics if one.moved or one.kind == "table"]
    topics.sort(key=lambda one: one.kind)
    topics.sort(key=lambda one: one.kind == "table")
    changelogs = [name for name in layout.changelogs_of(group) if name in described]
    every = [TopicPartition(name, n) for name in changelogs for n in range(len(described[name]))]
    markers = await layout.read_markers(settings, every) if every else {}
    read: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in changelogs}
    for at, marker in markers.items():
        if marker.ahead is not None:
            raise ConfigurationError(
                f"{at.topic}, partition {at.partition}: records of tenants beyond their quota "
                "are not folded yet: start the workers again, and let `turnfold kafka lag` reach 0"
            )
        note = {k: v for k, v in marker.note.items() if k != NOTED}
        kept = {"offsets": marker.offsets, "note": note, "log": marker.log}
        read[at.topic][at.partition] = kept
    return State(group, generation, to, found.folded, topics, read)


async def _check_settings(
    admin: KafkaAdmin, group: str, generation: str | None, names: Collection[str]
) -> None:
    """Raises ConfigurationError naming topic, setting, expected and found: topics are made again
    with the settings that they have, so a broker would refuse the copies half-way."""
    specs = [
        *(spec_of(topic, 1) for topic in topology.TOPICS),
        *changelogs(group, 1),
        *own_specs(generation, 1, maps=True),
    ]
    await check(admin, [replace(one, more=True) for one in specs if one.name in names])


def _has_other_inputs(changelog: str, names: Collection[str]) -> bool:
    """Whether it is that of an installation with a (longer) prefix, which has inputs of its own."""
    return any(
        changelog.startswith(name.removesuffix(TURNS.name))
        for name in names
        if name.endswith(TURNS.name) and name != TURNS.name
    )


def kinds_of(group: str, generation: str | None) -> dict[str, tuple[Kind, str]]:
    """The topics in which a key's partition matters: what they are, and how their keys are made.
    With those that a generation has only if it maps by itself."""
    found: dict[str, tuple[Kind, str]] = {
        name: ("source", agent.table.key)
        for agent in topology.AGENTS
        for name in sources_of(agent, generation, maps=True)
    }
    for topic in topology.TOPICS:
        if topic.compacted:
            found[topology.name_in(topic, generation)] = ("documents", topic.key)
    for agent in topology.AGENTS:
        found[changelog_name(group, agent)] = ("table", agent.table.key)
    return found


async def begin(
    settings: KafkaSettings, admin: AIOKafkaAdminClient, state: State, fresh: bool, behind: bool
) -> None:
    """Makes sure that nobody reads the inputs, and keeps workers out. `fresh`: nothing is done yet.
    `behind`: sinks may still have to write what workers said.

    Raises:
        ConfigurationError: somebody reads them, or a sink is behind.
    """
    if fresh:
        state.forgotten = await _refuse_readers(admin, state)
        if not behind:
            await _refuse_behind(settings, admin, state)
        await create(admin, [spec(STATE, 1, compacted=True)], settings.replication)
    try:
        await _refuse_readers(admin, state)  # who has come since has seen that topic, or we see him
    except ConfigurationError:
        if fresh:
            await admin.delete_topics([STATE])
        raise
    lanes = max([state.folded or 0, *(one.partitions for one in state.topics)])
    for agent in topology.AGENTS:
        for number in range(lanes):  # one that was frozen writes nothing any more
            fence = Transactions(f"{state.group}-{agent.name}-{number}", settings.client(), 10.0)
            try:
                await fence.start()
            finally:
                await fence.close()


async def _refuse_readers(admin: AIOKafkaAdminClient, state: State) -> list[str]:
    """The other groups that read the inputs. Raises ConfigurationError where one has members."""
    readers = await _stopped(admin, state)
    if any(readers.values()):
        found = ", ".join(f"group {name} has {count}" for name, count in readers.items() if count)
        raise ConfigurationError(
            f"members that read these topics: {found}; stop them first (workers, extract). One "
            "that was stopped under an --instance name counts until its session ends, some 10 s"
        )
    return sorted(readers.keys() - {state.group})


async def _refuse_behind(settings: KafkaSettings, admin: AIOKafkaAdminClient, state: State) -> None:
    """Documents of one key are written by several partitions of `history` from now on: which is the
    newest a sink knows only where it has written those of before.

    Raises:
        ConfigurationError: a sink has not, and does not within some seconds.
    """
    topics = [topology.name_in(one, state.generation) for one in (HISTORY, DEAD_LETTERS)]
    deadline = monotonic() + WRITTEN_WITHIN
    async with Reader(settings) as reader:
        while found := await _behind(admin, reader, topics):
            if monotonic() > deadline:
                raise ConfigurationError(
                    f"sinks that are behind: group {', group '.join(found)}; let them write what "
                    "there is (`turnfold kafka sink --once`), and call this again; --behind goes "
                    "on without a group that is no sink, or that is not needed any more"
                )
            await asyncio.sleep(0.5)


async def _behind(admin: AIOKafkaAdminClient, reader: Reader, topics: list[str]) -> list[str]:
    """The groups that have not read all of these topics."""
    counts = await partitions_of(admin, topics)
    bounds = {topic: await reader.bounds(topic, count) for topic, count in counts.items()}
    found = []
    for group, *_ in await admin.list_consumer_groups():
        offsets = await admin.list_consumer_group_offsets(group)
        for topic in {at.topic for at in offsets} & bounds.keys():
            ranges = {}
            for number, (begin_at, end) in bounds[topic].items():
                told = offsets.get(TopicPartition(topic, number))
                ranges[number] = (max(begin_at, told.offset if told else 0), end)
            if await reader.has_records(topic, ranges):
                found.append(group)
                break
    return sorted(found)


async def _readers(admin: AIOKafkaAdminClient, state: State) -> dict[str, int]:
    """The groups that read the inputs, and how many members each has now."""
    names = {one.name for one in state.topics if one.kind == "source" and one.moved}
    found = {}
    for name, *_ in await admin.list_consumer_groups():
        offsets = await admin.list_consumer_group_offsets(name)
        if name == state.group or not names.isdisjoint(at.topic for at in offsets):
            (reply,) = await admin.describe_consumer_groups([name])
            found[name] = sum(len(group[MEMBERS]) for group in reply.groups)
    return found


async def _stopped(admin: AIOKafkaAdminClient, state: State) -> dict[str, int]:
    """The same, once members that have just been stopped had the time to be forgotten."""
    deadline = monotonic() + LEAVE_WITHIN
    while True:
        found = await _readers(admin, state)
        if not any(found.values()) or monotonic() > deadline:
            return found
        await asyncio.sleep(0.5)
