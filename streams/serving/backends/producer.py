"""Appends records to topics for many requests at once: requests that arrive during a produce go
into the next one, one batch per partition. One idempotent producer keeps the order of each key."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import chain
from time import monotonic
from typing import Any, NamedTuple

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.kafka.client import acl_errors
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.observability.logs import OF_BROKER
from streams.observability.readiness import Pending
from streams.observability.traces import Headers, outgoing

log = logging.getLogger(__name__)

BATCH_BYTES = 500_000
GATHER = 0.005
"""Seconds from one produce to the next: requests that arrive in between are sent together. A single
request does not wait."""
REQUEST_MS = 5_000
APPEND_WITHIN = 10.0
"""Seconds, including the connection of a new producer."""
CLOSE_WITHIN = 2.0


class OutgoingRecord(NamedTuple):
    """A record to append."""

    to: TopicPartition
    key: bytes | None
    value: bytes
    headers: Headers = []  # noqa: RUF012 - nobody changes it


class NotAppended(Exception):  # noqa: N818 - what happened
    """It is unknown whether the records are in their topics."""


Asked = tuple[Sequence[OutgoingRecord], "asyncio.Future[list[int]]"]
Batch = tuple[Any, list[tuple[list[int], int]]]
"""aiokafka's builder, and for each of its records the offsets it goes into and its place there."""


class Writing:
    """One producer, replaced after an error."""

    def __init__(self, connection: Mapping[str, Any]) -> None:
        self._connection = connection
        self._asked: list[Asked] = []
        self._wake = asyncio.Event()
        self._producer: KafkaProducer | None = None
        self._over = False
        self._appending = Pending()
        self._crowded = float("-inf")  # when several were last produced together

    async def append(self, messages: Sequence[OutgoingRecord]) -> list[int]:
        """The offsets of the records, once all in-sync replicas have them. The records carry the
        caller's trace, if any.

        Raises NotAppended if the broker did not acknowledge in time; the records may still be
        stored.
        """
        if self._over:
            raise NotAppended("the server is stopping")
        if carried := outgoing():
            messages = [message._replace(headers=carried) for message in messages]
        appended: asyncio.Future[list[int]] = asyncio.get_running_loop().create_future()
        self._asked.append((messages, appended))
        self._wake.set()
        succeeded = False
        self._appending.begin()
        try:
            offsets = await appended
            succeeded = True
        finally:
            self._appending.end(succeeded)
        return offsets

    @property
    def age(self) -> float:
        """Seconds since records were last acknowledged; 0 while none wait for it."""
        return self._appending.age

    async def run(self) -> None:
        try:
            while True:
                await self._wake.wait()
                if (pause := self._crowded + GATHER - monotonic()) > 0:
                    await asyncio.sleep(pause)
                self._wake.clear()
                appends, self._asked = self._asked, []
                await self._answer(appends)
                self._crowded = monotonic() if len(appends) > 1 else float("-inf")
        finally:
            self._over = True
            _refuse(self._asked, "the server is stopping")
            await self._close()

    async def _answer(self, appends: Sequence[Asked]) -> None:
        try:
            async with asyncio.timeout(APPEND_WITHIN):
                results = await self._append([messages for messages, _ in appends])
        except (KafkaError, OSError, TimeoutError) as error:
            why = acl_errors.of(error) or repr(error)
            log.error("records were not acknowledged: %s", why, extra=OF_BROKER)
            _refuse(appends, _why(error))
            await self._close()
            return
        except BaseException as error:
            _refuse(appends, _why(error))  # otherwise they would never be answered
            raise
        for offsets, (_, appended) in zip(results, appends, strict=True):
            if not appended.done():
                appended.set_result(offsets)

    async def _append(self, every: Sequence[Sequence[OutgoingRecord]]) -> list[list[int]]:
        producer = await self._connected()
        results = [[-1] * len(messages) for messages in every]
        batches: defaultdict[TopicPartition, list[Batch]] = defaultdict(list)
        producer.prepare((message.to.topic, message.key) for message in chain(*every))
        for messages, offsets in zip(every, results, strict=True):
            for place, (to, key, value, headers) in enumerate(messages):
                mine = batches[to]
                sent = producer.encrypted(to.topic, key, value)
                record = {"timestamp": None, "key": key, "value": sent, "headers": headers}
                if not mine or mine[-1][0].append(**record) is None:
                    mine.append((producer.create_batch(), []))
                    mine[-1][0].append(**record)
                mine[-1][1].append((offsets, place))
        in_flight = [
            (await producer.send_batch(builder, to.topic, partition=to.partition), places)
            for to, partition_batches in batches.items()
            for builder, places in partition_batches
        ]
        for acknowledged, places in in_flight:
            first = (await acknowledged).offset
            for offset, (offsets, place) in enumerate(places, first):
                offsets[place] = offset
        return results

    async def _connected(self) -> KafkaProducer:
        if self._producer is None:
            producer = KafkaProducer(
                **self._connection,
                enable_idempotence=True,
                max_batch_size=BATCH_BYTES,
                request_timeout_ms=REQUEST_MS,
            )
            self._producer = producer
            await producer.start()
        return self._producer

    async def _close(self) -> None:
        """Gives up unacknowledged records."""
        producer, self._producer = self._producer, None
        if producer is None:
            return
        try:
            async with asyncio.timeout(CLOSE_WITHIN):
                await producer.stop()
        except (KafkaError, OSError, TimeoutError):
            # it would otherwise continue to send, forever and unexpectedly
            await producer.give_up()


def _refuse(appends: Sequence[Asked], why: str) -> None:
    for _, appended in appends:
        if not appended.done():
            appended.set_exception(NotAppended(why))


def _why(error: BaseException) -> str:
    """The error for the sender; details such as the broker's address are only logged."""
    return "no acknowledgement in time" if isinstance(error, TimeoutError) else type(error).__name__
