"""A sink's positions in its partitions: read from the tables, not from the group."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from aiokafka.structs import TopicPartition

from sinks.sink_history import SharedHistory
from streams.errors import ConfigurationError, DataRefused
from streams.kafka.sink.dedupe import WINDOW, Repeats
from streams.kafka.sink.options import SinkOptions
from streams.observability.logs import OF_BROKER, place

log = logging.getLogger(__name__)


@dataclass(slots=True)
class SinkPositions:
    """Assigned partitions of a sink between two rebalances, with their positions.

    `written`: app id -> last offset that all tables have. `starts`: where reading continues,
    `ends`: end of the log at assignment; `committed`: offsets committed to the group.
    """

    apps: dict[TopicPartition, str]
    written: dict[str, int]
    starts: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]
    repeats: dict[TopicPartition, Repeats]
    committed: dict[TopicPartition, int]


async def seek_assigned(
    consumer: Any, history: SharedHistory, options: SinkOptions, assigned: list[TopicPartition]
) -> SinkPositions:
    """Seeks each partition to the tables' position, ignoring the group's offsets.

    Raises ConfigurationError if a topic was replaced, DataRefused if it lost unwritten messages.
    """
    for tp in assigned:  # before the first await, so that no other offsets are fetched
        consumer.pause(tp)
        consumer.seek(tp, 0)
    apps = {tp: f"{options.name}-{tp.topic}-{tp.partition}" for tp in assigned}
    written = await asyncio.to_thread(history.positions, apps.values())
    begins = await consumer.beginning_offsets(assigned) if assigned else {}
    ends = await consumer.end_offsets(assigned) if assigned else {}
    starts = {tp: _next(tp, written.get(apps[tp]), begins[tp], ends[tp]) for tp in assigned}
    for tp in assigned:
        consumer.seek(tp, max(begins[tp], starts[tp] - WINDOW))
    consumer.resume(*assigned)
    options.observe("positioned")
    log.info("%s: %d partitions", options.name, len(assigned), extra=OF_BROKER)
    return SinkPositions(apps, written, starts, ends, {tp: Repeats() for tp in assigned}, {})


def _next(tp: TopicPartition, written: int | None, begin: int, end: int) -> int:
    """Offset to continue from; raises if the topic was replaced."""
    if written is None:
        if begin:
            log.warning(
                "%s/%d: starts at offset %d; earlier rows were deleted", *tp, begin,
                extra=place(tp, begin),
            )  # fmt: skip
        return begin
    if written + 1 > end:
        raise ConfigurationError(
            f"topic {tp.topic}, partition {tp.partition}: the history was written up to offset "
            f"{written}, the topic ends at {end}: if the topic was recreated, use a new history"
        )
    if written + 1 < begin:
        raise DataRefused(
            f"topic {tp.topic}, partition {tp.partition}: offsets {written + 1} to {begin - 1} "
            "were deleted before they were written; fold the log again into a new history"
        )
    return written + 1
