"""Plan and progress of `turnfold kafka repartition`, stored in a dedicated topic."""

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
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import own_settings
from streams.kafka.client.topic_names import changelog_name, sources_of
from streams.kafka.client.topic_specs import spec, spec_of
from streams.kafka.client.topics import STATE, check, create
from streams.kafka.client.transaction import Transactions
from streams.kafka.tools.copy_records import TopicReader
from streams.kafka.tools.lag import members_of
from streams.kafka.transport import partition_check
from streams.topology import DEAD_LETTERS, HISTORY, TURNS

STAGING = "-repartition"
"""Suffix of a staging topic's name."""
WRITTEN_WITHIN = 30.0
"""Seconds for a running sink to write the rows that it has read."""
LEAVE_WITHIN = 15.0
"""Seconds until stopped members of a group time out."""

Kind = Literal["source", "documents", "table"]
STEPS: dict[Kind, tuple[str, ...]] = {
    "source": ("fresh", "past", "close", "rest", "delete", "make", "pad", "back", "open", "tail",
               "drop"),
    "documents": ("fresh", "past", "delete", "make", "back", "drop"),
    "table": ("fresh", "past", "delete", "make", "back", "drop", "mark"),
}  # fmt: skip


class MovedTopic(msgspec.Struct):
    """A topic. `key`: template of its keys. `settings`: its overrides, kept. `moved`: False if it
    only gets new markers."""

    name: str
    kind: Kind
    key: str
    partitions: int
    copies: int
    settings: dict[str, str]
    offsets: int
    moved: bool = True


class RepartitionState(msgspec.Struct):
    """Progress, stored in the newest record of `topics.STATE`.

    `read`: the old lanes' markers by changelog and partition. For the current topic: `step`; `at`:
    next offset to copy by partition; `cut`: end of folded records in the staging topic; `stops`:
    end of the old topic; `length`: its maximum length so far; `known`: end of our records in the
    new topic; `padded`: its start; `strays`: ranges with possible foreign records. `forgotten`:
    other groups: their offsets are deleted with the topics. `starts`: where lanes continue, by
    topic and partition. `hops`: see `MemoryAgent.hops`. `staged` records were copied into the
    staging topic; as many must be `returned` from it.
    """

    group: str
    generation: str | None
    to: int
    folded: int | None
    topics: list[MovedTopic]
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
) -> RepartitionState | None:
    """Progress of a killed call, or None. Waits for its open transaction; `isolation`
    read_uncommitted does not, and includes that transaction."""
    if STATE not in await admin.list_topics():
        return None
    async with TopicReader(settings, isolation) as reader:
        newest = None
        async for message, _ in reader.read(STATE, await reader.bounds(STATE, 1)):
            newest = message.record.value
    return None if newest is None else msgspec.json.decode(newest, type=RepartitionState)


def other_memories(group: str, names: Collection[str]) -> str | None:
    """Reason against starting while another memory reads the same topics, or None. `names`: all
    topics."""
    ending = changelog_name("", topology.SESSION_AGENT)
    own_name = f"{group}{ending}"
    changelogs = sorted(
        name
        for name in names
        if name.endswith(ending) and name != own_name and not _has_other_inputs(name, names)
    )
    if not changelogs:
        return None
    return (
        f"{', '.join(changelogs)}: another memory reads the same topics and would lose its offsets "
        "in them. Remove it first: `turnfold generation drop NAME` for a generation, `turnfold "
        "kafka reset APP_ID --yes` for another app id"
    )


async def planned(
    settings: KafkaSettings, admin: KafkaAdmin, group: str, generation: str | None, to: int
) -> RepartitionState:
    """Builds the plan. Raises ConfigurationError if a topic has wrong settings."""
    names = await admin.list_topics()
    counts = await partitions_of(admin, partition_check.topics_of(group, generation))
    current = await partition_check.look(settings, group, counts)
    if current.folded is None and not current.counts:
        raise ConfigurationError(
            f"group {group}: has no topics; start its worker with --partitions {to}"
        )
    if current.older:
        raise ConfigurationError(
            f"group {group}: {current.older} changelog partitions have rows of an older version; "
            "start workers of this version until `turnfold admin doctor` finds none, stop them, "
            "and run the command again"
        )
    kinds = kinds_of(group, generation)
    described = {
        topic["topic"]: topic["partitions"]
        for topic in await admin.describe_topics([name for name in kinds if name in names])
    }
    await _check_settings(admin, group, generation, described)
    topic_settings = await own_settings(admin, described)
    async with TopicReader(settings) as reader:
        topics = []
        for name, parts in described.items():
            kind, key = kinds[name]
            bounds = await reader.bounds(name, len(parts))
            moved = current.folded != to or len(parts) != to
            if kind != "documents" or moved:
                offsets = sum(end - begin for begin, end in bounds.values())
                copies = len(parts[0]["replicas"])
                topic = MovedTopic(
                    name, kind, key, len(parts), copies, topic_settings[name], offsets, moved
                )
                topics.append(topic)
    topics = [topic for topic in topics if topic.moved or topic.kind == "table"]
    topics.sort(key=lambda topic: (topic.kind == "table", topic.kind))
    changelogs = [name for name in partition_check.changelogs_of(group) if name in described]
    tps = [TopicPartition(name, n) for name in changelogs for n in range(len(described[name]))]
    markers = await partition_check.read_markers(settings, tps) if tps else {}
    old_markers: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in changelogs}
    for tp, marker in markers.items():
        if marker.ahead is not None:
            raise ConfigurationError(
                f"{tp.topic}, partition {tp.partition}: records of tenants beyond their quota "
                "are not folded yet: start the workers again, and let `turnfold kafka lag` reach 0"
            )
        note = {k: v for k, v in marker.note.items() if k != NOTED}
        old_marker = {"offsets": marker.offsets, "note": note, "log": marker.log}
        old_markers[tp.topic][tp.partition] = old_marker
    return RepartitionState(group, generation, to, current.folded, topics, old_markers)


async def _check_settings(
    admin: KafkaAdmin, group: str, generation: str | None, names: Collection[str]
) -> None:
    """Raises ConfigurationError with topic, setting, expected and found: topics are recreated with
    their settings, so a broker would reject the copies half-way."""
    specs = [
        *(spec_of(topic, 1) for topic in topology.TOPICS),
        *changelogs(group, 1),
        *own_specs(generation, 1, maps=True),
    ]
    await check(admin, [replace(spec, more=True) for spec in specs if spec.name in names])


def _has_other_inputs(changelog: str, names: Collection[str]) -> bool:
    """Whether the changelog belongs to an installation with a longer prefix."""
    return any(
        changelog.startswith(name.removesuffix(TURNS.name))
        for name in names
        if name.endswith(TURNS.name) and name != TURNS.name
    )


def kinds_of(group: str, generation: str | None) -> dict[str, tuple[Kind, str]]:
    """Topics in which a key's partition matters, with kind and key template; includes topics that a
    generation only has with a separate mapping."""
    kinds: dict[str, tuple[Kind, str]] = {
        name: ("source", agent.table.key)
        for agent in topology.AGENTS
        for name in sources_of(agent, generation, maps=True)
    }
    for topic in topology.TOPICS:
        if topic.compacted:
            kinds[topology.name_in(topic, generation)] = ("documents", topic.key)
    for agent in topology.AGENTS:
        kinds[changelog_name(group, agent)] = ("table", agent.table.key)
    return kinds


async def begin(
    settings: KafkaSettings,
    admin: AIOKafkaAdminClient,
    state: RepartitionState,
    is_new: bool,
    behind: bool,
) -> None:
    """Checks that no group reads the inputs, and prevents workers from starting. `is_new`: first
    call. `behind`: sinks may have unwritten messages.

    Raises:
        ConfigurationError: a group reads them, or a sink is behind.
    """
    if is_new:
        state.forgotten = await _refuse_readers(admin, state)
        if not behind:
            await _refuse_behind(settings, admin, state)
        await create(admin, [spec(STATE, 1, compacted=True)], settings.replication)
    try:
        await _refuse_readers(admin, state)  # new members either see that topic or are seen here
    except ConfigurationError:
        if is_new:
            await admin.delete_topics([STATE])
        raise
    lanes = max([state.folded or 0, *(topic.partitions for topic in state.topics)])
    for agent in topology.AGENTS:
        for number in range(lanes):  # stops frozen workers from writing
            fence = Transactions(f"{state.group}-{agent.name}-{number}", settings.client(), 10.0)
            try:
                await fence.start()
            finally:
                await fence.close()


async def _refuse_readers(admin: AIOKafkaAdminClient, state: RepartitionState) -> list[str]:
    """Other groups that read the inputs. Raises ConfigurationError if one has members."""
    readers = await _stopped(admin, state)
    if any(readers.values()):
        text = ", ".join(f"group {name} has {count}" for name, count in readers.items() if count)
        raise ConfigurationError(
            f"running members read these topics: {text}; stop them first (workers, extract). One "
            "that was stopped under an --instance name counts until its session ends, some 10 s"
        )
    return sorted(readers.keys() - {state.group})


async def _refuse_behind(
    settings: KafkaSettings, admin: AIOKafkaAdminClient, state: RepartitionState
) -> None:
    """Checks that sinks have written everything: several partitions of `history` may contain
    versions of one document afterwards, and a sink can only order them if it has written the old
    ones.

    Raises:
        ConfigurationError: a sink stays behind.
    """
    topics = [topology.name_in(topic, state.generation) for topic in (HISTORY, DEAD_LETTERS)]
    deadline = monotonic() + WRITTEN_WITHIN
    async with TopicReader(settings) as reader:
        while groups := await _behind(admin, reader, topics):
            if monotonic() > deadline:
                raise ConfigurationError(
                    f"sinks that are behind: group {', group '.join(groups)}; let them write "
                    "their backlog (`turnfold kafka sink --once`), and run the command again; "
                    "--behind ignores groups that are not sinks, or not needed"
                )
            await asyncio.sleep(0.5)


async def _behind(admin: AIOKafkaAdminClient, reader: TopicReader, topics: list[str]) -> list[str]:
    """Groups that have not read all of these topics."""
    counts = await partitions_of(admin, topics)
    bounds = {topic: await reader.bounds(topic, count) for topic, count in counts.items()}
    groups = []
    for group, *_ in await admin.list_consumer_groups():
        offsets = await admin.list_consumer_group_offsets(group)
        for topic in {tp.topic for tp in offsets} & bounds.keys():
            ranges = {}
            for number, (begin_at, end) in bounds[topic].items():
                committed = offsets.get(TopicPartition(topic, number))
                ranges[number] = (max(begin_at, committed.offset if committed else 0), end)
            if await reader.has_records(topic, ranges):
                groups.append(group)
                break
    return sorted(groups)


async def _readers(admin: AIOKafkaAdminClient, state: RepartitionState) -> dict[str, int]:
    """Number of members of each group that reads the inputs."""
    names = {topic.name for topic in state.topics if topic.kind == "source" and topic.moved}
    members = {}
    for name, *_ in await admin.list_consumer_groups():
        offsets = await admin.list_consumer_group_offsets(name)
        if name == state.group or not names.isdisjoint(tp.topic for tp in offsets):
            members[name] = await members_of(admin, name)
    return members


async def _stopped(admin: AIOKafkaAdminClient, state: RepartitionState) -> dict[str, int]:
    """As `_readers`, after members that were just stopped have had time to leave."""
    deadline = monotonic() + LEAVE_WITHIN
    while True:
        members = await _readers(admin, state)
        if not any(members.values()) or monotonic() > deadline:
            return members
        await asyncio.sleep(0.5)
