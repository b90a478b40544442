"""Restores a lane's table from its changelog and finds the offsets to continue from.

See docs/kafka-tier.md, "Restore and standby".

The marker in the changelog is authoritative, since rows and outputs are in the same transaction.
The group's offsets are committed a moment later, for tools only.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from itertools import islice
from time import monotonic
from typing import TYPE_CHECKING
from uuid import uuid4

from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.name_prefix import prefix_of
from streams.kafka.transport.changelog import ChangelogChunk, Progress, Replaced, Short
from streams.kafka.transport.changelog_reader import Follower
from streams.kafka.transport.partition_check import remedy
from streams.kafka.transport.rows import close_stores, open_store
from streams.observability.logs import OF_BROKER, place

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

log = logging.getLogger(__name__)

AGAIN = 0.2
"""Seconds between attempts to read an incomplete changelog."""
HEADS = 2_000
RECORDS = 10_000
"""Maximum changelog records per fetch: about 50 ms of the event loop."""
REPORT_EVERY = 5.0
"""Seconds between progress lines of a restore."""


def new_log() -> str:
    """A new id for a changelog partition without a marker."""
    return uuid4().hex


async def reopen(lane: "Lane") -> None:
    """Opens the lane's rows if they are closed, and continues at their position.

    Raises:
        StoreError, OSError: as `RowStore.open`.
    """
    standing = await open_store(lane.rows.open)
    if standing is None:
        return
    lane.processor.reset()
    lane.progress = Progress(lane.changelog, standing)
    heads = lane.rows.named(b"h")
    try:
        while rows := list(islice(heads, HEADS)):
            lane.processor.index_rows(rows)
            await asyncio.sleep(0)  # there may be many: lets heartbeats run
    except BaseException:
        await close_stores(lane.rows)  # the next attempt starts over
        raise


async def follow(lane: "Lane", source: ConsumerSource) -> None:
    """Follows the changelog that another worker writes, until the lane stops.

    Raises:
        KafkaError, Replaced: as `restore`.
    """
    async with aclosing(_read(lane, source, for_ever=True)) as reading:
        async for _ in reading:
            if lane.stopping:
                return


async def restore(lane: "Lane", source: ConsumerSource) -> None:
    """Reads the changelog from the table's position to its end.

    Raises:
        KafkaError: the broker is unreachable or denies access.
        Replaced: the rows belonged to another changelog; they were deleted.
        ConfigurationError: a changelog of another version, or a transaction that never ends. The
            lane has fenced the previous writer, which waits until its last transaction has ended.
    """
    started = reported_at = monotonic()
    rows = 0
    lane.restored = (0, 0)
    async with aclosing(_read(lane, source, for_ever=False)) as reading:
        async for chunk in reading:
            rows += len(chunk.rows)
            position, first, end = lane.progress.position, lane.progress.first, lane.progress.end
            lane.restored = (min(position, end) - first, end - first)
            lane.counts.restored_rows += len(chunk.rows)
            if chunk.rows or chunk.markers:
                lane.since = monotonic()
            if monotonic() - reported_at >= REPORT_EVERY:
                reported_at = monotonic()
                _report(lane, rows, reported_at - started)
    lane.rows.settle()
    lane.counts.restores += 1
    newest = lane.standing.marker
    lane.processor.restored(newest.note if newest else {})
    log.info(
        "%s: restored %d rows in %.2f s", lane.name, rows, monotonic() - started,
        extra=lane.log_context | place(lane.changelog) | OF_BROKER,
    )  # fmt: skip


async def _read(
    lane: "Lane", source: ConsumerSource, for_ever: bool
) -> AsyncGenerator[ChangelogChunk, None]:
    """Yields chunks of the changelog after applying them to the lane's table."""
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
            await _start_over(lane, error)
            raise


def _take(lane: "Lane", chunk: ChangelogChunk) -> None:
    if chunk.rows or chunk.markers:
        lane.processor.restore(chunk.rows)
        lane.rows.commit(lane.standing)
        lane.observe("restored some")


async def _start_over(lane: "Lane", error: Replaced) -> None:
    subject = "its rows on disk are" if lane.standing.written else "its rows are"
    log.error("%s: %s thrown away: %s", lane.name, subject, error.why, extra=lane.log_context)
    await open_store(lane.rows.clear)
    lane.processor.reset()
    lane.progress = Progress(lane.changelog)


def _report(lane: "Lane", rows: int, seconds: float) -> None:
    offsets, total = lane.restored
    remaining = seconds * (total - offsets) / offsets if offsets else float("inf")
    log.info(
        "%s: %d rows restored, %d %%, %.0f s to go", lane.name, rows,
        100 * offsets // max(total, 1), remaining, extra=lane.log_context | place(lane.changelog),
    )  # fmt: skip


async def resume_point(lane: "Lane", source: ConsumerSource) -> dict[str, int]:
    """Next offset of each source topic.

    Raises:
        ConfigurationError: the group has committed offsets but the changelog has no marker, or its
            rows were folded with another number of partitions.
    """
    marker = lane.standing.marker
    partitions = lane.plan.partitions
    if marker and partitions and marker.partitions not in (0, partitions):
        raise ConfigurationError(
            f"{lane.changelog.topic}, partition {lane.partition}: folded with {marker.partitions} "
            f"partitions, this worker has {partitions}. "
            f"{remedy(partitions, marker.partitions, prefix_of(source.connection))}"
        )
    committed = {topic: await source.committed(tp) for topic, tp in lane.sources.items()}
    if marker is None and any(offset is not None for offset in committed.values()):
        raise ConfigurationError(
            f"{lane.changelog.topic}, partition {lane.partition}: empty, but the group has "
            f"committed {committed}; restore the topic, or delete the group's offsets to fold "
            "everything again (turnfold kafka reset APP_ID)"
        )
    offsets = marker.offsets if marker else {}
    return {
        topic: _within(lane.name, tp, offsets.get(topic), await source.beginning(tp))
        for topic, tp in lane.sources.items()
    }


def _within(name: str, tp: TopicPartition, offset: int | None, beginning: int) -> int:
    if offset is not None and offset < beginning:
        log.error(
            "%s: %s was deleted up to %d before it was read from %d on: %d offsets are lost",
            name, tp.topic, beginning, offset, beginning - offset, extra=place(tp, offset),
        )  # fmt: skip
    return beginning if offset is None else max(offset, beginning)
