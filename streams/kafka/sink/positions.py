"""Where a sink continues in each partition: what the tables have, not what the group knows."""

import asyncio
import logging
from dataclasses import dataclass
from typing import Any

from aiokafka.structs import TopicPartition

from sinks.shared import SharedHistory
from streams.errors import ConfigurationError, DataRefused
from streams.kafka.sink.options import SinkOptions
from streams.kafka.sink.repeats import WINDOW, Repeats
from streams.observing.logs import OF_BROKER, place

log = logging.getLogger(__name__)


@dataclass(slots=True)
class Held:
    """The partitions a sink holds from one rebalance to the next, and how far each is.

    `whole`: app id -> the last offset all tables have. `starts`: where reading begins again,
    `ends`: where the log ended at first; `told`: what the group knows.
    """

    apps: dict[TopicPartition, str]
    whole: dict[str, int]
    starts: dict[TopicPartition, int]
    ends: dict[TopicPartition, int]
    repeats: dict[TopicPartition, Repeats]
    told: dict[TopicPartition, int]


async def take_up(
    consumer: Any, history: SharedHistory, options: SinkOptions, assigned: list[TopicPartition]
) -> Held:
    """Seeks each partition to where the tables say, whatever the group's offsets are.

    Raises ConfigurationError for a topic that is not the one the tables know, DataRefused for one
    that has lost what was not written.
    """
    for at in assigned:  # before anything is awaited: nothing may be fetched from elsewhere
        consumer.pause(at)
        consumer.seek(at, 0)
    apps = {at: f"{options.name}-{at.topic}-{at.partition}" for at in assigned}
    whole = await asyncio.to_thread(history.positions, apps.values())
    begins = await consumer.beginning_offsets(assigned) if assigned else {}
    ends = await consumer.end_offsets(assigned) if assigned else {}
    starts = {at: _next(at, whole.get(apps[at]), begins[at], ends[at]) for at in assigned}
    for at in assigned:
        consumer.seek(at, max(begins[at], starts[at] - WINDOW))
    consumer.resume(*assigned)
    options.observe("positioned")
    log.info("%s: %d partitions", options.name, len(assigned), extra=OF_BROKER)
    return Held(apps, whole, starts, ends, {at: Repeats() for at in assigned}, {})


def _next(at: TopicPartition, whole: int | None, begin: int, end: int) -> int:
    """The offset to continue from; raises where the topic is not the one the tables know."""
    if whole is None:
        if begin:
            log.warning(
                "%s/%d: begins at offset %d; the rows before it are gone", *at, begin,
                extra=place(at, begin),
            )  # fmt: skip
        return begin
    if whole + 1 > end:
        raise ConfigurationError(
            f"topic {at.topic}, partition {at.partition}: the history was written up to offset "
            f"{whole}, the topic ends at {end}: another topic of that name? sink it elsewhere"
        )
    if whole + 1 < begin:
        raise DataRefused(
            f"topic {at.topic}, partition {at.partition}: offsets {whole + 1} to {begin - 1} have "
            "left the log before they were written; fold the log again into a new history"
        )
    return whole + 1
