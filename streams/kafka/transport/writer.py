"""What a lane writes: a batch's outputs and changed rows as one Kafka transaction."""

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
from streams.kafka.transport.processing import LaneSettings, Output, Row

BATCH_BYTES = 900_000
"""A record batch before compression; brokers take 1 MiB unless told otherwise. A single record
may be larger where its topic allows it."""


class TransactionFailed(Exception):  # noqa: N818 - what happened
    """The batch may or may not stand; a new writer, and the changelog, will tell."""


class Written(NamedTuple):
    """What a committed transaction wrote. `position`: the changelog's next offset after it;
    `bytes` as they went to the broker, `changelog_bytes` the changelog's of them."""

    position: int
    records: int
    bytes: int
    changelog_bytes: int


class Batches:
    """Records on their way to one partition, as record batches in the order given."""

    __slots__ = ("_begin", "append", "count", "done", "open")

    def __init__(self, begin: Callable[[], Any]) -> None:
        self._begin = begin
        self.done: list[tuple[Any, int]] = []  # each with its number of records
        self.open = begin()
        self.append = self.open.append
        self.count = 0

    def next(self) -> Any:
        """Another batch, where one is full; how to append to it. The first record always fits."""
        self.done.append((self.open, self.count))
        self.open, self.count = self._begin(), 0
        self.append = self.open.append
        return self.append

    def all(self) -> list[tuple[Any, int]]:
        return [*self.done, (self.open, self.count)]


class Writer:
    """Used for one batch at a time, and thrown away on any error."""

    def __init__(
        self, transactional_id: str, connection: Mapping[str, Any], settings: LaneSettings
    ) -> None:
        self.transactional_id = transactional_id
        self._compression = settings.compression
        self._names = settings.names
        self._known: set[str] = set()  # topics whose partitions were asked for
        self._transactions = Transactions(
            transactional_id, connection, settings.transaction_timeout
        )

    async def start(self) -> None:
        """Connects, fences every older writer of this id, waits until its transaction ended.

        Raises:
            KafkaError: the broker cannot be reached or refuses.
        """
        await self._transactions.start()

    async def commit(
        self, outputs: Sequence[Output], changelog: TopicPartition, rows: Sequence[Row]
    ) -> Written:
        """Writes `outputs` and `rows` in one transaction.

        Raises:
            TransactionFailed: whatever went wrong; the writer is of no more use then.
        """
        try:
            topics = {self._named(one.topic) for one in outputs} | {changelog.topic}
            if not topics <= self._known:
                await self._transactions.know(topics - self._known)
                self._known |= topics
            batches = self._batches(outputs, changelog, rows)
            await self._transactions.add(batches.keys())
            written = await self._send(batches, changelog)
            position = written[changelog]
            await self._transactions.commit()
        except (KafkaError, OSError, TimeoutError) as error:
            raise TransactionFailed(f"{self.transactional_id}: {error!r}") from error
        records = sum(count for them in batches.values() for _, count in them)
        sizes = {at: sum(batch.size() for batch, _ in them) for at, them in batches.items()}
        return Written(position, records, sum(sizes.values()), sizes[changelog])

    def _batches(
        self, outputs: Sequence[Output], changelog: TopicPartition, rows: Sequence[Row]
    ) -> dict[TopicPartition, list[tuple[Any, int]]]:
        """Record batches by where they go."""
        now = int(time() * 1000)
        begin = partial(self._transactions.batch, self._compression, BATCH_BYTES)
        found: dict[tuple[str, int], Batches] = {}
        for topic, partition, key, value, headers, timestamp in outputs:
            if partition is None:
                partition = self._hashed(topic, key)
            batches = found.get((topic, partition))
            if batches is None:
                batches = found[topic, partition] = Batches(begin)
            at = now if timestamp is None else timestamp
            if batches.append(batches.count, at, key, value, headers) is None:
                batches.next()(0, at, key, value, headers)
            batches.count += 1
        batches = found[changelog] = Batches(begin)
        for key, value in rows:
            if batches.append(batches.count, now, key, value, []) is None:
                batches.next()(0, now, key, value, [])
            batches.count += 1
        return {
            TopicPartition(self._named(topic), partition): batches.all()
            for (topic, partition), batches in found.items()
        }

    async def _send(
        self, batches: Mapping[TopicPartition, list[tuple[Any, int]]], changelog: TopicPartition
    ) -> dict[TopicPartition, int]:
        """The next offset of each partition. A request takes one batch of each. The changelog is
        what every restore and every follower reads whole: it is packed tighter."""
        following: dict[TopicPartition, int] = {}
        for some in zip_longest(*batches.values()):
            turn = {at: one for at, one in zip(batches, some, strict=True) if one is not None}
            offsets = await self._transactions.send(turn, changelog)
            following |= {at: offset + turn[at][1] for at, offset in offsets.items()}
        return following

    def _hashed(self, topic: str, key: bytes | None) -> int:
        """The partition of a key; records without one go to the first."""
        if key is None:
            return 0
        return partition_of(key, self._transactions.partitions(self._named(topic)))

    def _named(self, topic: str) -> str:
        """What a topic of the topology is called here: a generation has its own."""
        return self._names.get(topic, topic)

    async def close(self, grace: float) -> None:
        """Aborts what is open, within `grace` seconds, and disconnects: else the next owner's
        start ends the transaction, or its timeout."""
        failures = (KafkaError, OSError, TimeoutError)
        if self._transactions.is_open:
            with contextlib.suppress(*failures):
                await asyncio.wait_for(self._transactions.abort(), grace)
        with contextlib.suppress(*failures):
            await asyncio.wait_for(self._transactions.close(), grace)
