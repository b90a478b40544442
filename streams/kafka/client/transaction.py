"""Kafka transactions, request by request (docs/kafka-tier.md, Fencing).

aiokafka's producer takes five round trips instead of three, each through tasks and queues. It also
retries after a lost response: an EndTxn that was only late then ends the *next* transaction
half-way. Here requests that may have succeeded are never retried: any doubt is an error, and the
next writer starts with a new epoch, which fences all pending requests.
"""

import asyncio
import contextlib
from collections import defaultdict
from collections.abc import Collection, Coroutine, Iterator, Mapping
from typing import Any

from aiokafka.client import ConnectionGroup, CoordinationType
from aiokafka.errors import (
    ConcurrentTransactions,
    CoordinatorLoadInProgressError,
    CoordinatorNotAvailableError,
    KafkaError,
    NoError,
    NotCoordinatorError,
    NotLeaderForPartitionError,
    UnknownTopicOrPartitionError,
    for_code,
)
from aiokafka.protocol.produce import ProduceRequest
from aiokafka.protocol.transaction import (
    AddPartitionsToTxnRequest,
    EndTxnRequest,
    InitProducerIdRequest,
)
from aiokafka.record.default_records import DefaultRecordBatchBuilder
from aiokafka.structs import TopicPartition

from streams.kafka.client.aiokafka_internals import (
    QUICK,
    TIGHT,
    ZSTD,
    Client,
    start_or_stop,
)

REQUEST_TIMEOUT_MS = 10_000
NOT_YET = (CoordinatorNotAvailableError, NotCoordinatorError, CoordinatorLoadInProgressError)
MOVED = (NotLeaderForPartitionError, UnknownTopicOrPartitionError)
AGAIN = 0.1
"""Seconds between lookups of a coordinator or leader."""
STILL_ENDING, MOST_STILL_ENDING = 0.0005, 0.01
"""Seconds: the coordinator confirms a commit before all markers are written, and accepts partitions
for the next transaction a millisecond later. The wait doubles: a broker without spare CPU gets no
faster by more requests."""
LARGEST_SEQUENCE = 2**31 - 1
CODECS = {None: 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class Transactions:
    """Transactions of one id; discarded after the first error."""

    def __init__(
        self, transactional_id: str, connection: Mapping[str, Any], timeout: float
    ) -> None:
        self.transactional_id = transactional_id
        self._timeout_ms = int(timeout * 1000)
        self._client = Client(
            **connection, client_id=transactional_id, request_timeout_ms=REQUEST_TIMEOUT_MS
        )
        self._coordinator = -1
        self._producer: tuple[int, int] = (-1, -1)  # its id and epoch
        self._sequences: dict[TopicPartition, int] = {}
        self.is_open = False
        """Whether a transaction has started and, as far as known, not ended."""

    async def start(self) -> None:
        """Connects, fences older producers of this id, waits until their transaction has ended.

        Raises:
            KafkaError: the broker is unreachable or denies access.
        """
        await start_or_stop((self._start, self.close))

    async def _start(self) -> None:
        await self._client.bootstrap()
        while True:
            with contextlib.suppress(*NOT_YET, ConcurrentTransactions):
                self._coordinator = await self._client.coordinator_lookup(
                    CoordinationType.TRANSACTION, self.transactional_id
                )
                response = await self._request(
                    InitProducerIdRequest(self.transactional_id, self._timeout_ms)
                )
                _check(response.error_code)
                self._producer = response.producer_id, response.producer_epoch
                return
            await asyncio.sleep(AGAIN)

    async def load_partitions(self, topics: Collection[str]) -> None:
        """Loads the partitions and leaders of these topics.

        Raises:
            KafkaError: unknown topic, or no broker responds.
        """
        for topic in topics:
            await self._client.count_partitions(topic)

    def partitions(self, topic: str) -> int:
        """Number of partitions of a known topic."""
        return len(self._client.cluster.partitions_for_topic(topic))

    def batch(self, compression: str | None, room: int) -> DefaultRecordBatchBuilder:
        """An empty record batch of up to `room` bytes, before compression."""
        return DefaultRecordBatchBuilder(2, CODECS[compression], 1, *self._producer, 0, room)

    # --- one transaction ------------------------------------------------------------------------

    async def add(self, partitions: Collection[TopicPartition]) -> None:
        """Adds partitions to the transaction; the first call starts it."""
        topics: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in partitions:
            topics[topic].append(partition)
        request = AddPartitionsToTxnRequest(
            self.transactional_id, *self._producer, list(topics.items())
        )
        self.is_open = True
        wait = STILL_ENDING
        while True:
            response = await self._request(request)
            errors = {code for _, topic_errors in response.errors for _, code in topic_errors}
            if ConcurrentTransactions.errno not in errors:
                break
            await asyncio.sleep(wait)
            wait = min(2 * wait, MOST_STILL_ENDING)
        for code in errors:
            _check(code)

    async def send(
        self,
        batches: Mapping[TopicPartition, tuple[DefaultRecordBatchBuilder, int]],
        tight: TopicPartition | None = None,
    ) -> dict[TopicPartition, int]:
        """Writes a batch and its record count to each partition; compresses the batch of `tight`
        more. Returns the first offsets."""
        waiting: dict[TopicPartition, bytearray] = {}
        for tp, (batch, count) in batches.items():
            sequence = self._sequences.get(tp, 0)
            batch.set_producer_state(*self._producer, sequence)
            self._sequences[tp] = (sequence + count) & LARGEST_SEQUENCE
            ZSTD.level = TIGHT if tp == tight else QUICK
            waiting[tp] = batch.build()
            ZSTD.level = QUICK
        offsets: dict[TopicPartition, int] = {}
        while True:
            for first_offsets in await asyncio.gather(*self._produce(waiting)):
                offsets |= first_offsets
            waiting = {tp: built for tp, built in waiting.items() if tp not in offsets}
            if not waiting:
                return offsets
            await self._client.force_metadata_update()  # a leader has moved
            await asyncio.sleep(AGAIN)

    def _produce(
        self, batches: Mapping[TopicPartition, bytearray]
    ) -> Iterator[Coroutine[Any, Any, dict[TopicPartition, int]]]:
        leaders: defaultdict[int, defaultdict[str, list[Any]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for tp, built in batches.items():
            leader = self._client.cluster.leader_for_partition(tp)
            if leader is not None and leader >= 0:
                leaders[leader][tp.topic].append((tp.partition, built))
        return (self._produce_to(node, list(topics.items())) for node, topics in leaders.items())

    async def _produce_to(self, node: int, topics: list[Any]) -> dict[TopicPartition, int]:
        request = ProduceRequest(self.transactional_id, -1, REQUEST_TIMEOUT_MS, topics)
        response = await self._client.send(node, request)
        offsets = {}
        for topic, partitions in response.topics:
            for partition, code, offset, *_ in partitions:
                if for_code(code) not in MOVED:
                    _check(code)
                    offsets[TopicPartition(topic, partition)] = offset
        return offsets

    async def commit(self) -> None:
        """Commits; after an error the outcome is unknown."""
        await self._end(committed=True)

    async def abort(self) -> None:
        await self._end(committed=False)

    async def _end(self, committed: bool) -> None:
        request = EndTxnRequest(self.transactional_id, *self._producer, committed)
        _check((await self._request(request)).error_code)
        self.is_open = False

    async def _request(self, request: Any) -> Any:
        group = ConnectionGroup.COORDINATION
        return await self._client.send(self._coordinator, request, group=group)

    async def close(self) -> None:
        """Disconnects, which ends all pending requests."""
        await self._client.close()


def _check(code: int) -> None:
    error: type[KafkaError] = for_code(code)
    if error is not NoError:
        raise error()
