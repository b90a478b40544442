"""`turnfold kafka repartition`: the memory and its topics under another number of partitions.

A key's partition follows from the number, so every record and row that is looked up by its key
goes to the partition that is its own now. Kafka can neither move a record nor take a partition
away: each topic is copied into a staging topic by its new partitions, deleted, created again under
its name and filled from there, in the order of time and with the times that it had.

    past    what the memory has folded, into the staging topic: nobody changes it any more
    close   the topic takes no records for a moment (`max.message.bytes`)
    rest    what the memory has not folded yet
    delete, make, pad    the topic again, with offsets that no record had before
    back    what was folded; producers write already
    open    from here on the memory will read
    tail    what was not folded, and what producers wrote among the copies
    drop    the staging topic

Tables and documents, which workers alone write, need less of that. In the end each changelog gets
markers that say where its lanes read on. Every step may be done twice, and each batch of copies is
a transaction with the note of how far it is (`moving.Writer`): killed at any moment, the same
command continues from there. Until it has ended a topic of its own (`topics.STATE`) keeps workers,
sinks and servers from starting.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from functools import partial
from time import monotonic
from typing import Any

import msgspec
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, RecordsToDelete
from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams import topology
from streams.errors import ConfigurationError, TurnfoldError
from streams.kafka.agents.agents import ROW_BYTES
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.names import changelog_name, sources_of
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_changes import KNOWN_WITHIN, altered, created, deleted
from streams.kafka.client.topics import STATE
from streams.kafka.tools.copying import Copy
from streams.kafka.tools.repartition_copying import Copying, Say, quiet
from streams.kafka.tools.repartition_places import Places, merged, same_place
from streams.kafka.tools.repartition_plan import (
    STAGING,
    STEPS,
    Moved,
    State,
    begin,
    other_memories,
    planned,
    state_of,
)
from streams.kafka.transport.marker import MARKER_KEY, Marker
from streams.kafka.transport.restore import new_log

CLOSED, PROBE = 80, 200
"""Bytes. Of a topic's largest message while it takes none: the mark at a transaction's end has 78.
Of the record that finds out whether all of its partitions know that."""
SETTLED = 0.5
"""Seconds for all brokers to know a topic's new setting."""
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
    """Does it, or continues with it; what was done. `observe` hears of the steps and of each
    transaction. Raises ConfigurationError where it may not begin, Unreachable."""
    began = monotonic()
    try:
        async with connected(settings, KNOWN_WITHIN) as admin:
            left = await state_of(settings, admin, "read_uncommitted")
            if left is not None:
                _check_same(left, group, to)
                if not dry_run:
                    await Repartition(settings, left).fence()
            found = await state_of(settings, admin)
            fresh = found is None
            if found is None:
                refusal = other_memories(group, await admin.list_topics())
                if refusal is not None and not dry_run:
                    raise ConfigurationError(refusal)
                found = await planned(settings, admin, group, generation, to)
                if dry_run or not any(one.moved for one in found.topics):
                    return _summary(found, began, done=not dry_run, refusal=refusal)
            _check_same(found, group, to)
            if dry_run:
                return _summary(found, began, done=False)
            await begin(settings, admin, found, fresh, behind)
        await Repartition(settings, found, say, observe).run()
        return _summary(found, began, done=True)
    except KafkaError as error:
        raise lost(settings, error) from None


def _summary(state: State, began: float, done: bool, refusal: str | None = None) -> dict[str, Any]:
    """`refused`: why it would be refused now."""
    return {
        "refused": refusal,
        "group": state.group,
        "from": state.folded,
        "to": state.to,
        "done": done,
        "copied": state.copied,
        "seconds": round(monotonic() - began, 3),
        "forgotten": state.forgotten,
        "topics": [
            {"topic": one.name, "from": one.partitions, "to": state.to, "offsets": one.offsets}
            for one in state.topics
            if one.moved
        ],
    }


def _check_same(state: State, group: str, to: int) -> None:
    if (state.group, state.to) != (group, to):
        raise ConfigurationError(
            f"a change of the memory of {state.group} to {state.to} partitions is not complete: "
            f"first run `turnfold kafka repartition --to {state.to}` for that group again"
        )


class Repartition(Copying):
    """Takes one topic after the other through its steps."""

    def __init__(
        self, settings: KafkaSettings, state: State, say: Say = quiet, observe: Say = quiet
    ) -> None:
        super().__init__(settings, state, say, observe)
        self.places = Places(state)

    async def fence(self) -> None:
        """Ends the transaction of a call that was killed: nobody need wait until it times out."""
        await self._writer.start()
        await self._writer.close()

    async def run(self) -> None:
        """Until all is done. Raises ConfigurationError, KafkaError, Unreachable."""
        state = self.state
        await self._writer.start()
        try:
            async with self._reader:
                await self._save()
                await self._grow()
                while state.number < len(state.topics):
                    one = state.topics[state.number]
                    if not state.step:
                        self._clear()
                        state.step = STEPS[one.kind][0] if one.moved else "mark"
                    self._observe(f"{one.name} {state.step}")
                    following = await getattr(self, f"_{state.step}")(one)
                    if following:
                        state.step = following
                    else:
                        state.number, state.step = state.number + 1, ""
                    await self._save()
        finally:
            await self._writer.close()
        async with self._admin() as admin:
            await deleted(admin, STATE)
        self._observe("done")

    @asynccontextmanager
    async def _admin(self) -> AsyncIterator[AIOKafkaAdminClient]:
        async with connected(self.settings, KNOWN_WITHIN) as admin:
            yield admin

    def _clear(self) -> None:
        """Another topic begins."""
        state = self.state
        state.at, state.cut, state.stops, state.length = {}, {}, {}, 0
        state.known, state.padded, state.strays, state.hops = {}, {}, [], {}
        state.staged = state.returned = 0

    def _following(self, one: Moved) -> str:
        """The step after this one; "" after the last."""
        steps = STEPS[one.kind]
        return (*steps, "")[steps.index(self.state.step) + 1]

    async def _grow(self) -> None:
        """Topics of which nothing depends need as many partitions as there are lanes."""
        wanted = [
            topology.name_in(topic, self.state.generation)
            for topic in topology.TOPICS
            if topic.direction == "output" and not topic.compacted
        ]
        async with self._admin() as admin:
            counts = await partitions_of(admin, wanted)
            for name, count in counts.items():
                if count < self.state.to:
                    await admin.create_partitions({name: NewPartitions(self.state.to)})

    # --- into the staging topic -----------------------------------------------------------------

    async def _fresh(self, one: Moved) -> str:
        name = one.name + STAGING
        settings = {
            "cleanup.policy": "delete", "retention.ms": "-1", "retention.bytes": "-1",
            "message.timestamp.type": "CreateTime", "max.message.bytes": str(ROW_BYTES),
        }  # fmt: skip
        async with self._admin() as admin:
            await deleted(admin, name)
            await created(admin, name, self.state.to, one.copies, settings)
        return self._following(one)

    async def _past(self, one: Moved) -> str:
        state = self.state
        bounds = await self._reader.bounds(one.name, one.partitions)
        ranges = {
            number: (state.at.get(number, begin), self._folded_to(one, number, begin, end))
            for number, (begin, end) in bounds.items()
        }
        await self._copy(one.name, ranges, one.name + STAGING, partial(self.places.folded, one))
        state.at = {number: end for number, (_, end) in ranges.items()}
        ends = await self._reader.bounds(one.name + STAGING, state.to)
        state.cut = {number: end for number, (_, end) in ends.items()}
        if USER_SIGNALS in one.name:
            state.hops = self._hops()
        return self._following(one)

    def _folded_to(self, one: Moved, number: int, begin: int, end: int) -> int:
        """Up to where a partition of a source was folded; of other topics all is."""
        if one.kind != "source":
            return end
        agent = self._reader_of(one.name)
        marker = self.state.read.get(changelog_name(self.state.group, agent), {}).get(number, {})
        offset: int = marker.get("offsets", {}).get(one.name, begin)
        return min(max(begin, offset), end)

    def _reader_of(self, source: str) -> topology.Agent:
        return next(a for a in topology.AGENTS if source in self._sources_of(a))

    def _sources_of(self, agent: topology.Agent) -> tuple[str, ...]:
        return sources_of(agent, self.state.generation, maps=True)

    def _hops(self) -> dict[int, dict[str, int]]:
        name = changelog_name(self.state.group, topology.MEMORY_AGENT)
        kept = self.state.read.get(name, {})
        return {number: dict(one["note"].get("hops", {})) for number, one in kept.items()}

    async def _close(self, one: Moved) -> str:
        state = self.state
        async with self._admin() as admin:
            (count,) = (await partitions_of(admin, [one.name])).values()
            changed = {**one.settings, "max.message.bytes": str(CLOSED)}
            await altered(admin, one.name, changed)
        for number in range(count):
            await self._await_closed(TopicPartition(one.name, number))
        bounds = await self._reader.bounds(one.name, count)
        state.stops = {number: end for number, (_, end) in bounds.items()}
        state.at = {number: state.at.get(number, begin) for number, (begin, _) in bounds.items()}
        state.length = max(state.length, *state.stops.values())
        return self._following(one)

    async def _await_closed(self, at: TopicPartition) -> None:
        deadline = monotonic() + KNOWN_WITHIN
        while monotonic() < deadline:
            probe = self._new_writer("probe")
            try:
                await probe.start()
                if await probe.is_refused(at, PROBE):
                    return
            finally:
                await probe.close()
            await asyncio.sleep(0.1)
        raise ConfigurationError(f"topic {at.topic}: still takes records; call this again")

    async def _rest(self, one: Moved) -> str:
        ranges = {number: (self.state.at[number], end) for number, end in self.state.stops.items()}
        place = self.places.told_once if USER_SIGNALS in one.name else self.places.unread
        await self._copy(one.name, ranges, one.name + STAGING, place)
        return self._following(one)

    # --- and back -------------------------------------------------------------------------------

    async def _delete(self, one: Moved) -> str:
        async with self._admin() as admin:
            await deleted(admin, one.name)
        return self._following(one)

    async def _make(self, one: Moved) -> str:
        settings = dict(one.settings)
        if one.kind == "source":
            settings["message.timestamp.type"] = "CreateTime"
        async with self._admin() as admin:
            if not await created(admin, one.name, self.state.to, one.copies, settings):
                # by us before we were killed, or by a broker that creates what a producer asks for
                self.state.at = {}
                return "close" if one.kind == "source" else "delete"
        self.state.at = {}
        return self._following(one)

    async def _pad(self, one: Moved) -> str:
        """Where a record once stood no other one ever stands: sinks know rows by these places."""
        state = self.state
        bounds = await self._reader.bounds(one.name, state.to)
        lengths = {number: state.length - end for number, (_, end) in bounds.items()}
        await self._writer.pad(one.name, lengths)
        bounds = await self._reader.bounds(one.name, state.to)
        state.padded = {number: end for number, (_, end) in bounds.items()}
        state.known = dict(state.padded)
        return self._following(one)

    async def _back(self, one: Moved) -> str:
        await self._from_staging(one, self.state.cut)
        return self._following(one)

    async def _from_staging(self, one: Moved, ends: Mapping[int, int]) -> None:
        """1:1, as they were placed there."""
        bounds = await self._reader.bounds(one.name + STAGING, self.state.to)
        at = self.state.at
        ranges = {n: (at.get(n, begin), ends[n]) for n, (begin, _) in bounds.items()}
        await self._copy(one.name + STAGING, ranges, one.name, same_place)

    async def _open(self, one: Moved) -> str:
        """The broker's clock counts again; lanes will read on behind the last record there is now,
        as if they had read it: where a topic ends is further, for transactions have ends, too."""
        state = self.state
        async with self._admin() as admin:
            await altered(admin, one.name, one.settings)
        await asyncio.sleep(SETTLED)
        bounds = await self._reader.bounds(one.name, state.to)
        for number, (_, end) in bounds.items():
            if state.padded[number] > 0:
                state.strays.append((number, 0, state.padded[number]))
            state.strays.append((number, self._ours_to(number), end))
        state.starts[one.name] = await self._reader.after_last(
            one.name, {n: (max(begin, state.padded[n]), end) for n, (begin, end) in bounds.items()}
        )
        state.at = dict(state.cut)
        return self._following(one)

    async def _tail(self, one: Moved) -> str:
        state = self.state
        bounds = await self._reader.bounds(one.name + STAGING, state.to)
        await self._from_staging(one, {number: end for number, (_, end) in bounds.items()})
        while state.strays:
            number, begin, end = state.strays[0]
            ranges = {number: (max(begin, state.at.get(-1, begin)), end)}
            await self._copy(one.name, ranges, one.name, same_place, at_is=-1)
            state.strays.pop(0)
            state.at.pop(-1, None)
            await self._save()
        return self._following(one)

    async def _drop(self, one: Moved) -> str:
        state = self.state
        if state.staged != state.returned:
            raise TurnfoldError(
                f"topic {one.name}: {state.staged} records went into {one.name + STAGING}, "
                f"{state.returned} came back; both are left as they are: report this"
            )
        async with self._admin() as admin:
            cuts = {
                TopicPartition(one.name, number): RecordsToDelete(offset)
                for number, offset in self.state.padded.items()
                if offset > 0
            }
            if cuts:
                await admin.delete_records(cuts)
            await deleted(admin, one.name + STAGING)
        return self._following(one)

    async def _mark(self, one: Moved) -> str:
        """Where each lane reads on, in its changelog."""
        state = self.state
        agent = next(a for a in topology.AGENTS if changelog_name(state.group, a) == one.name)
        old = state.read.get(one.name, {})
        notes = merged([old[n]["note"] for n in sorted(old)], state.to)
        copies = []
        for number in range(state.to):
            before: dict[str, Any] = {} if one.moved else old.get(number, {})
            offsets = dict(before.get("offsets", {}))
            for source in self._sources_of(agent):
                if number in state.starts.get(source, ()):
                    offsets[source] = state.starts[source][number]
            note = notes[number] if one.moved else before.get("note", {})
            marker = Marker(offsets, note, before.get("log") or new_log(), state.to)
            copies.append(Copy(number, 0, MARKER_KEY, marker.encode()))
        state.number, state.step = state.number + 1, ""
        try:
            await self._writer.write(one.name, copies, lambda spans: msgspec.json.encode(state))
        finally:
            state.number, state.step = state.number - 1, "mark"
        return ""
