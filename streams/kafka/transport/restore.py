"""How a lane finds where it stands: what is missing of its table, and where to read on.

See docs/kafka-tier.md, "Restore and standby".

The marker in the changelog is the truth, since it is of the same transaction as the rows beside it
and the outputs. The group's committed offsets are told a moment later, for tools alone.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import aclosing
from itertools import islice
from time import monotonic, time
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.transport import changelog
from streams.kafka.transport.layout import way_out
from streams.kafka.transport.marker import Marker, Standing
from streams.observing.logs import OF_BROKER, place

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

log = logging.getLogger(__name__)

WHOLE_WITHIN = 10.0
"""Seconds for a broker that comes back to show all of a changelog."""

AWAY = 43_200.0
"""Seconds after which rows on disk miss tombstones: brokers keep them for a day."""
HEADS = 2_000
TELL_EVERY = 5.0
"""Seconds between two lines on how far a restore is."""


class Source(Protocol):
    """The group consumer as lanes see it. `connection`: what every aiokafka client is made with."""

    @property
    def connection(self) -> Mapping[str, Any]: ...

    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...
    def resume(self, partitions: Iterable[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    async def committed(self, partition: TopicPartition) -> int | None: ...
    async def beginning(self, partition: TopicPartition) -> int: ...
    async def still_ours(self, generation: int) -> bool: ...


def new_log() -> str:
    """The id of a changelog partition that has no marker yet."""
    return uuid4().hex


async def reopen(lane: "Lane", source: Source) -> None:
    """Opens the lane's rows where they are not open, and goes by where they stand, if that is a
    place in this changelog; else all rows are to be restored.

    Raises:
        StoreError, OSError: as `RowStore.open`.
    """
    found = lane.rows.open()
    if found is None:
        return
    lane.processor.reset()
    lane.standing = found
    if not found.position:
        return
    try:
        await _look_at(lane, source)
    except BaseException:
        lane.rows.close()  # to be looked at again
        raise


async def _look_at(lane: "Lane", source: Source) -> None:
    """Takes what was found on disk, or throws it away."""
    why = await _useless(lane, source)
    if why is not None:
        log.error("%s: its rows on disk are thrown away: %s", lane.name, why, extra=lane.where)
        lane.rows.clear()
        lane.standing = Standing()
        return
    heads = lane.rows.named(b"h")
    while some := list(islice(heads, HEADS)):
        lane.processor.found(some)
        await asyncio.sleep(0)  # there may be many: heartbeats go on meanwhile


async def _useless(lane: "Lane", source: Source) -> str | None:
    """Why the rows on disk are no part of the changelog; None where they are.

    A compacted changelog loses a marker only to a newer one, and all have one id.
    """
    standing = lane.standing
    if standing.marker is None:
        return "they were left in the middle of a restore"
    reading = changelog.read(lane.changelog, standing.marker_at, source.connection)
    async with aclosing(reading):
        async for chunk in reading:
            if chunk.end < standing.position:
                return f"they stand at {standing.position}, the changelog ends at {chunk.end}"
            if chunk.end > standing.position + 1 and time() - standing.written > AWAY:
                return "they are so old that the changelog has forgotten what was deleted since"
            if chunk.markers:
                return _unlike(standing, *chunk.markers[0])
    return f"the changelog has no marker from offset {standing.marker_at} on"


def _unlike(standing: Standing, at: int, first: Marker) -> str | None:
    """Why the first marker from the standing's own on is none that could follow it."""
    newest = standing.marker
    assert newest is not None
    went_back = any(first.offsets.get(topic, 0) < mark for topic, mark in newest.offsets.items())
    if first.log != newest.log or went_back or (at == standing.marker_at and first != newest):
        return f"at {at} is a marker of another changelog, or of one that was cut since"
    return None


async def follow(lane: "Lane", source: Source) -> None:
    """Keeps up with the changelog that another worker writes, until the lane is stopped."""
    start = lane.standing.position
    reading = changelog.read(lane.changelog, start, source.connection, forever=True)
    async with aclosing(reading):
        async for chunk in reading:
            _take(lane, chunk)
            lane.counts.followed_rows += len(chunk.rows)
            if lane.stopping:
                return


async def _whole(lane: "Lane", source: Source, first: int) -> AsyncGenerator[changelog.Chunk, None]:
    """The changelog from `first` on; asked for again while not all of it can be read: a broker that
    was killed shows less of a log, for a moment, than it has."""
    deadline, stood = 0.0, -1
    while True:
        async with aclosing(changelog.read(lane.changelog, first, source.connection)) as reading:
            async for chunk in reading:
                if chunk.end < max(first, chunk.written):
                    break
                yield chunk
            else:
                return
        if chunk.end != stood:  # somebody writes, or the broker finds more of it
            deadline, stood = monotonic() + WHOLE_WITHIN, chunk.end
        elif monotonic() > deadline:
            where = f"{lane.changelog.topic}, partition {lane.partition}"
            raise ConfigurationError(f"{where}: {_missing(chunk, first)}")
        await asyncio.sleep(0.2)


def _missing(chunk: changelog.Chunk, first: int) -> str:
    """Why not all of the changelog can be read. The lane has fenced whoever wrote before it, which
    waits until the last transaction has ended: one that is open now nobody will end."""
    if chunk.end < chunk.written:
        return (
            f"the transaction that began at {chunk.end} was never ended, so nobody can read on to "
            f"{chunk.written}: the broker has lost its end; docs/operations.md, "
            '"A transaction that never ends"'
        )
    return (
        f"ends at {chunk.end}, but was read up to {first}: it was made anew; start the worker again"
    )


async def restore(lane: "Lane", source: Source) -> None:
    """Reads the changelog from where the table stands to its end.

    Raises:
        ConfigurationError: the changelog is shorter than what was read of it before, or has a
            transaction that nobody ends.
    """
    started = told = monotonic()
    rows, first = 0, lane.standing.position
    lane.restored = (0, 0)
    async with aclosing(_whole(lane, source, first)) as reading:
        async for chunk in reading:
            _take(lane, chunk)
            rows += len(chunk.rows)
            lane.restored = (chunk.position - first, chunk.end - first)
            lane.counts.restored_rows += len(chunk.rows)
            if chunk.rows or chunk.markers:
                lane.since = monotonic()
            if monotonic() - told >= TELL_EVERY:
                told = monotonic()
                _tell(lane, chunk, first, rows, told - started)
    lane.rows.settle()
    lane.counts.restores += 1
    newest = lane.standing.marker
    lane.processor.restored(newest.note if newest else {})
    log.info(
        "%s: restored %d rows in %.2f s", lane.name, rows, monotonic() - started,
        extra=lane.where | place(lane.changelog) | OF_BROKER,
    )  # fmt: skip


def _take(lane: "Lane", chunk: changelog.Chunk) -> None:
    for at, marker in chunk.markers:
        lane.standing.saw(at, marker)
    lane.standing.position = max(lane.standing.position, chunk.position)
    if chunk.rows or chunk.markers:
        lane.processor.restore(chunk.rows)
        lane.rows.commit(lane.standing)
        lane.passes("restored some")


def _tell(lane: "Lane", chunk: changelog.Chunk, first: int, rows: int, seconds: float) -> None:
    done, whole = chunk.position - first, max(chunk.end - first, 1)
    left = seconds * (whole - done) / done if done else float("inf")
    log.info(
        "%s: %d rows restored, %d %%, %.0f s to go", lane.name, rows, 100 * done // whole, left,
        extra=lane.where | place(lane.changelog),
    )  # fmt: skip


async def resume_point(lane: "Lane", source: Source) -> dict[str, int]:
    """The next offset of each source topic.

    Raises:
        ConfigurationError: the group has committed offsets but the changelog has no marker, or
            its rows were folded with another number of partitions.
    """
    marker = lane.standing.marker
    wanted = lane.plan.partitions
    if marker and wanted and marker.partitions not in (0, wanted):
        raise ConfigurationError(
            f"{lane.changelog.topic}, partition {lane.partition}: folded with {marker.partitions} "
            f"partitions, this worker has {wanted}. {way_out(wanted, marker.partitions)}"
        )
    committed = {topic: await source.committed(at) for topic, at in lane.sources.items()}
    if marker is None and any(offset is not None for offset in committed.values()):
        raise ConfigurationError(
            f"{lane.changelog.topic}, partition {lane.partition}: empty, but the group has read "
            f"{committed}; restore the topic, or delete the group's offsets to fold all again "
            "(turnfold reset APP_ID)"
        )
    known = marker.offsets if marker else {}
    return {
        topic: _within(lane.name, at, known.get(topic), await source.beginning(at))
        for topic, at in lane.sources.items()
    }


def _within(name: str, at: TopicPartition, offset: int | None, beginning: int) -> int:
    if offset is not None and offset < beginning:
        log.error(
            "%s: %s was deleted up to %d before it was read from %d on: %d offsets are lost",
            name, at.topic, beginning, offset, beginning - offset, extra=place(at, offset),
        )  # fmt: skip
    return beginning if offset is None else max(offset, beginning)
