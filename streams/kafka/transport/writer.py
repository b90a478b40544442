"""Writes a batch's outputs and changed rows as one Kafka transaction."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import zip_longest
from time import time
from typing import Any, NamedTuple

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.kafka.client.partitions import partition_of
from streams.kafka.client.transaction import Transactions
from streams.kafka.transport.interfaces import LaneSettings, Output, Row

BATCH_BYTES = 900_000
"""Bytes of a record batch before compression; brokers accept 1 MiB by default. A single record may
be larger if its topic allows it."""


class TransactionFailed(Exception):  # noqa: N818 - what happened
    """The outcome of the batch is unknown; a new writer finds it in the changelog."""


class Written(NamedTuple):
    """Sizes of a committed transaction. `position`: the changelog's next offset after it; `bytes`
    as sent to the broker, `changelog_bytes` the changelog's share."""

    position: int
    bytes: int
    changelog_bytes: int


class RecordBatches:
    """Records for one partition, as record batches in order."""

    __slots__ = ("_append", "_begin", "count", "done", "open")

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self.done: list[tuple[Any, int]] = []  # with number of records
        self._start()

    def _start(self) -> None:
        self.open, self.count = self._begin(), 0
        self._append = self.open.append

    def add(
        self,
        timestamp: int,
        key: bytes | None,
        value: bytes | None,
        headers: list[tuple[str, bytes]],
    ) -> None:
        """Adds a record; starts another batch when one is full. The first record always fits."""
        if self._append(self.count, timestamp, key, value, headers) is None:
            self.done.append((self.open, self.count))
            self._start()
            self._append(0, timestamp, key, value, headers)
        self.count += 1

    def all(self) -> list[tuple[Any, int]]:
        return [*self.done, (self.open, self.count)]


class Writer:
    """Writes one transaction at a time; discarded after any error."""

    def __init__(
        self, transactional_id: str, connection: Mapping[str, Any], settings: LaneSettings
    ) -> None:
        self.transactional_id = transactional_id
        self._compression = settings.compression
        self._names = settings.names
        self._known: set[str] = set()  # topics with loaded partitions
        self._transactions = Transactions(
            transactional_id, connection, settings.transaction_timeout
        )

    async def start(self) -> None:
        """Connects, fences older writers of this id, waits until their transaction has ended.

        Raises:
            KafkaError: the broker is unreachable or denies access.
        """
        await self._transactions.start()

    async def commit(
        self, outputs: Sequence[Output], changelog: TopicPartition, rows: Sequence[Row]
    ) -> Written:
        """Writes `outputs` and `rows` in one transaction.

        Raises:
            TransactionFailed: on any error; the writer is unusable then.
        """
        try:
            topics = {self._named(output.topic) for output in outputs} | {changelog.topic}
            if not topics <= self._known:
                await self._transactions.load_partitions(topics - self._known)
                self._known |= topics
            batches = self._batches(outputs, changelog, rows)
            await self._transactions.add(batches.keys())
            written = await self._send(batches, changelog)
            position = written[changelog]
            await self._transactions.commit()
        except (KafkaError, OSError, TimeoutError) as error:
            raise TransactionFailed(f"{self.transactional_id}: {error!r}") from error
        sizes = {tp: sum(batch.size() for batch, _ in parts) for tp, parts in batches.items()}
        return Written(position, sum(sizes.values()), sizes[changelog])

    def _batches(
        self, outputs: Sequence[Output], changelog: TopicPartition, rows: Sequence[Row]
    ) -> dict[TopicPartition, list[tuple[Any, int]]]:
        now = int(time() * 1000)
        begin = partial(self._transactions.batch, self._compression, BATCH_BYTES)
        by_partition: dict[tuple[str, int], RecordBatches] = {}
        for topic, partition, key, value, headers, timestamp, _ in outputs:
            if partition is None:
                partition = self._hashed(topic, key)
            batches = by_partition.get((topic, partition))
            if batches is None:
                batches = by_partition[topic, partition] = RecordBatches(begin)
            batches.add(now if timestamp is None else timestamp, key, value, headers)
        batches = by_partition[changelog] = RecordBatches(begin)
        for key, value in rows:
            batches.add(now, key, value, [])
        return {
            TopicPartition(self._named(topic), partition): batches.all()
            for (topic, partition), batches in by_partition.items()
        }

    async def _send(
        self, batches: Mapping[TopicPartition, list[tuple[Any, int]]], changelog: TopicPartition
    ) -> dict[TopicPartition, int]:
        """Sends the batches, one per partition and request; returns the next offset of each
        partition. The changelog is compressed more, since every restore and follower reads all of
        it."""
        next_offsets: dict[TopicPartition, int] = {}
        for group in zip_longest(*batches.values()):
            request = {
                tp: batch for tp, batch in zip(batches, group, strict=True) if batch is not None
            }
            offsets = await self._transactions.send(request, changelog)
            next_offsets |= {tp: offset + request[tp][1] for tp, offset in offsets.items()}
        return next_offsets

    def _hashed(self, topic: str, key: bytes | None) -> int:
        """Partition of a key; records without a key go to the first."""
        if key is None:
            return 0
        return partition_of(key, self._transactions.partitions(self._named(topic)))

    def _named(self, topic: str) -> str:
        """Actual name of a topic of the topology: a generation has separate topics."""
        return self._names.get(topic, topic)

    async def close(self, grace: float) -> None:
        """Aborts an open transaction within `grace` seconds and disconnects; otherwise the next
        owner's start, or the timeout, ends the transaction."""
        failures = (KafkaError, OSError, TimeoutError)
        if self._transactions.is_open:
            with contextlib.suppress(*failures):
                await asyncio.wait_for(self._transactions.abort(), grace)
        with contextlib.suppress(*failures):
            await asyncio.wait_for(self._transactions.close(), grace)
