"""Reads changelog partitions with one consumer, up to their end or for ever.

Any error ends the consumer. The caller tries again with another one, which continues where each
partition's `Progress` says. See docs/kafka-tier.md, "Following a changelog".
"""

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from time import monotonic
from typing import Any, Self

from aiokafka.errors import NoError, for_code
from aiokafka.protocol.offset import OffsetRequest
from aiokafka.structs import TopicPartition

from streams.kafka.client.aiokafka_internals import Client, KafkaConsumer
from streams.kafka.transport.changelog import Chunk, Progress, Replaced, Short

FETCH_BYTES = 8 * 1024 * 1024
FETCH_WAIT_MS = 100
READ_UNCOMMITTED = 0
LATEST = -1
LOOK_EVERY = 0.05
"""Seconds between two looks at partitions of which nothing was fetched."""


class Follower:
    """`connection`: what every aiokafka client is made with. `records`: fetched at once at most,
    some 5 µs each of the event loop's time."""

    def __init__(self, connection: Mapping[str, Any], records: int) -> None:
        self._records = records
        self._consumer = KafkaConsumer(
            raw=True,
            isolation_level="read_committed",
            auto_offset_reset="none",
            enable_auto_commit=False,
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=FETCH_WAIT_MS,
            **connection,
        )

    @property
    def client(self) -> Client:
        """Knows the cluster."""
        return self._consumer.client

    async def __aenter__(self) -> Self:
        """Raises KafkaError where no broker can be reached."""
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def read(
        self, logs: Iterable[Progress], for_ever: bool = False
    ) -> AsyncGenerator[tuple[Progress, Chunk], None]:
        """What comes of these partitions, from where each table stands on; empty chunks of all ten
        times a second and more. Ends when all are restored, unless `for_ever`: then transactions
        may be open, which otherwise are waited for.

        Raises:
            KafkaError, Short: not now.
            Replaced: one table has to be made again.
            ConfigurationError: as `Progress.open` and `Progress.take`.
        """
        by_place = {log.at: log for log in logs}
        await self._open(by_place, for_ever)
        looked = 0.0
        while for_ever or not all(log.restored for log in by_place.values()):
            fetched = await self._consumer.getmany(
                timeout_ms=FETCH_WAIT_MS, max_records=self._records
            )
            due = monotonic() - looked > LOOK_EVERY
            for at in by_place if due else fetched:
                log, state = by_place[at], self._consumer.state(at)
                chunk = log.take(fetched.get(at, ()), state.position)
                log.answered(state.timestamp, state.lso)
                yield log, chunk
            looked = monotonic() if due else looked
            await asyncio.sleep(0)  # a restore leaves requests their turn

    async def _open(self, logs: Mapping[TopicPartition, Progress], for_ever: bool) -> None:
        """Goes to where each partition is read on."""
        self._consumer.assign(list(logs))
        beginnings = await self._consumer.beginning_offsets(list(logs))
        ends = await self._consumer.end_offsets(list(logs))
        errors: list[Short | Replaced] = []
        for at, log in logs.items():
            written = 0 if for_ever else await written_to(self._consumer, at)
            try:
                log.open(beginnings[at], ends[at], written)
            except (Short, Replaced) as error:
                errors.append(error)  # of each partition: they are waited for together
            else:
                self._consumer.seek(at, log.position)
        if errors:
            raise max(errors, key=lambda error: isinstance(error, Replaced))


async def written_to(consumer: KafkaConsumer, at: TopicPartition) -> int:
    """Where the log ends. `end_offsets` says where its oldest open transaction begins."""
    request = OffsetRequest(-1, READ_UNCOMMITTED, [(at.topic, [(at.partition, LATEST)])])
    answer = await consumer.ask_leader(at, request)
    ((_, ((_, code, _, offset),)),) = answer.topics
    if (error := for_code(code)) is not NoError:
        raise error(at)
    return int(offset)
