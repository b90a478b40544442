"""Copies the records of a topic to where they belong, exactly once (for `repartition`).

Each batch is one Kafka transaction together with the record that says how far the copying is. A
copier that is killed leaves whole transactions; the next one fences it and continues from there.
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
from streams.kafka.client.aiokafka_internals import KafkaConsumer, RawRecord
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.transaction import Transactions
from streams.kafka.transport.follower import FETCH_BYTES, written_to
from streams.kafka.transport.writer import BATCH_BYTES, Batches

AT_ONCE = 10_000
"""Records that are fetched of a partition at once, and copied in a transaction at most."""
BYTES = 8_000_000
"""Bytes of keys and values after which a transaction ends."""
FETCH_MS = 20
"""Between two looks at where a partition stands: past its last record a fetch finds only the marks
of transactions, which the consumer passes over without a word."""
ENDED_WITHIN = 60.0
"""Seconds for transactions of others to end, in a topic that takes no records any more."""
COMPRESSION = "zstd"
EMPTY = 50_000
"""Records without anything in one batch."""


BACK = 256
"""Offsets before an end in which its last record is looked for first."""


class Found(NamedTuple):
    """A record, and the partition that it was read from."""

    partition: int
    record: RawRecord


class Copy(NamedTuple):
    """A record on its way to a partition. `timestamp` in milliseconds."""

    partition: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Sequence[tuple[str, bytes]] = ()


Spans = dict[int, list[tuple[int, int]]]
"""Partition -> where its records were written: first offset and the one after the last, in order.
"""


class Reader:
    """Reads topics up to fixed offsets, all partitions together in the order of their time."""

    def __init__(self, settings: KafkaSettings, isolation: str = "read_committed") -> None:
        self._consumer: Any = KafkaConsumer(
            raw=True,
            isolation_level=isolation,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            max_partition_fetch_bytes=FETCH_BYTES,
            fetch_max_wait_ms=100,
            **settings.client(),
        )

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._consumer.stop()

    async def bounds(self, topic: str, partitions: int) -> dict[int, tuple[int, int]]:
        """Where each partition begins and ends now, once no transaction is open before there.

        Raises:
            ConfigurationError: one stays open.
        """
        every = [TopicPartition(topic, number) for number in range(partitions)]
        deadline = monotonic() + ENDED_WITHIN
        await self._know(topic, partitions)
        begins = await self._consumer.beginning_offsets(every)
        written = {at: await written_to(self._consumer, at) for at in every}
        while True:
            ends = await self._consumer.end_offsets(every)
            left = [at for at in every if ends[at] < written[at]]
            if not left:
                return {at.partition: (begins[at], written[at]) for at in every}
            if monotonic() > deadline:
                raise ConfigurationError(
                    f"topic {topic}, partition {left[0].partition}: a transaction that began at "
                    f"{ends[left[0]]} does not end; end its producer, and call this again; "
                    'docs/recovery.md, "A transaction that never ends"'
                )
            await asyncio.sleep(0.2)

    async def after_last(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        """The offset after the last committed record of each range that has one."""
        after: dict[int, int] = {}
        back = BACK
        left = dict(ranges)
        while left:
            spans = {n: (max(begin, end - back), end) for n, (begin, end) in left.items()}
            async for found, _ in self.read(topic, spans):
                after[found.partition] = found.record.offset + 1
            left = {n: left[n] for n in left if n not in after and spans[n][0] > left[n][0]}
            back *= 16
        return after

    async def _know(self, topic: str, partitions: int) -> None:
        """Learns where its partitions are; it may be a new one under an old name."""
        client = self._consumer.client
        deadline = monotonic() + ENDED_WITHIN
        await client.set_topics([topic])
        while True:
            await client.force_metadata_update()
            known = client.cluster.available_partitions_for_topic(topic) or ()
            if len(known) >= partitions or monotonic() > deadline:
                return
            await asyncio.sleep(0.05)

    async def read(
        self, topic: str, ranges: Mapping[int, tuple[int, int]]
    ) -> AsyncGenerator[tuple[Found, Mapping[int, int]], None]:
        """The committed records of these ranges, by partition, oldest first: those of a partition
        in their order. With each the offsets after it, by partition."""
        ends = {TopicPartition(topic, n): end for n, (start, end) in ranges.items() if start < end}
        if not ends:
            return
        self._consumer.assign(list(ends))
        for at in ends:
            self._consumer.seek(at, ranges[at.partition][0])
        waiting: dict[TopicPartition, deque[RawRecord]] = {at: deque() for at in ends}
        heap: list[tuple[int, int, TopicPartition]] = []
        passed = {number: start for number, (start, _) in ranges.items()}
        await self._fill(waiting, ends, list(ends))
        heap = [(some[0].timestamp, at.partition, at) for at, some in waiting.items() if some]
        heapify(heap)
        while heap:
            _, number, at = heappop(heap)
            record = waiting[at].popleft()
            if not waiting[at]:
                await self._fill(waiting, ends, [at])
            if some := waiting[at]:
                # in the order of the partition, whatever a clock said
                heappush(heap, (max(record.timestamp, some[0].timestamp), number, at))
            passed[number] = record.offset + 1
            yield Found(number, record), passed
        self._consumer.unsubscribe()  # nothing is fetched that nobody reads

    async def has_records(self, topic: str, ranges: Mapping[int, tuple[int, int]]) -> bool:
        """Whether a committed record is in these ranges: marks of transactions are none."""
        async with aclosing(self.read(topic, ranges)) as reading:
            async for _ in reading:
                self._consumer.unsubscribe()
                return True
        return False

    async def _fill(
        self,
        waiting: dict[TopicPartition, deque[RawRecord]],
        ends: Mapping[TopicPartition, int],
        empty: Collection[TopicPartition],
    ) -> None:
        """Fetches until each of these has records, or is read to its end."""
        left = list(empty)
        while left:
            found = await self._consumer.getmany(*left, timeout_ms=FETCH_MS, max_records=AT_ONCE)
            for at, records in found.items():
                waiting[at].extend(one for one in records if one.offset < ends[at])
            left = [
                at
                for at in left
                if not waiting[at] and await self._consumer.position(at) < ends[at]
            ]


class Writer:
    """Writes copies and how far the copying is, in one transaction."""

    def __init__(self, settings: KafkaSettings, name: str, state: TopicPartition) -> None:
        self._transactions = Transactions(name, settings.client(), timeout=60.0)
        self._state = state

    async def start(self) -> None:
        """Fences every older writer of that name, and waits until its transaction has ended."""
        await self._transactions.start()
        await self._transactions.know([self._state.topic])

    async def close(self) -> None:
        await self._transactions.close()

    async def write(
        self, topic: str, copies: Sequence[Copy], state: Callable[[Spans], bytes]
    ) -> None:
        """`state` is asked what to note once it is known where the copies lie."""
        known = self._transactions
        begin = partial(known.batch, COMPRESSION, BATCH_BYTES)
        found: dict[int, Batches] = {}
        for one in copies:
            batches = found.get(one.partition)
            if batches is None:
                batches = found[one.partition] = Batches(begin)
            headers = list(one.headers)
            if batches.append(batches.count, one.timestamp, one.key, one.value, headers) is None:
                batches.next()(0, one.timestamp, one.key, one.value, headers)
            batches.count += 1
        by_place = {TopicPartition(topic, number): one.all() for number, one in found.items()}
        if found:
            await known.know([topic])
        await known.add([*by_place, self._state])
        spans: Spans = {}
        for some in zip_longest(*by_place.values()):
            turn = {at: one for at, one in zip(by_place, some, strict=True) if one is not None}
            for at, first in (await known.send(turn)).items():
                spans.setdefault(at.partition, []).append((first, first + turn[at][1]))
        note = begin()
        note.append(0, 0, b"state", state(spans), [])
        await known.send({self._state: (note, 1)})
        await known.commit()

    async def pad(self, topic: str, lengths: Mapping[int, int]) -> None:
        """Makes partitions at least so long with records that nobody sees: their transaction is
        aborted."""
        known = self._transactions
        await known.know([topic])
        left = {n: length for n, length in lengths.items() if length > 0}
        if not left:
            return
        await known.add([TopicPartition(topic, number) for number in left])
        while left:
            turn = {}
            for number, length in left.items():
                batch, count = known.batch(COMPRESSION, BATCH_BYTES), 0
                while count < min(length, EMPTY) and batch.append(count, 0, None, None, []):
                    count += 1
                turn[TopicPartition(topic, number)] = (batch, count)
            await known.send(turn)
            for at, (_, count) in turn.items():
                left[at.partition] -= count
            left = {number: length for number, length in left.items() if length > 0}
        await known.abort()

    async def is_refused(self, at: TopicPartition, size: int) -> bool:
        """Whether a partition takes no record of that size; nobody sees it if it does. The writer
        is of no more use after a refusal."""
        known = self._transactions
        await known.know([at.topic])
        await known.add([at])
        batch = known.batch(None, BATCH_BYTES)
        batch.append(0, 0, None, bytes(size), [])
        try:
            await known.send({at: (batch, 1)})
        except MessageSizeTooLargeError:
            return True
        finally:
            await known.abort()
        return False
