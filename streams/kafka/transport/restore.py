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
from time import monotonic
from typing import TYPE_CHECKING, Any, Protocol
from uuid import uuid4

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.prefix import prefix_of
from streams.kafka.transport.changelog import Chunk, Progress, Replaced, Short
from streams.kafka.transport.follower import Follower
from streams.kafka.transport.layout import way_out
from streams.kafka.transport.rows import closed, opened
from streams.observing.logs import OF_BROKER, place

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

log = logging.getLogger(__name__)

AGAIN = 0.2
"""Seconds between two looks at a changelog of which not all can be read."""
HEADS = 2_000
RECORDS = 10_000
"""Of a changelog at once: some 50 ms of the event loop's time."""
TELL_EVERY = 5.0
"""Seconds between two lines on how far a restore is."""


class Source(Protocol):
    """The group consumer as lanes see it. `connection`: what every aiokafka client is made with."""

    @property
    def connection(self) -> Mapping[str, Any]: ...

    def pause(self, partitions: Iterable[TopicPartition]) -> None: ...
    def resume(self, partitions: Iterable[TopicPartition]) -> None: ...
    def seek(self, partition: TopicPartition, offset: int) -> None: ...
    def behind(self, partition: TopicPartition) -> int: ...
    def end(self, partition: TopicPartition) -> int: ...
    def unheard(self, partition: TopicPartition) -> float: ...
    async def committed(self, partition: TopicPartition) -> int | None: ...
    async def beginning(self, partition: TopicPartition) -> int: ...
    async def still_ours(self, generation: int) -> bool: ...


def new_log() -> str:
    """The id of a changelog partition that has no marker yet."""
    return uuid4().hex


async def reopen(lane: "Lane") -> None:
    """Opens the lane's rows where they are not open, and goes by where they stand.

    Raises:
        StoreError, OSError: as `RowStore.open`.
    """
    found = await opened(lane.rows.open)
    if found is None:
        return
    lane.processor.reset()
    lane.progress = Progress(lane.changelog, found)
    heads = lane.rows.named(b"h")
    try:
        while some := list(islice(heads, HEADS)):
            lane.processor.found(some)
            await asyncio.sleep(0)  # there may be many: heartbeats go on meanwhile
    except BaseException:
        await closed(lane.rows)  # to be looked at again
        raise


async def follow(lane: "Lane", source: Source) -> None:
    """Keeps up with the changelog that another worker writes, until the lane is stopped.

    Raises:
        KafkaError, Replaced: as `restore`.
    """
    async with aclosing(_read(lane, source, for_ever=True)) as reading:
        async for chunk in reading:
            lane.counts.followed_rows += len(chunk.rows)
            if lane.stopping:
                return


async def restore(lane: "Lane", source: Source) -> None:
    """Reads the changelog from where the table stands to its end.

    Raises:
        KafkaError: the broker cannot be reached or refuses.
        Replaced: the rows were no part of the changelog; they are thrown away.
        ConfigurationError: the changelog is one of another version, or has a transaction that
            nobody ends. The lane has fenced the writer before it, which waits until the last
            transaction has ended.
    """
    started = told = monotonic()
    rows = 0
    lane.restored = (0, 0)
    async with aclosing(_read(lane, source, for_ever=False)) as reading:
        async for chunk in reading:
            rows += len(chunk.rows)
            reached, first, end = lane.progress.position, lane.progress.first, lane.progress.end
            lane.restored = (min(reached, end) - first, end - first)
            lane.counts.restored_rows += len(chunk.rows)
            if chunk.rows or chunk.markers:
                lane.since = monotonic()
            if monotonic() - told >= TELL_EVERY:
                told = monotonic()
                _tell(lane, rows, told - started)
    lane.rows.settle()
    lane.counts.restores += 1
    newest = lane.standing.marker
    lane.processor.restored(newest.note if newest else {})
    log.info(
        "%s: restored %d rows in %.2f s", lane.name, rows, monotonic() - started,
        extra=lane.where | place(lane.changelog) | OF_BROKER,
    )  # fmt: skip


async def _read(lane: "Lane", source: Source, for_ever: bool) -> AsyncGenerator[Chunk, None]:
    """What comes of the changelog, taken into the lane's table. Nobody reads the table."""
    lane.progress.restored = False
    while True:
        try:
            async with (
                Follower(source.connection, RECORDS) as follower,
                aclosing(follower.read([lane.progress], for_ever)) as reading,
            ):
                async for _, chunk in reading:
                    _take(lane, chunk)
                    await lane.rows.rest()
                    yield chunk
            return
        except Short:
            await asyncio.sleep(AGAIN)
        except Replaced as error:
            await _begin_anew(lane, error)
            raise


def _take(lane: "Lane", chunk: Chunk) -> None:
    if chunk.rows or chunk.markers:
        lane.processor.restore(chunk.rows)
        lane.rows.commit(lane.standing)
        lane.passes("restored some")


async def _begin_anew(lane: "Lane", error: Replaced) -> None:
    whose = "its rows on disk are" if lane.standing.written else "its rows are"
    log.error("%s: %s thrown away: %s", lane.name, whose, error.why, extra=lane.where)
    await opened(lane.rows.clear)
    lane.processor.reset()
    lane.progress = Progress(lane.changelog)


def _tell(lane: "Lane", rows: int, seconds: float) -> None:
    done, whole = lane.restored
    left = seconds * (whole - done) / done if done else float("inf")
    log.info(
        "%s: %d rows restored, %d %%, %.0f s to go", lane.name, rows, 100 * done // max(whole, 1),
        left, extra=lane.where | place(lane.changelog),
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
            f"partitions, this worker has {wanted}. "
            f"{way_out(wanted, marker.partitions, prefix_of(source.connection))}"
        )
    committed = {topic: await source.committed(at) for topic, at in lane.sources.items()}
    if marker is None and any(offset is not None for offset in committed.values()):
        raise ConfigurationError(
            f"{lane.changelog.topic}, partition {lane.partition}: empty, but the group has read "
            f"{committed}; restore the topic, or delete the group's offsets to fold all again "
            "(turnfold kafka reset APP_ID)"
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
