"""An assigned partition of `turns`: its open groups and settled offsets.

A turn is settled when it needs no request, or when its group's record is written. The committed
offset is that of the oldest unsettled turn; the metadata of the commit has the settled offsets
after it, so that their turns are not sent again.
"""

import logging
import time
from base64 import b64decode, b64encode
from collections import deque
from collections.abc import Iterable, Iterator
from typing import Any

from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.folds.effects import Input
from streams.kafka.agents.validation import validate
from streams.llm.debounce import Debounce, Turn, speaks
from streams.llm.settings import LlmSettings
from streams.observability.logs import place
from streams.topology import TURNS

log = logging.getLogger(__name__)

REPEATS = 50_000
"""Ids of turns remembered to skip repeats."""
ROOM = 22_000
"""Offsets from the committed one on, beyond which reading waits: at one bit each, in base64, they
fit into a commit's metadata, which brokers limit to 4096 characters by default."""
SETTLED = "settled:"
"""Prefix of the metadata; metadata of other tools is ignored."""


class Part:
    """The state of a partition, from offset `start` on. `committed`: offset and metadata of the
    last commit. `ahead`: fetched records that the worker has not folded yet. `heard_at`: time of
    the last record (monotonic)."""

    def __init__(
        self,
        at: TopicPartition,
        start: int,
        settings: LlmSettings,
        committed: tuple[int, str] = (-1, ""),
    ) -> None:
        self.at = at
        self.committed = committed
        self.debounce = Debounce(settings.turns, settings.idle)
        self.ahead: deque[Any] = deque()
        self.heard_at = time.monotonic()
        self.next = start
        """The next offset to read."""
        self._settings = settings
        self._open: dict[int, None] = {}  # unsettled offsets, in reading order
        self._settled = _offsets(*committed) if start == committed[0] else set[int]()
        self._recorded_at = 0
        self._seen: dict[tuple[str, str, str], None] = {}

    def read(self, end: int | None) -> Iterator[Any]:
        """Takes the unsettled records before an offset, or all, from `ahead`, until it is full."""
        while self.ahead and not self.is_full and (end is None or self.ahead[0].offset < end):
            record = self.ahead.popleft()
            self.next = record.offset + 1
            if record.offset not in self._settled:
                self._open[record.offset] = None
                yield record

    def turn(self, record: Any, partitions: int) -> Turn | None:
        """Converts a record; None for a repeat, or without a user's words. Invalid records are left
        to the worker, which writes dead letters."""
        # a broker's clock may step back
        self._recorded_at = max(self._recorded_at, record.timestamp)
        decoded = validate(record, partitions, TURNS.name)
        turn: Any = decoded.record if isinstance(decoded, Input) else None
        if turn is None or turn.type != "turn" or not speaks(turn, self._settings.sources):
            return None
        if self._is_repeat((turn.tenant, turn.session_id, turn.event_id)):
            return None
        return Turn(
            turn.tenant,
            turn.session_id,
            turn.user_id,
            turn.event_id,
            turn.occurred_at,
            self._recorded_at * 1000,
            turn.source,
            turn.user_input,
            turn.agent_answer,
            record.offset,
        )

    def _is_repeat(self, key: tuple[str, str, str]) -> bool:
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > REPEATS:
            del self._seen[next(iter(self._seen))]
        return False

    def settle(self, offsets: Iterable[int]) -> None:
        """Marks open offsets as settled."""
        for offset in offsets:
            del self._open[offset]
            self._settled.add(offset)

    @property
    def is_full(self) -> bool:
        """Whether reading must wait for older turns: their offsets could exceed `ROOM`."""
        upcoming = self.ahead[0].offset if self.ahead else self.next
        return bool(self._open) and upcoming - next(iter(self._open)) >= ROOM

    @property
    def unsettled(self) -> int:
        """Number of fetched offsets that are not settled."""
        return self.next - next(iter(self._open), self.next) + len(self.ahead)

    def position(self) -> tuple[int, str]:
        """The offset to commit, before which all are settled, and the settled ones after it."""
        first = next(iter(self._open), self.next)
        self._settled = {offset for offset in self._settled if offset > first}
        if not self._settled:
            return first, ""
        bits = bytearray((max(self._settled) - first) // 8 + 1)
        for offset in self._settled:
            byte, bit = divmod(offset - first, 8)
            bits[byte] |= 1 << bit
        return first, SETTLED + b64encode(bits).decode()


def _offsets(first: int, metadata: str) -> set[int]:
    """The settled offsets in the metadata of a commit."""
    if not metadata.startswith(SETTLED):
        return set()
    bits = b64decode(metadata.removeprefix(SETTLED))
    return {
        first + 8 * number + bit
        for number, byte in enumerate(bits)
        for bit in range(8)
        if byte >> bit & 1
    }


def part_of(
    at: TopicPartition,
    commit: OffsetAndMetadata | None,
    begin: int,
    start: int,
    settings: LlmSettings,
) -> Part:
    """Continues at the group's commit. `begin`: the log's start offset; `start`: the offset without
    a commit."""
    committed = (-1, "") if commit is None else position(commit)
    start = committed[0] if committed[0] >= 0 else start
    if start < begin:
        log.warning(
            "%s/%d: offsets %d to %d are no longer in the log", *at, start, begin - 1,
            extra=place(at, start),
        )  # fmt: skip
        start = begin
    return Part(at, start, settings, committed)


def position(commit: OffsetAndMetadata) -> tuple[int, str]:
    """A commit in the form of `Part.committed`."""
    return commit.offset, commit.metadata or ""
