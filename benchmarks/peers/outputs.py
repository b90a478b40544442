"""What a peer has put out, as a reader under `read_committed` sees it."""

import asyncio
from bisect import bisect_left
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import Any, NamedTuple, Self

from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewTopic

from benchmarks.peers import job

FETCH_BYTES = 4 * 1024 * 1024


async def create(bootstrap: str, *topics: str) -> None:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.create_topics([NewTopic(topic, job.PARTITIONS, 1) for topic in topics])
    while not all(one["partitions"] for one in await admin.describe_topics(list(topics))):
        await asyncio.sleep(0.1)  # a broker needs a moment until it shows what it has created
    await admin.close()


async def delete(bootstrap: str, mark: str) -> None:
    """Drops all topics whose name holds `mark`: a peer's own changelogs too."""
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap)
    await admin.start()
    await admin.delete_topics([topic for topic in await admin.list_topics() if mark in topic])
    await admin.close()


class Found(NamedTuple):
    """The `offsets` of the outputs by partition, and the `last` context of each session."""

    offsets: list[list[int]]
    last: dict[str, job.Context]

    @property
    def total(self) -> int:
        return sum(len(offsets) for offsets in self.offsets)

    def before(self, ends: Sequence[int]) -> int:
        """How many outputs stand before these offsets; control records are none."""
        found = zip(self.offsets, ends, strict=True)
        return sum(bisect_left(offsets, end) for offsets, end in found)


class Outputs:
    """Reads one output topic."""

    def __init__(self, bootstrap: str, topic: str) -> None:
        self._at = [TopicPartition(topic, number) for number in range(job.PARTITIONS)]
        self._consumer = AIOKafkaConsumer(
            bootstrap_servers=bootstrap, isolation_level="read_committed",
            enable_auto_commit=False, max_partition_fetch_bytes=FETCH_BYTES,
        )  # fmt: skip

    async def __aenter__(self) -> Self:
        await self._consumer.start()
        self._consumer.assign(self._at)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:  # fmt: skip
        await self._consumer.stop()

    async def ends(self) -> tuple[int, ...]:
        """Where the committed part of each partition ends: cheap, but control records count."""
        found = await self._consumer.end_offsets(self._at)
        return tuple(found[at] for at in self._at)

    async def read(self) -> AsyncIterator[Sequence[Any]]:
        """All records up to `ends`, by the handful. They need the consumer's pauses: a partition
        that is read whole would be fetched again and again."""
        ends = dict(zip(self._at, await self.ends(), strict=True))
        await self._consumer.seek_to_beginning(*self._at)
        open_ = {at for at, end in ends.items() if end}
        while open_:
            fetched = await self._consumer.getmany(*open_, timeout_ms=100)
            for records in fetched.values():
                yield records
            open_ = {at for at in open_ if await self._consumer.position(at) < ends[at]}

    async def found(self) -> Found:
        """All outputs, read now."""
        offsets: list[list[int]] = [[] for _ in self._at]
        last: dict[bytes, bytes] = {}
        async for records in self.read():
            offsets[records[0].partition] += [record.offset for record in records]
            last.update((record.key, record.value) for record in records)
        return Found(offsets, _by_session(last.values()))


def _by_session(rows: Iterable[bytes]) -> dict[str, job.Context]:
    contexts = map(job.decode_row, rows)
    return {context.session_id: context for context in contexts}


def fold(contexts: dict[str, job.Context], value: bytes) -> job.Context:
    """What a turn's output should be, by the job itself; `contexts` by session."""
    turn = job.decode(value)
    context = contexts[turn.session_id] = job.apply(contexts.get(turn.session_id), turn)
    return context
