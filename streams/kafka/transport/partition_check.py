"""Number of partitions that a memory was folded with, compared with its topics.

A key's partition depends on the number of partitions. If it changes, keys move to partitions with
tables that lack their rows: ids count as new, and rows are stored twice. So the changelog's markers
store the number, and every reader and writer of a table compares it first.
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
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name, sources_of
from streams.kafka.client.topics import check_no_repartition
from streams.kafka.transport.marker import MARKER_KEY, Marker, decode

SHOWN = 3  # topics per error
LAST = 200
"""Records at a changelog's end that are read first; the last of them is the newest marker."""
FETCH_MS = 200


class Layout(NamedTuple):
    """`folded`: number of partitions at fold time, None without a memory. `counts`: current number
    by source and changelog, without missing topics. `prefix`: topic prefix of the installation.
    `older`: number of changelog partitions with rows of an older version."""

    group: str
    folded: int | None
    counts: Mapping[str, int]
    prefix: str = ""
    older: int = 0

    def wrong(self) -> dict[str, int]:
        """Topics with another number than the memory was folded with."""
        return {name: n for name, n in self.counts.items() if n != self.folded}

    def difference(self, setting: int | None = None) -> str | None:
        """Describes the mismatch and its fix, or returns None without one. `setting`: the worker's
        configured number of partitions, if any."""
        if self.folded is None:
            return None if setting is None else self._without_memory(setting)
        if wrong := self.wrong():
            to = max(wrong.values())
            return (
                f"the memory of {self.group} was folded with {self.folded} partitions, but "
                f"{self._listed(wrong)} now; keys then map to other partitions, whose tables lack "
                f"their rows. {remedy(to, self.folded, self.prefix)}"
            )
        if setting is not None and setting != self.folded:
            return (
                f"TURNFOLD_KAFKA_PARTITIONS (--partitions) is {setting}, but the memory of "
                f"{self.group} was folded with {self.folded} partitions, which all of its topics "
                f"have: set it to {self.folded}; to change the number, stop the workers and run "
                f"{repartition(setting, self.prefix)}"
            )
        return None

    def _without_memory(self, setting: int) -> str | None:
        wrong = {name: n for name, n in self.counts.items() if n != setting}
        if not wrong:
            return None
        if len(set(self.counts.values())) == 1:
            (count,) = set(self.counts.values())
            way = f"set it to {count}, or run {repartition(setting, self.prefix)}"
        else:
            way = f"run {repartition(setting, self.prefix)}"
        return (
            f"TURNFOLD_KAFKA_PARTITIONS (--partitions) is {setting}, but {self._listed(wrong)}; "
            f"no records were folded yet: {way}"
        )

    def _listed(self, counts: Mapping[str, int]) -> str:
        few = list(counts.items())[:SHOWN]
        parts = [f"topic {self.prefix}{name} has {number}" for name, number in few]
        if len(counts) > SHOWN:
            parts.append(f"{len(counts) - SHOWN} more have other numbers")
        return ", ".join(parts)


def repartition(to: int, prefix: str) -> str:
    return f"`turnfold kafka repartition --to {to}{prefix and f' --topic-prefix {prefix}'}`"


def remedy(to: int, folded: int, prefix: str = "") -> str:
    """Instructions for topics with another number than the memory was folded with."""
    return (
        "None of that was folded. Stop the workers and run "
        f"{repartition(to, prefix)} (or --to {folded}: the number as it was); see "
        'docs/operations.md, "Changing the number of partitions"'
    )


def topics_of(group: str, generation: str | None) -> tuple[str, ...]:
    """Sources and changelogs of a memory, all with one number of partitions; includes topics that a
    generation only has with its own mapping."""
    names = [name for agent in topology.AGENTS for name in sources_of(agent, generation, maps=True)]
    return (*dict.fromkeys(names), *changelogs_of(group))


def changelogs_of(group: str) -> list[str]:
    return [changelog_name(group, agent) for agent in topology.AGENTS]


async def check(
    settings: KafkaSettings, group: str, generation: str | None, setting: int | None = None
) -> None:
    """Checks that a memory's topics, and the setting, have the number of partitions that it was
    folded with. Reads no source records.

    Raises:
        ConfigurationError: they differ, or a repartition is in progress.
        Unreachable: no broker responds.
    """
    async with connected(settings) as admin:
        check_no_repartition(await admin.list_topics())
        counts = await partitions_of(admin, topics_of(group, generation))
    layout = await look(settings, group, counts)
    if (why := layout.difference(setting)) is not None:
        raise ConfigurationError(why)


async def look(settings: KafkaSettings, group: str, counts: Mapping[str, int]) -> Layout:
    """Layout of a memory with these numbers of partitions in its topics. Raises Unreachable."""
    changelogs = [name for name in changelogs_of(group) if name in counts]
    tps = [TopicPartition(name, n) for name in changelogs for n in range(counts[name])]
    try:
        markers = await read_markers(settings, tps) if tps else {}
    except KafkaError as error:
        raise lost(settings, error) from None
    older = sum(not marker.reached.is_current for marker in markers.values())
    folded = min((marker.partitions for marker in markers.values()), default=None)
    return Layout(group, folded, counts, settings.topic_prefix, older)


def owner_of(row: bytes) -> bytes:
    """The key (tenant/owner) that a changelog row is partitioned by, from the row's key (`rows`).

    Raises:
        ValueError: not a row key of a worker.
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
            starts = {tp: max(begins[tp], ends[tp] - count) for tp in partitions}
            markers |= await _read(consumer, starts, ends)
            partitions = [tp for tp in partitions if tp not in markers and starts[tp] > begins[tp]]
            count *= 8
        return markers


async def _read(
    consumer: Any, starts: Mapping[TopicPartition, int], ends: Mapping[TopicPartition, int]
) -> dict[TopicPartition, Marker]:
    markers: dict[TopicPartition, Marker] = {}
    for tp, start in starts.items():
        consumer.seek(tp, start)
    pending = {tp for tp in starts if starts[tp] < ends[tp]}
    while pending:
        for tp, records in (await consumer.getmany(*pending, timeout_ms=FETCH_MS)).items():
            for record in records:
                if record.key == MARKER_KEY:
                    with suppress(ValueError):  # foreign: its restore reports it
                        markers[tp] = decode(record.value)
        pending = {tp for tp in pending if await consumer.position(tp) < ends[tp]}
    return markers
