"""An assigned partition of `turns`: its open groups and settled offsets."""

import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.folds.effects import Input
from streams.kafka.agents.validation import validate
from streams.llm.debounce import Debounce, Turn, speaks
from streams.llm.offset_tracker import OffsetTracker, from_commit
from streams.llm.settings import LlmSettings
from streams.observability.logs import place
from streams.topology import TURNS

log = logging.getLogger(__name__)

REPEATS = 50_000
"""Ids of turns remembered to skip repeats."""


@dataclass(slots=True, eq=False)
class Part:
    """The state of a partition. `committed`: offset and metadata of the last commit. `ahead`:
    fetched records that the worker has not folded yet. `heard_at`: time of the last record
    (monotonic)."""

    at: TopicPartition
    offsets: OffsetTracker
    debounce: Debounce
    committed: tuple[int, str] = (-1, "")
    ahead: deque[Any] = field(default_factory=deque)
    heard_at: float = field(default_factory=time.monotonic)
    _seen: dict[tuple[str, str, str], None] = field(default_factory=dict)

    def folded(self, end: int | None) -> Iterator[Any]:
        """Takes the records before an offset, or all, from `ahead`, until the offsets are full."""
        while (
            self.ahead and not self.offsets.is_full and (end is None or self.ahead[0].offset < end)
        ):
            yield self.ahead.popleft()

    @property
    def unsettled(self) -> int:
        """Number of fetched offsets that are not settled."""
        return self.offsets.next - self.offsets.committed + len(self.ahead)

    def is_repeat(self, turn: Turn) -> bool:
        """Whether this turn was read before."""
        key = (turn.tenant, turn.session_id, turn.event_id)
        if key in self._seen:
            return True
        self._seen[key] = None
        if len(self._seen) > REPEATS:
            del self._seen[next(iter(self._seen))]
        return False


def part_of(
    at: TopicPartition,
    commit: OffsetAndMetadata | None,
    begin: int,
    start: int,
    settings: LlmSettings,
) -> Part:
    """Continues at the group's commit. `begin`: the log's start offset; `start`: the offset without
    a commit."""
    offsets = OffsetTracker(start)
    if commit is not None and commit.offset >= 0:
        offsets = from_commit(commit.offset, commit.metadata or "")
    if offsets.next < begin:
        log.warning(
            "%s/%d: offsets %d to %d are no longer in the log", *at, offsets.next, begin - 1,
            extra=place(at, offsets.next),
        )  # fmt: skip
        offsets = OffsetTracker(begin, recorded_at=offsets.recorded_at)
    part = Part(at, offsets, Debounce(settings.turns, settings.idle))
    if commit is not None:
        part.committed = position(commit)
    return part


def position(commit: OffsetAndMetadata) -> tuple[int, str]:
    """A commit in the form of `Part.committed`."""
    return commit.offset, commit.metadata or ""


def turn_of(record: Any, partitions: int, settings: LlmSettings, recorded_at: int) -> Turn | None:
    """Converts a record; None without a user's words. Invalid records are left to the worker, which
    writes dead letters. `recorded_at`: append time (milliseconds)."""
    decoded = validate(record, partitions, TURNS.name)
    turn: Any = decoded.record if isinstance(decoded, Input) else None
    if turn is None or turn.type != "turn" or not speaks(turn, settings.sources):
        return None
    return Turn(
        turn.tenant,
        turn.session_id,
        turn.user_id,
        turn.event_id,
        turn.occurred_at,
        recorded_at * 1000,
        turn.source,
        turn.user_input,
        turn.agent_answer,
        record.offset,
    )
