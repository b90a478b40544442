"""A partition of `turns`, as long as it is ours: what gathers, and how far it is settled."""

import logging
import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aiokafka.structs import OffsetAndMetadata, TopicPartition

from streams.folds.rows import Input
from streams.kafka.agents.validation import validate
from streams.llm.groups import Debounce, Turn, speaks
from streams.llm.reach import Reach, of_commit
from streams.llm.settings import LlmSettings
from streams.observing.logs import place
from streams.topology import TURNS

log = logging.getLogger(__name__)

REPEATS = 50_000
"""Turns remembered by id: one that was sent again is not asked about again."""


@dataclass(slots=True, eq=False)
class Part:
    """`told`: the offset and metadata that the group knows. `ahead`: records that were fetched, and
    that a worker has not folded yet. `heard_at`: when the last record came (monotonic)."""

    at: TopicPartition
    reach: Reach
    debounce: Debounce
    told: tuple[int, str] = (-1, "")
    ahead: deque[Any] = field(default_factory=deque)
    heard_at: float = field(default_factory=time.monotonic)
    _seen: dict[tuple[str, str, str], None] = field(default_factory=dict)

    def folded(self, end: int | None) -> Iterator[Any]:
        """Takes the records before an offset, or all, out of those `ahead`, as long as there is
        room for them."""
        while self.ahead and not self.reach.is_full and (end is None or self.ahead[0].offset < end):
            yield self.ahead.popleft()

    @property
    def unsettled(self) -> int:
        """Offsets that were fetched and are not settled."""
        return self.reach.next - self.reach.committed + len(self.ahead)

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
    """Where the group left it. `begin`: of the log; `start`: if it has committed nothing."""
    reach = Reach(start)
    if commit is not None and commit.offset >= 0:
        reach = of_commit(commit.offset, commit.metadata or "")
    if reach.next < begin:
        log.warning(
            "%s/%d: offsets %d to %d have left the log", *at, reach.next, begin - 1,
            extra=place(at, reach.next),
        )  # fmt: skip
        reach = Reach(begin, recorded_at=reach.recorded_at)
    part = Part(at, reach, Debounce(settings.turns, settings.idle))
    if commit is not None:
        part.told = stand(commit)
    return part


def stand(commit: OffsetAndMetadata) -> tuple[int, str]:
    """What a commit says, as `Part.told` has it."""
    return commit.offset, commit.metadata or ""


def turn_of(record: Any, partitions: int, settings: LlmSettings, recorded_at: int) -> Turn | None:
    """None for what is no turn in which a user speaks; faults are the worker's to bury.
    `recorded_at`: when the log took it (milliseconds)."""
    given = validate(record, partitions, TURNS.name)
    said: Any = given.record if isinstance(given, Input) else None
    if said is None or said.type != "turn" or not speaks(said, settings.sources):
        return None
    return Turn(
        said.tenant,
        said.session_id,
        said.user_id,
        said.event_id,
        said.occurred_at,
        recorded_at * 1000,
        said.source,
        said.user_input,
        said.agent_answer,
        record.offset,
    )
