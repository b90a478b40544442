"""Reads a changelog partition in bulk, by position up to its end (docs/kafka-tier.md)."""

from collections.abc import AsyncGenerator, Mapping
from typing import Any, NamedTuple

from aiokafka.errors import NoError, for_code
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.structs import TopicPartition

from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.transport.marker import MARKER_KEY, Marker, decode
from streams.kafka.transport.rows import Row

FETCH_BYTES = 8 * 1024 * 1024
READ_UNCOMMITTED = 0
LATEST = -1
CHUNK = 10_000
"""Records at once: some 50 ms of the event loop's time."""


class Chunk(NamedTuple):
    """Some rows. `markers` by offset; `position` is the offset after the rows, `end` where the
    changelog ended when the reading began, `written` the same with what no transaction had ended.
    """

    rows: list[Row]
    markers: list[tuple[int, Marker]]
    position: int
    end: int
    written: int


async def read(
    at: TopicPartition,
    start: int,
    connection: Mapping[str, Any],
    forever: bool = False,
) -> AsyncGenerator[Chunk, None]:
    """The committed rows from offset `start` on, up to its end; at least one chunk.
    `forever`: beyond the end as they come; without new ones an empty chunk ten times a second.

    Goes by the consumer's position: after the last record stands the transaction's own control
    record, which no record ever shows.

    Raises:
        KafkaError: the broker cannot be reached or refuses.
        ValueError: a marker that is none.
    """
    consumer = KafkaConsumer(
        raw=True,
        **connection,
        isolation_level="read_committed",
        auto_offset_reset="earliest",
        enable_auto_commit=False,
        max_partition_fetch_bytes=FETCH_BYTES,
        fetch_max_wait_ms=100,
    )
    await consumer.start()
    try:
        consumer.assign([at])
        first = (await consumer.beginning_offsets([at]))[at]
        end = (await consumer.end_offsets([at]))[at]
        written = await written_to(consumer, at)
        position = max(first, start)
        consumer.seek(at, position)
        yield Chunk([], [], position, end, written)
        while forever or position < end:
            fetched = await consumer.getmany(at, timeout_ms=100, max_records=CHUNK)
            records = fetched.get(at, ())
            position = await consumer.position(at)
            rows = [(one.key, one.value) for one in records if one.key != MARKER_KEY]
            markers = [(one.offset, decode(one.value)) for one in records if one.key == MARKER_KEY]
            upto = position if forever else min(position, end)
            yield Chunk(rows, markers, upto, end, written)
    finally:
        await consumer.stop()


async def written_to(consumer: KafkaConsumer, at: TopicPartition) -> int:
    """Where the log ends. `end_offsets` says where its oldest open transaction begins."""
    request = OffsetRequest(-1, READ_UNCOMMITTED, [(at.topic, [(at.partition, LATEST)])])
    answer = await consumer.ask_leader(at, request)
    ((_, ((_, code, _, offset),)),) = answer.topics
    if (error := for_code(code)) is not NoError:
        raise error(at)
    return int(offset)
