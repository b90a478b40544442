"""Reads changelog partitions with one consumer, up to their end or continuously.

Any error ends the consumer. The caller retries with a new one, which continues at each partition's
`Progress`. See docs/kafka-tier.md, "Following a changelog".
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from time import monotonic
from typing import Any, Self

from aiokafka.errors import NoError, for_code
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.structs import TopicPartition

from streams.kafka.client.aiokafka_internals import Client, KafkaConsumer
from streams.kafka.transport.changelog import ChangelogChunk, Progress, Replaced, Short

FETCH_BYTES = 8 * 1024 * 1024
FETCH_WAIT_MS = 100
READ_UNCOMMITTED = 0
LATEST = -1
LOOK_EVERY = 0.05
"""Seconds between checks of partitions without fetched records."""


class Follower:
    """`connection`: keyword arguments of every aiokafka client. `records`: maximum per fetch; each
    takes about 5 µs of the event loop."""

    def __init__(self, connection: Mapping[str, Any], records: int) -> None:
        self._records = records
        self._consumer = KafkaConsumer(
            raw=True,
            isolation_level="read_committed",
            auto_offset_reset="none",
            enable_auto_commit=False,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            **{**connection, "keys": None},  # tables have encrypted rows
        )

    @property
    def client(self) -> Client:
        return self._consumer.client

    async def __aenter__(self) -> Self:
        """Raises KafkaError where no broker can be reached."""
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def read(
        self, logs: Iterable[Progress], for_ever: bool = False
    ) -> AsyncGenerator[tuple[Progress, ChangelogChunk], None]:
        """Yields chunks of these partitions from each table's position on; empty chunks at least
        ten times a second. Ends when all are restored, unless `for_ever`. Only `for_ever` accepts
        open transactions; otherwise it waits for their end.

        Raises:
            KafkaError, Short: retry.
            Replaced: one table must be rebuilt.
            ConfigurationError: as `Progress.open` and `Progress.take`.
        """
        by_partition = {log.at: log for log in logs}
        await self._open(by_partition, for_ever)
        looked = 0.0
        while for_ever or not all(log.restored for log in by_partition.values()):
            fetched = await self._consumer.getmany(
                timeout_ms=FETCH_WAIT_MS, max_records=self._records
            )
            due = monotonic() - looked > LOOK_EVERY
            for tp in by_partition if due else fetched:
                log, state = by_partition[tp], self._consumer.state(tp)
                chunk = log.take(fetched.get(tp, ()), state.position)
                log.answered(state.timestamp, state.lso)
                yield log, chunk
            looked = monotonic() if due else looked
            await asyncio.sleep(0)  # lets requests run during a restore

    async def _open(self, logs: Mapping[TopicPartition, Progress], for_ever: bool) -> None:
        self._consumer.assign(list(logs))
        beginnings = await self._consumer.beginning_offsets(list(logs))
        ends = await self._consumer.end_offsets(list(logs))
        errors: list[Short | Replaced] = []
        for tp, log in logs.items():
            written = 0 if for_ever else await written_to(self._consumer, tp)
            try:
                log.open(beginnings[tp], ends[tp], written)
            except (Short, Replaced) as error:
                errors.append(error)  # collected, to wait once for all partitions
            else:
                self._consumer.seek(tp, log.position)
        if errors:
            raise max(errors, key=lambda error: isinstance(error, Replaced))


async def written_to(consumer: KafkaConsumer, tp: TopicPartition) -> int:
    """End offset of the log. `end_offsets` returns the start of its oldest open transaction
    instead."""
    request = OffsetRequest(-1, READ_UNCOMMITTED, [(tp.topic, [(tp.partition, LATEST)])])
    response = await consumer.send_to_leader(tp, request)
    ((_, ((_, code, _, offset),)),) = response.topics
    if (error := for_code(code)) is not NoError:
        raise error(tp)
    return int(offset)
