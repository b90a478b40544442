"""How many partitions the memory was folded with, and whether all is as it was then.

A key's partition follows from their number. Where that changes, keys go to partitions whose tables
do not know them: their ids would be taken for new ones, and their rows kept twice. So the number
stands in the changelog's markers, and every reader and writer of a table compares it first.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams import topology
from streams.errors import ConfigurationError
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.names import changelog_name, sources_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import refuse_under_way
from streams.kafka.transport.marker import MARKER_KEY, Marker, decode

SHOWN = 3  # topics that an error names
LAST = 200
"""Records at a changelog's end that are looked at first; its newest marker is the last of them."""
FETCH_MS = 200


class Layout(NamedTuple):
    """`folded`: how many partitions the memory was folded with, None without a memory; `counts`:
    how many its sources and changelogs have now, without those that are missing. `prefix`: of the
    installation, for people to read and type. `older`: how many changelog partitions have rows of
    an older version, all or some."""

    group: str
    folded: int | None
    counts: Mapping[str, int]
    prefix: str = ""
    older: int = 0

    def wrong(self) -> dict[str, int]:
        """The topics that have another number than the memory was folded with."""
        return {name: n for name, n in self.counts.items() if n != self.folded}

    def difference(self, setting: int | None = None) -> str | None:
        """What is wrong and the way out; None where all is right. `setting`: what a worker was
        told, if it was."""
        if self.folded is None:
            return None if setting is None else self._without_memory(setting)
        if wrong := self.wrong():
            to = max(wrong.values())
            return (
                f"the memory of {self.group} was folded with {self.folded} partitions, but "
                f"{self._listed(wrong)} now; keys have other partitions then, whose tables do not "
                f"know them. {way_out(to, self.folded, self.prefix)}"
            )
        if setting is not None and setting != self.folded:
            return (
                f"TURNFOLD_KAFKA_PARTITIONS (--partitions) is {setting}, but the memory of "
                f"{self.group} was folded with {self.folded} partitions, which all of its topics "
                f"have: set it to {self.folded}; to change the number stop the workers and call "
                f"{repartition(setting, self.prefix)}"
            )
        return None

    def _without_memory(self, setting: int) -> str | None:
        wrong = {name: n for name, n in self.counts.items() if n != setting}
        if not wrong:
            return None
        if len(set(self.counts.values())) == 1:
            (found,) = set(self.counts.values())
            way = f"set it to {found}, or call {repartition(setting, self.prefix)}"
        else:
            way = f"call {repartition(setting, self.prefix)}"
        return (
            f"TURNFOLD_KAFKA_PARTITIONS (--partitions) is {setting}, but {self._listed(wrong)}; "
            f"nothing has been folded yet: {way}"
        )

    def _listed(self, counts: Mapping[str, int]) -> str:
        few = list(counts.items())[:SHOWN]
        some = [f"topic {self.prefix}{name} has {number}" for name, number in few]
        if len(counts) > SHOWN:
            some.append(f"{len(counts) - SHOWN} more have other numbers")
        return ", ".join(some)


def repartition(to: int, prefix: str) -> str:
    """The command, as it is typed."""
    return f"`turnfold kafka repartition --to {to}{prefix and f' --topic-prefix {prefix}'}`"


def way_out(to: int, folded: int, prefix: str = "") -> str:
    """What to do where topics have another number than the memory was folded with."""
    return (
        "Nothing of that was folded. Stop the workers and call "
        f"{repartition(to, prefix)} (or --to {folded}: the number as it was); see "
        'docs/operations.md, "Changing the number of partitions"'
    )


def topics_of(group: str, generation: str | None) -> tuple[str, ...]:
    """The sources and changelogs of a memory, which all have one number of partitions; with those
    that a generation has only if it maps by itself."""
    names = [name for agent in topology.AGENTS for name in sources_of(agent, generation, maps=True)]
    return (*dict.fromkeys(names), *changelogs_of(group))


def changelogs_of(group: str) -> list[str]:
    """The changelogs of a memory."""
    return [changelog_name(group, agent) for agent in topology.AGENTS]


async def check(
    settings: KafkaSettings, group: str, generation: str | None, setting: int | None = None
) -> None:
    """Whether a memory's topics have as many partitions as it was folded with, and the setting
    says the same. Reads no record of a source.

    Raises:
        ConfigurationError: they do not, or the number is being changed.
        Unreachable: no broker answers.
    """
    async with connected(settings) as admin:
        refuse_under_way(await admin.list_topics())
        counts = await partitions_of(admin, topics_of(group, generation))
    found = await look(settings, group, counts)
    if (why := found.difference(setting)) is not None:
        raise ConfigurationError(why)


async def look(settings: KafkaSettings, group: str, counts: Mapping[str, int]) -> Layout:
    """With how many partitions a memory was folded, whose topics have so many now. Raises
    Unreachable."""
    changelogs = [name for name in changelogs_of(group) if name in counts]
    every = [TopicPartition(name, n) for name in changelogs for n in range(counts[name])]
    try:
        markers = await read_markers(settings, every) if every else {}
    except KafkaError as error:
        raise lost(settings, error) from None
    older = sum(not marker.reached.is_current for marker in markers.values())
    folded = min((marker.partitions for marker in markers.values()), default=None)
    return Layout(group, folded, counts, settings.topic_prefix, older)


def owner_of(row: bytes) -> bytes:
    """The key that a changelog row is partitioned by (tenant/owner), from its own (`rows`).

    Raises:
        ValueError: no worker wrote it.
    """
    tenant, owner = row.rpartition(b"\0")[0].split(b"\0")[1:3]
    return tenant + b"/" + owner


async def read_markers(
    settings: KafkaSettings, changelogs: Collection[TopicPartition]
) -> dict[TopicPartition, Marker]:
    """The newest marker of each changelog partition that has one. Raises KafkaError."""
    async with KafkaConsumer(
        raw=True,
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **settings.client(),
    ) as consumer:
        consumer.assign(list(changelogs))
        begins = await consumer.beginning_offsets(changelogs)
        ends = await consumer.end_offsets(changelogs)
        markers: dict[TopicPartition, Marker] = {}
        partitions, count = list(changelogs), LAST
        while partitions:
            starts = {at: max(begins[at], ends[at] - count) for at in partitions}
            markers |= await _read(consumer, starts, ends)
            partitions = [at for at in partitions if at not in markers and starts[at] > begins[at]]
            count *= 8
        return markers


async def _read(
    consumer: Any, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Marker]:
    markers: dict[TopicPartition, Marker] = {}
    for at, start in starts.items():
        consumer.seek(at, start)
    left = {at for at in starts if starts[at] < ends[at]}
    while left:
        for at, records in (await consumer.getmany(*left, timeout_ms=FETCH_MS)).items():
            for record in records:
                if record.key == MARKER_KEY:
                    with suppress(ValueError):  # somebody else's: who restores it says so
                        markers[at] = decode(record.value)
        left = {at for at in left if await consumer.position(at) < ends[at]}
    return markers
