"""Alternates a lane between its two read passes while tenants are behind (`throttled_tenants`).

    head ── idle, or many batches ──> again ── new messages, or many batches ──> head

Second-pass batches are small, since new messages wait for them. Each second pass folds at least one
batch, so that throttled tenants make progress.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.throttled_tenants import (
    Ahead,
    SetAside,
    ahead_after,
    settled_offsets,
    tail,
    tenant_of,
)

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

AGAIN_RECORDS = 500
"""Messages per batch of the second pass, including messages of other tenants."""
AGAIN_BATCHES = 4
HEAD_BATCHES = 8
"""Maximum batches per pass while the other pass has work."""


class PassStep(NamedTuple):
    """A batch, the offsets before which all is folded, and the records folded beyond."""

    messages: list[Any]
    offsets: dict[str, int]
    ahead: Ahead | None


class Passes:
    """`ahead`: from the newest marker. `again`: second pass. `counted`: number of messages set
    aside."""

    def __init__(self, lane: "Lane", set_aside: SetAside | None) -> None:
        self._lane = lane
        self._set_aside = set_aside
        self.ahead: Ahead | None = None
        self.again = False
        self.counted = 0
        self._batches = 0
        self._fresh = False  # the head has messages
        self._ends: dict[str, int] = {}

    def begin(self, offsets: dict[str, int], ahead: Ahead | None) -> dict[str, int]:
        """Opens at a marker; returns the offsets to read from. If the logs have deleted all
        messages set aside, no tenant is behind any more."""
        self.again, self._batches = False, 0
        if ahead is not None and all(offsets[topic] >= end for topic, end in ahead.offsets.items()):
            ahead = None
        self.ahead = ahead
        if ahead is None:
            return offsets
        return {
            topic: max(offset, ahead.offsets.get(topic, offset))
            for topic, offset in offsets.items()
        }

    def clipped(self, chunk: Chunk) -> Chunk | None:
        """The part of a chunk to queue: the second pass drops messages that the head will read."""
        if not self.again or self.ahead is None:
            return chunk
        until = self.ahead.offsets[chunk.topic]
        if chunk.end <= until:
            return chunk
        self._fresh = self._fresh or any(message.offset >= until for message in chunk.messages)
        if chunk.start >= until:
            return None
        messages = [message for message in chunk.messages if message.offset < until]
        return chunk._replace(messages=messages, end=until)

    def step(self) -> PassStep:
        """Takes the next batch from the lane's queue."""
        lane = self._lane
        offsets = lane.standing.offsets
        if self.again and self.ahead is not None:
            messages, next_offsets = lane.take(offsets, AGAIN_RECORDS)
            is_behind = any(next_offsets[topic] < end for topic, end in self.ahead.offsets.items())
            return PassStep(
                tail(messages, self.ahead), next_offsets, self.ahead if is_behind else None
            )
        ahead = self.ahead
        starts = dict(offsets if ahead is None else ahead.offsets)
        messages, next_offsets = lane.take(starts)
        if ahead is None and self._set_aside is None:
            return PassStep(messages, next_offsets, None)
        return self._sorted(messages, starts, next_offsets)

    def _sorted(
        self, messages: Sequence[Any], starts: dict[str, int], next_offsets: dict[str, int]
    ) -> PassStep:
        late = {} if self.ahead is None else self.ahead.behind
        folded, behind = list(messages), late
        if self._set_aside is not None:
            folded, behind = self._set_aside.head(messages, starts, late)
        elif late:
            folded = [message for message in messages if tenant_of(message.key) not in late]
        self.counted += len(messages) - len(folded)
        if not behind:
            return PassStep(folded, next_offsets, None)
        offsets = settled_offsets(behind) if self.ahead is None else self._lane.standing.offsets
        return PassStep(folded, dict(offsets), ahead_after(messages, starts, behind))

    def committed(self, ahead: Ahead | None) -> None:
        """The batch was committed."""
        self._batches += 1
        self.ahead = ahead
        if self.ahead is None and self.again:
            self.again = False
            self._lane.go_to(self._lane.standing.offsets)

    def turn(self) -> None:
        if self.ahead is None:
            return
        source, parts = self._lane.source, self._lane.sources
        if self.again:
            new = self._fresh or any(
                source.end(tp) > self._ends[topic] for topic, tp in parts.items()
            )
            if self._batches and (new or self._batches >= AGAIN_BATCHES):
                self._go(False, self.ahead.offsets)
            return
        nothing = self._lane.is_idle and not any(source.unfetched(tp) for tp in parts.values())
        if nothing or self._batches >= HEAD_BATCHES:
            self._fresh = not nothing
            self._ends = {topic: source.end(tp) for topic, tp in parts.items()}
            self._go(True, self._lane.standing.offsets)

    def _go(self, again: bool, offsets: Any) -> None:
        self.again, self._batches = again, 0
        self._lane.go_to(offsets)
