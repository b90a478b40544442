"""`turnfold kafka repartition`: changes the number of partitions of a memory and its topics.

A key's partition follows from the number, so each record and row that is looked up by key moves to
its new partition. Kafka cannot move records or remove partitions: each topic is copied into a
staging topic by its new partitions, deleted, recreated under its name and filled from there, in
time order and with the original timestamps.

    past    folded records, into the staging topic: they no longer change
    close   the topic rejects records for a moment (`max.message.bytes`)
    rest    records that are not folded yet
    delete, make, pad    recreate the topic, with offsets that no record had before
    back    folded records; producers already write
    open    the memory will read from here on
    tail    unfolded records, and records that producers wrote among the copies
    drop    the staging topic

Tables and documents, which only workers write, take fewer steps. At the end each changelog gets
markers with the positions of its lanes. Every step is idempotent, and each batch of copies is a
transaction with its progress (`CopyWriter`): after a kill at any time, the same command continues.
Until it ends, a topic (`topics.STATE`) prevents workers, sinks and servers from starting.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from aiokafka.admin import NewPartitions, RecordsToDelete
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams import topology
from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.agents.agents import ROW_BYTES
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaAdmin
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import (
    KNOWN_WITHIN,
    alter_topic,
    create_topic,
    delete_topics,
)
from streams.kafka.client.topic_names import changelog_name, sources_of
from streams.kafka.client.topics import STATE
from streams.kafka.tools.copy_records import Copy
from streams.kafka.tools.repartition_copying import Copying, Say, quiet
from streams.kafka.tools.repartition_plan import (
    STAGING,
    STEPS,
    MovedTopic,
    RepartitionState,
    begin,
    other_memories,
    planned,
    state_of,
)
from streams.kafka.tools.repartition_targets import Places, merged, same_place
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.kafka.transport.restore import new_log

CLOSED, PROBE = 80, 200
"""Bytes. `max.message.bytes` of a closed topic: the control record of a transaction has 78. Size of
the record that tests whether all partitions are closed."""
SETTLED = 0.5
"""Seconds until all brokers know a topic's new setting."""
USER_SIGNALS = topology.USER_SIGNALS.name


async def repartition(
    settings: KafkaSettings,
    group: str,
    generation: str | None,
    to: int,
    say: Say = quiet,
    observe: Say = quiet,
    dry_run: bool = False,
    behind: bool = False,
) -> dict[str, Any]:
    """Runs or continues it; returns a summary. `observe` receives steps and transactions. Raises
    ConfigurationError if it cannot start, Unreachable."""
    began = monotonic()
    try:
        async with connected(settings, KNOWN_WITHIN) as admin:
            unfinished = await state_of(settings, admin, "read_uncommitted")
            if unfinished is not None:
                _check_same(unfinished, group, to)
                if not dry_run:
                    await Repartition(settings, unfinished).fence()
            state = await state_of(settings, admin)
            is_new = state is None
            if state is None:
                refusal = other_memories(group, await admin.list_topics())
                if refusal is not None and not dry_run:
                    raise ConfigurationError(refusal)
                state = await planned(settings, admin, group, generation, to)
                if dry_run or not any(topic.moved for topic in state.topics):
                    return _summary(state, began, is_done=not dry_run, refusal=refusal)
            _check_same(state, group, to)
            if dry_run:
                return _summary(state, began, is_done=False)
            await begin(settings, admin, state, is_new, behind)
        await Repartition(settings, state, say, observe).run()
        return _summary(state, began, is_done=True)
    except KafkaError as error:
        raise lost(settings, error) from None


def _summary(
    state: RepartitionState, began: float, is_done: bool, refusal: str | None = None
) -> dict[str, Any]:
    """`refused`: reason why it would be rejected now."""
    return {
        "refused": refusal,
        "group": state.group,
        "from": state.folded,
        "to": state.to,
        "done": is_done,
        "copied": state.copied,
        "seconds": round(monotonic() - began, 3),
        "forgotten": state.forgotten,
        "topics": [
            {
                "topic": topic.name,
                "from": topic.partitions,
                "to": state.to,
                "offsets": topic.offsets,
            }
            for topic in state.topics
            if topic.moved
        ],
    }


def _check_same(state: RepartitionState, group: str, to: int) -> None:
    if (state.group, state.to) != (group, to):
        raise ConfigurationError(
            f"a change of the memory of {state.group} to {state.to} partitions is not complete: "
            f"first run `turnfold kafka repartition --to {state.to}` for that group again"
        )


class Repartition(Copying):
    """Takes one topic after another through its steps."""

    def __init__(
        self,
        settings: KafkaSettings,
        state: RepartitionState,
        say: Say = quiet,
        observe: Say = quiet,
    ) -> None:
        super().__init__(settings, state, say, observe)
        self.places = Places(state)

    async def fence(self) -> None:
        """Ends the transaction of a killed call, instead of waiting for its timeout."""
        await self._writer.start()
        await self._writer.close()

    async def run(self) -> None:
        """Runs to the end. Raises ConfigurationError, KafkaError, Unreachable."""
        state = self.state
        await self._writer.start()
        try:
            async with self._reader:
                await self._save()
                await self._grow()
                while state.number < len(state.topics):
                    topic = state.topics[state.number]
                    if not state.step:
                        self._clear()
                        state.step = STEPS[topic.kind][0] if topic.moved else "mark"
                    self._observe(f"{topic.name} {state.step}")
                    alternative = await getattr(self, f"_{state.step}")(topic)
                    if next_step := alternative or self._next_step(topic):
                        state.step = next_step
                    else:
                        state.number, state.step = state.number + 1, ""
                    await self._save()
        finally:
            await self._writer.close()
        async with self._admin() as admin:
            await delete_topics(admin, [STATE])
        self._observe("done")

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[KafkaAdmin]:
        async with connected(self.settings, KNOWN_WITHIN) as admin:
            yield admin

    def _clear(self) -> None:
        state = self.state
        state.at, state.cut, state.stops, state.length = {}, {}, {}, 0
        state.known, state.padded, state.strays, state.hops = {}, {}, [], {}
        state.staged = state.returned = 0

    def _next_step(self, topic: MovedTopic) -> str:
        """The step after the current one; "" after the last."""
        steps = STEPS[topic.kind]
        return (*steps, "")[steps.index(self.state.step) + 1]

    async def _grow(self) -> None:
        """Adds partitions to topics without lookups by key: they need one per lane."""
        names = [
            topology.name_in(topic, self.state.generation)
            for topic in topology.TOPICS
            if topic.direction == "output" and not topic.compacted
        ]
        async with self._admin() as admin:
            counts = await partitions_of(admin, names)
            for name, count in counts.items():
                if count < self.state.to:
                    await admin.create_partitions({name: NewPartitions(self.state.to)})

    # --- into the staging topic -----------------------------------------------------------------

    async def _fresh(self, topic: MovedTopic) -> None:
        name = topic.name + STAGING
        settings = {
            "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
            "message.timestamp.type": "CreateTime", "max.message.bytes": str(ROW_BYTES),
        }  # fmt: skip
        async with self._admin() as admin:
            await delete_topics(admin, [name])
            await create_topic(admin, name, self.state.to, topic.copies, settings)

    async def _past(self, topic: MovedTopic) -> None:
        state = self.state
        bounds = await self._reader.bounds(topic.name, topic.partitions)
        ranges = {
            number: (state.at.get(number, begin), self._folded_to(topic, number, begin, end))
            for number, (begin, end) in bounds.items()
        }
        await self._copy(
            topic.name, ranges, topic.name + STAGING, partial(self.places.folded, topic)
        )
        state.at = {number: end for number, (_, end) in ranges.items()}
        ends = await self._reader.bounds(topic.name + STAGING, state.to)
        state.cut = {number: end for number, (_, end) in ends.items()}
        if USER_SIGNALS in topic.name:
            state.hops = self._hops()

    def _folded_to(self, topic: MovedTopic, number: int, begin: int, end: int) -> int:
        """Folded end of a source's partition; other topics are folded completely."""
        if topic.kind != "source":
            return end
        agent = self._reader_of(topic.name)
        marker = self.state.read.get(changelog_name(self.state.group, agent), {}).get(number, {})
        offset: int = marker.get("offsets", {}).get(topic.name, begin)
        return min(max(begin, offset), end)

    def _reader_of(self, source: str) -> topology.Agent:
        return next(a for a in topology.AGENTS if source in self._sources_of(a))

    def _sources_of(self, agent: topology.Agent) -> tuple[str, ...]:
        return sources_of(agent, self.state.generation, maps=True)

    def _hops(self) -> dict[int, dict[str, int]]:
        name = changelog_name(self.state.group, topology.MEMORY_AGENT)
        markers = self.state.read.get(name, {})
        return {number: dict(marker["note"].get("hops", {})) for number, marker in markers.items()}

    async def _close(self, topic: MovedTopic) -> None:
        state = self.state
        async with self._admin() as admin:
            (count,) = (await partitions_of(admin, [topic.name])).values()
            changed = {**topic.settings, "max.message.bytes": str(CLOSED)}
            await alter_topic(admin, topic.name, changed)
        for number in range(count):
            await self._await_closed(TopicPartition(topic.name, number))
        bounds = await self._reader.bounds(topic.name, count)
        state.stops = {number: end for number, (_, end) in bounds.items()}
        state.at = {number: state.at.get(number, begin) for number, (begin, _) in bounds.items()}
        state.length = max(state.length, *state.stops.values())

    async def _await_closed(self, tp: TopicPartition) -> None:
        deadline = monotonic() + KNOWN_WITHIN
        while monotonic() < deadline:
            probe = self._new_writer("probe")
            try:
                await probe.start()
                if await probe.is_refused(tp, PROBE):
                    return
            finally:
                await probe.close()
            await asyncio.sleep(0.1)
        raise ConfigurationError(f"topic {tp.topic}: still accepts records; run the command again")

    async def _rest(self, topic: MovedTopic) -> None:
        ranges = {number: (self.state.at[number], end) for number, end in self.state.stops.items()}
        place = self.places.without_repeats if USER_SIGNALS in topic.name else self.places.unread
        await self._copy(topic.name, ranges, topic.name + STAGING, place)

    # --- and back -------------------------------------------------------------------------------

    async def _delete(self, topic: MovedTopic) -> None:
        async with self._admin() as admin:
            await delete_topics(admin, [topic.name])

    async def _make(self, topic: MovedTopic) -> str | None:
        settings = dict(topic.settings)
        if topic.kind == "source":
            settings["message.timestamp.type"] = "CreateTime"
        async with self._admin() as admin:
            if not await create_topic(admin, topic.name, self.state.to, topic.copies, settings):
                # by a killed call, or by a broker that creates topics for producers
                self.state.at = {}
                return "close" if topic.kind == "source" else "delete"
        self.state.at = {}
        return None

    async def _pad(self, topic: MovedTopic) -> None:
        """Pads the new topic past every offset of the old one: sinks identify rows by offsets."""
        state = self.state
        bounds = await self._reader.bounds(topic.name, state.to)
        lengths = {number: state.length - end for number, (_, end) in bounds.items()}
        await self._writer.pad(topic.name, lengths)
        bounds = await self._reader.bounds(topic.name, state.to)
        state.padded = {number: end for number, (_, end) in bounds.items()}
        state.known = dict(state.padded)

    async def _back(self, topic: MovedTopic) -> None:
        await self._from_staging(topic, self.state.cut)

    async def _from_staging(self, topic: MovedTopic, ends: Mapping[int, int]) -> None:
        """Copies records 1:1 to the same partitions."""
        bounds = await self._reader.bounds(topic.name + STAGING, self.state.to)
        at = self.state.at
        ranges = {n: (at.get(n, begin), ends[n]) for n, (begin, _) in bounds.items()}
        await self._copy(topic.name + STAGING, ranges, topic.name, same_place)

    async def _open(self, topic: MovedTopic) -> None:
        """Restores the broker's timestamps. Lanes will continue after the current last record: the
        end offset of a topic is higher, because of control records."""
        state = self.state
        async with self._admin() as admin:
            await alter_topic(admin, topic.name, topic.settings)
        await asyncio.sleep(SETTLED)
        bounds = await self._reader.bounds(topic.name, state.to)
        for number, (_, end) in bounds.items():
            if state.padded[number] > 0:
                state.strays.append((number, 0, state.padded[number]))
            state.strays.append((number, self._own_end(number), end))
        state.starts[topic.name] = await self._reader.after_last(
            topic.name,
            {n: (max(begin, state.padded[n]), end) for n, (begin, end) in bounds.items()},
        )
        state.at = dict(state.cut)

    async def _tail(self, topic: MovedTopic) -> None:
        state = self.state
        bounds = await self._reader.bounds(topic.name + STAGING, state.to)
        await self._from_staging(topic, {number: end for number, (_, end) in bounds.items()})
        while state.strays:
            number, begin, end = state.strays[0]
            ranges = {number: (max(begin, state.at.get(-1, begin)), end)}
            await self._copy(topic.name, ranges, topic.name, same_place, at_is=-1)
            state.strays.pop(0)
            state.at.pop(-1, None)
            await self._save()

    async def _drop(self, topic: MovedTopic) -> None:
        state = self.state
        if state.staged != state.returned:
            raise TurnfoldError(
                f"topic {topic.name}: {state.staged} records went into {topic.name + STAGING}, "
                f"{state.returned} came back; both are kept: report this as a bug"
            )
        async with self._admin() as admin:
            cuts = {
                TopicPartition(topic.name, number): RecordsToDelete(offset)
                for number, offset in self.state.padded.items()
                if offset > 0
            }
            if cuts:
                await admin.delete_records(cuts)
            await delete_topics(admin, [topic.name + STAGING])

    async def _mark(self, topic: MovedTopic) -> None:
        """Writes each lane's position into its changelog."""
        state = self.state
        agent = next(a for a in topology.AGENTS if changelog_name(state.group, a) == topic.name)
        old = state.read.get(topic.name, {})
        notes = merged([old[n]["note"] for n in sorted(old)], state.to)
        copies = []
        for number in range(state.to):
            before: dict[str, Any] = {} if topic.moved else old.get(number, {})
            offsets = dict(before.get("offsets", {}))
            for source in self._sources_of(agent):
                if number in state.starts.get(source, ()):
                    offsets[source] = state.starts[source][number]
            note = notes[number] if topic.moved else before.get("note", {})
            marker = Marker(offsets, note, before.get("log") or new_log(), state.to)
            copies.append(Copy(number, 0, MARKER_KEY, marker.encode()))
        state.number, state.step = state.number + 1, ""
        try:
            await self._writer.write(topic.name, copies, lambda spans: msgspec.json.encode(state))
        finally:
            state.number, state.step = state.number - 1, "mark"
