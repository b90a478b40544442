"""Batchwise copying of `turnfold kafka repartition`, each batch with its progress."""

from collections.abc import Callable, Mapping
from time import monotonic

import msgspec
from aiokafka.structs import TopicPartition

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import STATE
from streams.kafka.tools.copy_records import (
    AT_ONCE,
    BYTES,
    Copy,
    CopyWriter,
    PartitionMessage,
    Spans,
    TopicReader,
)
from streams.kafka.tools.repartition_plan import STAGING, RepartitionState

REPORT_EVERY = 2.0
Say = Callable[[str], None]


def quiet(text: str) -> None:
    """Ignores progress lines."""


class Copying:
    """`observe` receives each transaction, `say` a progress line every two seconds."""

    def __init__(
        self,
        settings: KafkaSettings,
        state: RepartitionState,
        say: Say = quiet,
        observe: Say = quiet,
    ) -> None:
        self.settings, self.state = settings, state
        self._say, self._observe = say, observe
        self._reported_at = self._began = monotonic()
        self._copied_before = state.copied
        self._writer = self._new_writer("copies")
        self._reader = TopicReader(settings)

    def _new_writer(self, name: str) -> CopyWriter:
        return CopyWriter(self.settings, f"{STATE}-{name}", TopicPartition(STATE, 0))

    async def _save(self) -> None:
        await self._writer.write("", [], lambda spans: msgspec.json.encode(self.state))

    async def _copy(
        self,
        topic: str,
        ranges: Mapping[int, tuple[int, int]],
        to: str,
        place: Callable[[PartitionMessage], Copy | None],
        at_is: int | None = None,
    ) -> None:
        """Copies the records of these ranges, each batch with its progress: the next offset by
        partition in `at`, or under `at_is` if given."""
        copies: list[Copy] = []
        size = count = 0
        next_offsets: Mapping[int, int] = {}
        async for message, next_offsets in self._reader.read(topic, ranges):
            count += 1
            if (copy := place(message)) is not None:
                copies.append(copy)
                size += len(copy.value or b"") + len(copy.key or b"")
            if count >= AT_ONCE or size >= BYTES:
                await self._commit(to, copies, next_offsets, count, at_is)
                copies, size, count = [], 0, 0
        if count:
            await self._commit(to, copies, next_offsets, count, at_is)

    async def _commit(
        self,
        to: str,
        copies: list[Copy],
        next_offsets: Mapping[int, int],
        count: int,
        at_is: int | None,
    ) -> None:
        state = self.state
        watched = state.step == "back" and bool(state.padded)

        def noted(spans: Spans) -> bytes:
            if watched:
                self._look_for_strays(spans)
            state.at |= next_offsets if at_is is None else {at_is: max(next_offsets.values())}
            state.copied += count
            if to.endswith(STAGING):
                state.staged += len(copies)
            elif at_is is None:
                state.returned += len(copies)
            return msgspec.json.encode(state)

        await self._writer.write(to, copies, noted)
        self._observe(f"{to} copied")
        self._report()

    def _look_for_strays(self, spans: Spans) -> None:
        """Finds foreign records between the copies, where only control records of our transactions
        are expected."""
        state = self.state
        for number, ranges in spans.items():
            own_end, allowed = self._own_end(number), state.known[number]
            for first, end in ranges:
                if first > allowed:
                    state.strays.append((number, own_end, first))
                own_end = allowed = end
            state.known[number] = own_end + 1  # the control record

    def _own_end(self, number: int) -> int:
        """Offset after our last record; the control record of our transaction follows."""
        own_end = self.state.known[number]
        return own_end if own_end == self.state.padded[number] else own_end - 1

    def _report(self) -> None:
        now = monotonic()
        if now - self._reported_at < REPORT_EVERY:
            return
        self._reported_at = now
        state = self.state
        total = 2 * sum(topic.offsets for topic in state.topics if topic.moved)
        copied = state.copied - self._copied_before
        seconds = (now - self._began) * max(0, total - state.copied) / copied if copied else 0.0
        self._say(
            f"{state.topics[state.number].name}: {state.step}; {state.copied:,} of about "
            f"{total:,} records copied, {seconds:.0f} s to go"
        )
