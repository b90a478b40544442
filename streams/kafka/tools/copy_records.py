"""Copies the records of a topic to their new partitions, exactly once (for `repartition`).

Each batch is one Kafka transaction together with a record of the progress. A killed copier leaves
only complete transactions; the next one fences it and continues.
"""

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, Callable, Collection, Mapping, Sequence
from contextlib import aclosing
from functools import partial
from heapq import heapify, heappop, heappush
from itertools import zip_longest
from time import monotonic
from typing import Any, NamedTuple, Self

from aiokafka.errors import MessageSizeTooLargeError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.aiokafka_internals import KafkaConsumer, RawMessage
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.transaction import Transactions
from streams.kafka.transport.changelog_reader import FETCH_BYTES, written_to
from streams.kafka.transport.writer import BATCH_BYTES, RecordBatches

AT_ONCE = 10_000
"""Maximum records per fetch of a partition, and per transaction."""
BYTES = 8_000_000
"""Bytes of keys and values after which a transaction ends."""
FETCH_MS = 20
"""Milliseconds between checks of a partition's position: after its last record a fetch only finds
control records, which the consumer skips silently."""
ENDED_WITHIN = 60.0
"""Seconds for other transactions to end, in a topic that is closed for producers."""
COMPRESSION = "zstd"
EMPTY = 50_000
"""Empty records per batch."""


BACK = 256
"""Offsets before the end that are searched first for the last record."""


class PartitionMessage(NamedTuple):
    """A message and its partition."""

    partition: int
    record: RawMessage


class Copy(NamedTuple):
    """A record to write to a partition. `timestamp` in milliseconds."""

    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


Spans = dict[int, list[tuple[int, int]]]
"""Partition -> where its records were written: first offset and the one after the last, in order.
"""


class TopicReader:
    """Reads topics up to fixed offsets, all partitions merged by time."""

    def __init__(self, settings: KafkaSettings, isolation: str = "read_committed") -> None:
        self._consumer: Any = KafkaConsumer(
            raw=True,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=100,
            **{**settings.client(), "keys": None},  # copies stay encrypted
        )

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def bounds(self, topic: str, partitions: int) -> dict[int, tuple[int, int]]:
        """Start and end offsets of each partition, once all transactions before the end are
        complete.

        Raises:
            ConfigurationError: a transaction stays open.
        """
        tps = [TopicPartition(topic, number) for number in range(partitions)]
        deadline = monotonic() + ENDED_WITHIN
        await self._load_partitions(topic, partitions)
        begins = await self._consumer.beginning_offsets(tps)
        written = {tp: await written_to(self._consumer, tp) for tp in tps}
        while True:
            ends = await self._consumer.end_offsets(tps)
            pending = [tp for tp in tps if ends[tp] < written[tp]]
            if not pending:
                return {tp.partition: (begins[tp], written[tp]) for tp in tps}
            if monotonic() > deadline:
                raise ConfigurationError(
                    f"topic {topic}, partition {pending[0].partition}: a transaction that started "
                    f"at {ends[pending[0]]} does not end; stop its producer, and run the command "
                    "again; "
                    'docs/recovery.md, "A transaction that never ends"'
                )
            await asyncio.sleep(0.2)

    async def after_last(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """Offset after the last committed record of each range that has one."""
        after: dict[int, int] = {}
        distance = BACK
        pending = dict(ranges)
        while pending:
            spans = {n: (max(begin, end - distance), end) for n, (begin, end) in pending.items()}
            async for message, _ in self.read(topic, spans):
                after[message.partition] = message.record.offset + 1
            pending = {
                n: pending[n] for n in pending if n not in after and spans[n][0] > pending[n][0]
            }
            distance *= 16
        return after

    async def _load_partitions(self, topic: str, partitions: int) -> None:
        """Loads the partitions and leaders; a recreated topic may have new ones."""
        client = self._consumer.client
        deadline = monotonic() + ENDED_WITHIN
        await client.set_topics([topic])
        while True:
            await client.force_metadata_update()
            available = client.cluster.available_partitions_for_topic(topic) or ()
            if len(available) >= partitions or monotonic() > deadline:
                return
            await asyncio.sleep(0.05)

    async def read(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> AsyncGenerator[tuple[PartitionMessage, Mapping[int, int]], None]:
        """Yields the committed records of these ranges, oldest first, in partition order; each with
        the next offsets by partition."""
        ends = {TopicPartition(topic, n): end for n, (start, end) in ranges.items() if start < end}
        if not ends:
            return
        self._consumer.assign(list(ends))
        for tp in ends:
            self._consumer.seek(tp, ranges[tp.partition][0])
        waiting: dict[TopicPartition, deque[RawMessage]] = {tp: deque() for tp in ends}
        heap: list[tuple[int, int, TopicPartition]] = []
        next_offsets = {number: start for number, (start, _) in ranges.items()}
        await self._fill(waiting, ends, list(ends))
        heap = [(queue[0].timestamp, tp.partition, tp) for tp, queue in waiting.items() if queue]
        heapify(heap)
        while heap:
            _, number, tp = heappop(heap)
            message = waiting[tp].popleft()
            if not waiting[tp]:
                await self._fill(waiting, ends, [tp])
            if queue := waiting[tp]:
                # in partition order, even if timestamps go back
                heappush(heap, (max(message.timestamp, queue[0].timestamp), number, tp))
            next_offsets[number] = message.offset + 1
            yield PartitionMessage(number, message), next_offsets
        self._consumer.unsubscribe()  # stops fetching

    async def has_records(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> bool:
        """Whether these ranges have a committed record; control records do not count."""
        async with aclosing(self.read(topic, ranges)) as reading:
            async for _ in reading:
                self._consumer.unsubscribe()
                return True
        return False

    async def _fill(
        self,
        waiting: dict[TopicPartition, deque[RawMessage]],
        ends: Mapping[TopicPartition, int],
        empty: Collection[TopicPartition],
    ) -> None:
        """Fetches until each of these partitions has records, or is at its end."""
        pending = list(empty)
        while pending:
            fetched = await self._consumer.getmany(
                *pending, timeout_ms=FETCH_MS, max_records=AT_ONCE
            )
            for tp, messages in fetched.items():
                waiting[tp].extend(message for message in messages if message.offset < ends[tp])
            pending = [
                tp
                for tp in pending
                if not waiting[tp] and await self._consumer.position(tp) < ends[tp]
            ]


class CopyWriter:
    """Writes copies and the progress in one transaction."""

    def __init__(self, settings: KafkaSettings, name: str, state: TopicPartition) -> None:
        self._transactions = Transactions(name, settings.client(), timeout=60.0)
        self._state = state

    async def start(self) -> None:
        """Fences older writers of that name, and waits until their transaction has ended."""
        await self._transactions.start()
        await self._transactions.load_partitions([self._state.topic])

    async def close(self) -> None:
        await self._transactions.close()

    async def write(
        self, topic: str, copies: Sequence[Copy], state: Callable[[Spans], bytes]
    ) -> None:
        """Calls `state` for the progress record once the offsets of the copies are known."""
        transactions = self._transactions
        begin = partial(transactions.batch, COMPRESSION, BATCH_BYTES)
        by_partition: dict[int, RecordBatches] = {}
        for copy in copies:
            batches = by_partition.get(copy.partition)
            if batches is None:
                batches = by_partition[copy.partition] = RecordBatches(begin)
            batches.add(copy.timestamp, copy.key, copy.value, list(copy.headers))
        to_send = {TopicPartition(topic, n): batches.all() for n, batches in by_partition.items()}
        if to_send:
            await transactions.load_partitions([topic])
        await transactions.add([*to_send, self._state])
        spans: Spans = {}
        for group in zip_longest(*to_send.values()):
            request = {
                tp: batch for tp, batch in zip(to_send, group, strict=True) if batch is not None
            }
            for tp, first in (await transactions.send(request)).items():
                spans.setdefault(tp.partition, []).append((first, first + request[tp][1]))
        note = begin()
        note.append(0, 0, b"state", state(spans), [])
        await transactions.send({self._state: (note, 1)})
        await transactions.commit()

    async def pad(self, topic: str, lengths: Mapping[int, int]) -> None:
        """Extends partitions to these lengths with records of an aborted transaction."""
        transactions = self._transactions
        await transactions.load_partitions([topic])
        remaining = {n: length for n, length in lengths.items() if length > 0}
        if not remaining:
            return
        await transactions.add([TopicPartition(topic, number) for number in remaining])
        while remaining:
            request = {}
            for number, length in remaining.items():
                batch, count = transactions.batch(COMPRESSION, BATCH_BYTES), 0
                while count < min(length, EMPTY) and batch.append(count, 0, None, None, []):
                    count += 1
                request[TopicPartition(topic, number)] = (batch, count)
            await transactions.send(request)
            for tp, (_, count) in request.items():
                remaining[tp.partition] -= count
            remaining = {number: length for number, length in remaining.items() if length > 0}
        await transactions.abort()

    async def is_refused(self, tp: TopicPartition, size: int) -> bool:
        """Whether a partition rejects a record of that size; an accepted one is aborted. After a
        rejection the writer is unusable."""
        transactions = self._transactions
        await transactions.load_partitions([tp.topic])
        await transactions.add([tp])
        batch = transactions.batch(None, BATCH_BYTES)
        batch.append(0, 0, None, bytes(size), [])
        try:
            await transactions.send({tp: (batch, 1)})
        except MessageSizeTooLargeError:
            return True
        finally:
            await transactions.abort()
        return False
