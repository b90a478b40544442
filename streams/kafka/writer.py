"""A lane's producer: one Kafka transaction a batch (design 05)."""

import asyncio
import contextlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka import AIOKafkaProducer
from aiokafka.errors import KafkaError
from aiokafka.producer import sender
from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.kafka.partitions import partition_of
from streams.kafka.processing import LaneSettings, Output, Row

BATCH_BYTES = 900_000
"""A record batch before compression; brokers take 1 MiB unless told otherwise. A single record
may be larger where its topic allows it."""
REQUEST_TIMEOUT_MS = 10_000

# The coordinator still ends one transaction when the next one begins; aiokafka then waits 20 ms
# before it asks again, six times what the end takes. tests/kafka/test_transport_recovery.py
# watches that this name still does so.
sender.BACKOFF_OVERRIDE = 0.001


class TransactionFailed(Exception):  # noqa: N818 - what happened
    """The batch may or may not stand; a new producer, and the changelog, will tell."""


class Written(NamedTuple):
    """What a committed transaction wrote. `position`: the changelog's next offset after it."""

    position: int
    records: int
    bytes: int


class Writer:
    """A transactional producer, used for one batch at a time and thrown away on any error."""

    def __init__(
        self,
        transactional_id: str,
        group: str,
        connection: Mapping[str, Any],
        settings: LaneSettings,
    ) -> None:
        self.transactional_id = transactional_id
        self._group = group
        self._in_transaction = False
        self._known: set[str] = set()  # topics whose partitions were asked for
        self._producer = AIOKafkaProducer(
            **connection,
            client_id=transactional_id,
            transactional_id=transactional_id,
            transaction_timeout_ms=int(settings.transaction_timeout * 1000),
            compression_type=settings.compression,
            max_batch_size=BATCH_BYTES,
            max_request_size=100_000_000,
            request_timeout_ms=REQUEST_TIMEOUT_MS,
        )

    async def start(self) -> None:
        """Connects, fences every older producer of this id, and waits until its transaction ended.

        Raises:
            KafkaError: the broker cannot be reached or refuses.
        """
        await self._producer.start()

    async def commit(
        self,
        outputs: Sequence[Output],
        changelog: TopicPartition,
        rows: Sequence[Row],
        offsets: Mapping[TopicPartition, int],
    ) -> Written:
        """Sends `outputs`, `rows` and the sources' `offsets` in one transaction.

        Raises:
            TransactionFailed: whatever went wrong; the writer is of no more use then.
        """
        try:
            for topic in {one.topic for one in outputs if one.partition is None} - self._known:
                await self._producer.partitions_for(topic)
                self._known.add(topic)
            self._in_transaction = True
            await self._producer.begin_transaction()
            batches = self._batches(outputs, changelog, rows)
            written = await self._send(batches, offsets)
            await self._producer.commit_transaction()
            self._in_transaction = False
        # aiokafka also fails its own assertions when a transaction dies under it
        except (KafkaError, OSError, AssertionError) as error:
            raise TransactionFailed(f"{self.transactional_id}: {error!r}") from error
        return Written(
            position=written[changelog],
            records=sum(one.record_count() for them in batches.values() for one in them),
            bytes=sum(one.size() for them in batches.values() for one in them),
        )

    def _batches(
        self, outputs: Iterable[Output], changelog: TopicPartition, rows: Sequence[Row]
    ) -> dict[TopicPartition, list[Any]]:
        """Record batches by where they go, each list in the order given."""
        create = self._producer.create_batch
        batches: dict[TopicPartition, list[Any]] = {}
        appends: dict[tuple[str, int], Any] = {}
        for topic, partition, key, value, headers, timestamp in outputs:
            if partition is None:
                partition = self._hashed(topic, key)
            append = appends.get((topic, partition))
            if append is None or not append(
                timestamp=timestamp, key=key, value=value, headers=list(headers)
            ):
                batch = create()
                batches.setdefault(TopicPartition(topic, partition), []).append(batch)
                append = appends[topic, partition] = batch.append
                append(timestamp=timestamp, key=key, value=value, headers=list(headers))
        batch = create()
        kept = batches.setdefault(changelog, [])
        kept.append(batch)
        for key, value in rows:
            if not batch.append(timestamp=None, key=key, value=value):
                batch = create()
                kept.append(batch)
                batch.append(timestamp=None, key=key, value=value)
        return batches

    async def _send(
        self, batches: Mapping[TopicPartition, list[Any]], offsets: Mapping[TopicPartition, int]
    ) -> dict[TopicPartition, int]:
        """Sends everything, then the offsets. The next offset of each partition.

        One after the other: while the coordinator notes the offsets' group, the broker cannot
        verify that a produce request belongs to the transaction, and aiokafka tries again 100 ms
        later.
        """
        sends = (self._send_to(at, them) for at, them in batches.items())
        following: dict[TopicPartition, int] = {}
        for outcome in await asyncio.gather(*sends, return_exceptions=True):
            if isinstance(outcome, BaseException):
                raise outcome
            following[outcome[0]] = outcome[1]
        marks = {at: OffsetAndMetadata(offset, "") for at, offset in offsets.items()}
        await self._producer.send_offsets_to_transaction(marks, self._group)
        return following

    async def _send_to(self, at: TopicPartition, batches: list[Any]) -> tuple[TopicPartition, int]:
        following = 0
        for batch in batches:
            batch.close()
            delivery = await self._producer.send_batch(batch, at.topic, partition=at.partition)
            following = (await delivery).offset + batch.record_count()
        return at, following

    def _hashed(self, topic: str, key: bytes | None) -> int:
        """The partition of a key; records without one go to the first."""
        if key is None:
            return 0
        return partition_of(key, len(self._producer.client.cluster.partitions_for_topic(topic)))

    async def close(self, grace: float) -> None:
        """Aborts what is open and disconnects, each within `grace` seconds, or just disconnects:
        the next owner's start ends the transaction then, or its timeout. Called again after it was
        cancelled, it only disconnects."""
        self._hear_out()
        if self._producer._closed:
            await self._abandon(grace)
            return
        failures = (KafkaError, OSError, AssertionError, TimeoutError)
        if self._in_transaction:
            with contextlib.suppress(*failures):
                await asyncio.wait_for(self._producer.abort_transaction(), grace)
        try:
            await asyncio.wait_for(self._producer.stop(), grace)
        except failures:
            await self._abandon(grace)

    def _hear_out(self) -> None:
        """Takes note of aiokafka's own copy of an error, or asyncio complains that nobody did."""
        waiter = self._producer._txn_manager._transaction_waiter
        if waiter is not None and waiter.done() and not waiter.cancelled():
            waiter.exception()

    async def _abandon(self, grace: float) -> None:
        """Cuts the connections, which ends every request aiokafka waits for."""
        with contextlib.suppress(KafkaError, OSError, TimeoutError):
            await asyncio.wait_for(self._producer.client.close(), grace)
        with contextlib.suppress(KafkaError, OSError, TimeoutError, AssertionError):
            await asyncio.wait_for(self._producer._sender.close(), grace)
