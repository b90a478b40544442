"""The copying of `turnfold kafka repartition`: batch by batch, each with a note of its progress."""

from collections.abc import Callable, Mapping
from time import monotonic

import msgspec
from aiokafka.structs import TopicPartition

from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import STATE
from streams.kafka.tools.copying import AT_ONCE, BYTES, Copy, Found, Reader, Spans, Writer
from streams.kafka.tools.repartition_plan import STAGING, State

TELL_EVERY = 2.0
Say = Callable[[str], None]


def quiet(text: str) -> None:
    """Nobody listens."""


class Copying:
    """`observe` hears of each transaction, `say` every two seconds of how long it still takes."""

    def __init__(
        self, settings: KafkaSettings, state: State, say: Say = quiet, observe: Say = quiet
    ) -> None:
        self.settings, self.state = settings, state
        self._say, self._observe = say, observe
        self._told = self._began = monotonic()
        self._copied_before = state.copied
        self._writer = self._new_writer("copies")
        self._reader = Reader(settings)

    def _new_writer(self, name: str) -> Writer:
        return Writer(self.settings, f"{STATE}-{name}", TopicPartition(STATE, 0))

    async def _save(self) -> None:
        await self._writer.write("", [], lambda spans: msgspec.json.encode(self.state))

    async def _copy(
        self,
        topic: str,
        ranges: Mapping[int, tuple[int, int]],
        to: str,
        place: Callable[[Found], Copy | None],
        at_is: int | None = None,
    ) -> None:
        """The records of these ranges, each batch with the note of how far it is: the next offset
        by partition in `at`, under another number if one is given."""
        copies: list[Copy] = []
        size = read = 0
        passed: Mapping[int, int] = {}
        async for found, passed in self._reader.read(topic, ranges):
            read += 1
            if (one := place(found)) is not None:
                copies.append(one)
                size += len(one.value or b"") + len(one.key or b"")
            if read >= AT_ONCE or size >= BYTES:
                await self._commit(to, copies, passed, read, at_is)
                copies, size, read = [], 0, 0
        if read:
            await self._commit(to, copies, passed, read, at_is)

    async def _commit(
        self,
        to: str,
        copies: list[Copy],
        passed: Mapping[int, int],
        read: int,
        at_is: int | None,
    ) -> None:
        state = self.state
        watched = state.step == "back" and bool(state.padded)

        def noted(spans: Spans) -> bytes:
            if watched:
                self._look_for_strays(spans)
            state.at |= passed if at_is is None else {at_is: max(passed.values())}
            state.copied += read
            if to.endswith(STAGING):
                state.staged += len(copies)
            elif at_is is None:
                state.returned += len(copies)
            return msgspec.json.encode(state)

        await self._writer.write(to, copies, noted)
        self._observe(f"{to} copied")
        self._tell()

    def _look_for_strays(self, spans: Spans) -> None:
        """Between our own records only the marks of our transactions may lie."""
        state = self.state
        for number, some in spans.items():
            ours, allowed = self._ours_to(number), state.known[number]
            for first, end in some:
                if first > allowed:
                    state.strays.append((number, ours, first))
                ours = allowed = end
            state.known[number] = ours + 1  # the transaction's mark

    def _ours_to(self, number: int) -> int:
        """The offset behind our last record; the mark of our transaction comes behind it."""
        known = self.state.known[number]
        return known if known == self.state.padded[number] else known - 1

    def _tell(self) -> None:
        now = monotonic()
        if now - self._told < TELL_EVERY:
            return
        self._told = now
        state = self.state
        whole = 2 * sum(one.offsets for one in state.topics if one.moved)
        fresh = state.copied - self._copied_before
        left = (now - self._began) * max(0, whole - state.copied) / fresh if fresh else 0.0
        self._say(
            f"{state.topics[state.number].name}: {state.step}; {state.copied:,} of about "
            f"{whole:,} records copied, {left:.0f} s to go"
        )
