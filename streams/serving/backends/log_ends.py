"""End offsets of the logs that workers read, from the broker: every record before them was appended
earlier, by any server."""

import asyncio
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import Any

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.kafka.client import acl_errors
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.observability.logs import OF_BROKER
from streams.serving.backends.backend import NotReady

log = logging.getLogger(__name__)

REQUEST_MS = 5_000
ANSWER_WITHIN = 5.0
"""Seconds, including the connection of a new consumer."""
CLOSE_WITHIN = 2.0
FETCH_MS = 50


class LogEnds:
    """One consumer, created on first use and again after an error."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._consumer: KafkaConsumer | None = None
        self._starting = asyncio.Lock()
        self._reading = asyncio.Lock()

    async def of(self, parts: Sequence[TopicPartition]) -> dict[TopicPartition, int]:
        """The offset after the newest committed record, or mark of a transaction, of each
        partition. Raises NotReady."""
        async with self._asked() as consumer:
            ends: dict[TopicPartition, int] = await consumer.end_offsets(parts)
            return ends

    async def has_records(self, at: TopicPartition, start: int, end: int) -> bool:
        """Whether there is a record between these offsets, and not only transaction markers, which
        a worker's position may never pass. Raises NotReady."""
        async with self._reading, self._asked() as consumer:
            consumer.assign([at])
            try:
                consumer.seek(at, start)
                while await consumer.position(at) < end:
                    fetched = await consumer.getmany(timeout_ms=FETCH_MS)
                    if any(record.offset < end for record in fetched.get(at, ())):
                        return True
                return False
            finally:
                consumer.unsubscribe()

    @asynccontextmanager
    async def _asked(self) -> AsyncIterator[KafkaConsumer]:
        """Raises NotReady if the broker does not answer."""
        try:
            async with asyncio.timeout(ANSWER_WITHIN):
                yield await self._started()
        except (KafkaError, OSError, TimeoutError) as error:
            why = acl_errors.of(error) or repr(error)
            log.error("where the logs end: %s", why, extra=OF_BROKER)
            await self.close()
            raise NotReady(f"Kafka: where the log ends: {type(error).__name__}") from None

    async def _started(self) -> KafkaConsumer:
        async with self._starting:
            if self._consumer is None:
                consumer = KafkaConsumer(
                    **self._connection,
                    isolation_level="read_committed",
                    request_timeout_ms=REQUEST_MS,
                )
                await consumer.start()
                self._consumer = consumer
            return self._consumer

    async def close(self) -> None:
        """The next request uses a new consumer."""
        consumer, self._consumer = self._consumer, None
        if consumer is not None:
            with suppress(KafkaError, OSError, TimeoutError):
                async with asyncio.timeout(CLOSE_WITHIN):
                    await consumer.stop()
