"""One Kafka transaction after another, request by request (docs/kafka-tier.md, Fencing).

aiokafka's own producer asks the same in five round trips where three do, each through tasks and
queues. It also asks again when an answer is lost: an EndTxn that was only late then ends the
*next* transaction half-way. Here nothing that may have happened is asked twice: any doubt is an
error, and the next writer begins with a new epoch, which fences all that is still under way.
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
"""Seconds between two questions for a coordinator or leader."""
STILL_ENDING, MOST_STILL_ENDING = 0.0005, 0.01
"""Seconds: the coordinator answers a commit before all markers are written, and takes partitions
for the next transaction when they are, a millisecond later. Asked again after twice the time: a
broker without CPU to spare gets no sooner by it."""
LARGEST_SEQUENCE = 2**31 - 1
CODECS = {None: 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}


class Transactions:
    """Transactions of one id, used until the first error and thrown away then."""

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
        """Whether one has begun, for all we know, and has not ended."""

    async def start(self) -> None:
        """Connects, fences every older producer of this id, waits until its transaction ended.

        Raises:
            KafkaError: the broker cannot be reached or refuses.
        """
        await start_or_stop((self._start, self.close))

    async def _start(self) -> None:
        await self._client.bootstrap()
        while True:
            with contextlib.suppress(*NOT_YET, ConcurrentTransactions):
                self._coordinator = await self._client.coordinator_lookup(
                    CoordinationType.TRANSACTION, self.transactional_id
                )
                found = await self._ask(
                    InitProducerIdRequest(self.transactional_id, self._timeout_ms)
                )
                _check(found.error_code)
                self._producer = found.producer_id, found.producer_epoch
                return
            await asyncio.sleep(AGAIN)

    async def know(self, topics: Collection[str]) -> None:
        """Learns where the partitions of these topics are.

        Raises:
            KafkaError: there is no such topic, or no broker to ask.
        """
        for topic in topics:
            await self._client.count_partitions(topic)

    def partitions(self, topic: str) -> int:
        """How many a known topic has."""
        return len(self._client.cluster.partitions_for_topic(topic))

    def batch(self, compression: str | None, room: int) -> DefaultRecordBatchBuilder:
        """An empty record batch of so many bytes, before compression."""
        return DefaultRecordBatchBuilder(2, CODECS[compression], 1, *self._producer, 0, room)

    # --- one transaction ------------------------------------------------------------------------

    async def add(self, partitions: Collection[TopicPartition]) -> None:
        """Makes partitions part of the transaction; the first ones begin it."""
        topics: defaultdict[str, list[int]] = defaultdict(list)
        for topic, partition in partitions:
            topics[topic].append(partition)
        request = AddPartitionsToTxnRequest(
            self.transactional_id, *self._producer, list(topics.items())
        )
        self.is_open = True
        wait = STILL_ENDING
        while True:
            answer = await self._ask(request)
            errors = {code for _, them in answer.errors for _, code in them}
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
        """Writes a batch, of so many records, to each of the partitions, that of `tight` in fewer
        bytes than is quickest. Their first offsets."""
        waiting: dict[TopicPartition, bytearray] = {}
        for at, (batch, count) in batches.items():
            sequence = self._sequences.get(at, 0)
            batch.set_producer_state(*self._producer, sequence)
            self._sequences[at] = (sequence + count) & LARGEST_SEQUENCE
            ZSTD.level = TIGHT if at == tight else QUICK
            waiting[at] = batch.build()
            ZSTD.level = QUICK
        offsets: dict[TopicPartition, int] = {}
        while True:
            for answer in await asyncio.gather(*self._produce(waiting)):
                offsets |= answer
            waiting = {at: built for at, built in waiting.items() if at not in offsets}
            if not waiting:
                return offsets
            await self._client.force_metadata_update()  # a leader has moved, and has refused
            await asyncio.sleep(AGAIN)

    def _produce(
        self, batches: Mapping[TopicPartition, bytearray]
    ) -> Iterator[Coroutine[Any, Any, dict[TopicPartition, int]]]:
        """A request to each leader."""
        leaders: defaultdict[int, defaultdict[str, list[Any]]] = defaultdict(
            lambda: defaultdict(list)
        )
        for at, built in batches.items():
            leader = self._client.cluster.leader_for_partition(at)
            if leader is not None and leader >= 0:
                leaders[leader][at.topic].append((at.partition, built))
        return (self._produce_to(node, list(topics.items())) for node, topics in leaders.items())

    async def _produce_to(self, node: int, topics: list[Any]) -> dict[TopicPartition, int]:
        request = ProduceRequest(self.transactional_id, -1, REQUEST_TIMEOUT_MS, topics)
        answer = await self._client.send(node, request)
        offsets = {}
        for topic, partitions in answer.topics:
            for partition, code, offset, *_ in partitions:
                if for_code(code) not in MOVED:
                    _check(code)
                    offsets[TopicPartition(topic, partition)] = offset
        return offsets

    async def commit(self) -> None:
        """Everything stands, or after an error nobody knows."""
        await self._end(committed=True)

    async def abort(self) -> None:
        """Nothing stands."""
        await self._end(committed=False)

    async def _end(self, committed: bool) -> None:
        request = EndTxnRequest(self.transactional_id, *self._producer, committed)
        _check((await self._ask(request)).error_code)
        self.is_open = False

    async def _ask(self, request: Any) -> Any:
        """A request to the coordinator."""
        group = ConnectionGroup.COORDINATION
        return await self._client.send(self._coordinator, request, group=group)

    async def close(self) -> None:
        """Disconnects, which ends every request under way."""
        await self._client.close()


def _check(code: int) -> None:
    """Raises the error a code stands for."""
    error: type[KafkaError] = for_code(code)
    if error is not NoError:
        raise error()
