"""The two readings of a lane's sources while tenants are behind (`set_aside`), and when it turns
from one to the other.

    head ── nothing waits, or many batches ──> again ── something new, or many batches ──> head

Of what is read again only a little is folded at a time: whoever comes meanwhile waits for that. And
some of it is always folded, whatever comes: who is behind gets on.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.set_aside import Ahead, SetAside, begun, settled, tail, tenant_of

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

AGAIN_RECORDS = 500
"""Records of a batch that is read again, those of others among them."""
AGAIN_BATCHES = 4
HEAD_BATCHES = 8
"""Batches of one reading before the other has its turn, if it may have something."""


class Step(NamedTuple):
    """A batch: its records, the offsets before which all is folded then, and what is beyond."""

    records: list[Any]
    offsets: dict[str, int]
    ahead: Ahead | None


class Passes:
    """`ahead`: what the newest marker says; `again`: the sources are read again. `counted`: records
    that were set aside."""

    def __init__(self, lane: "Lane", set_aside: SetAside | None) -> None:
        self._lane = lane
        self._set_aside = set_aside
        self.ahead: Ahead | None = None
        self.again = False
        self.counted = 0
        self._batches = 0
        self._fresh = False  # the head is known to have something
        self._ends: dict[str, int] = {}

    def begin(self, offsets: dict[str, int], ahead: Ahead | None) -> dict[str, int]:
        """The lane opens at a marker: where its sources are to be read from. Where the logs have
        lost all that was set aside, nobody is behind any more."""
        self.again, self._batches = False, 0
        if ahead is not None and all(offsets[topic] >= end for topic, end in ahead.offsets.items()):
            ahead = None
        self.ahead = ahead
        if ahead is None:
            return offsets
        return {topic: max(at, ahead.offsets.get(topic, at)) for topic, at in offsets.items()}

    def clipped(self, chunk: Chunk) -> Chunk | None:
        """What the lane queues of a chunk: where it reads again, nothing that the head will read
        anyway."""
        if not self.again or self.ahead is None:
            return chunk
        until = self.ahead.offsets[chunk.topic]
        if chunk.end <= until:
            return chunk
        self._fresh = self._fresh or any(one.offset >= until for one in chunk.records)
        if chunk.start >= until:
            return None
        records = [one for one in chunk.records if one.offset < until]
        return chunk._replace(records=records, end=until)

    def step(self) -> Step:
        """The next batch of what the lane has queued."""
        lane = self._lane
        offsets = lane.standing.offsets
        if self.again and self.ahead is not None:
            read, following = lane.take(offsets, AGAIN_RECORDS)
            left = any(following[topic] < end for topic, end in self.ahead.offsets.items())
            return Step(tail(read, self.ahead), following, self.ahead if left else None)
        ahead = self.ahead
        starts = dict(offsets if ahead is None else ahead.offsets)
        read, following = lane.take(starts)
        if ahead is None and self._set_aside is None:
            return Step(read, following, None)
        return self._sorted(read, starts, following)

    def _sorted(
        self, read: Sequence[Any], starts: dict[str, int], following: dict[str, int]
    ) -> Step:
        known = {} if self.ahead is None else self.ahead.behind
        folded, behind = list(read), known
        if self._set_aside is not None:
            folded, behind = self._set_aside.head(read, starts, known)
        elif known:
            folded = [one for one in read if tenant_of(one.key) not in known]
        self.counted += len(read) - len(folded)
        if not behind:
            return Step(folded, following, None)
        offsets = settled(behind) if self.ahead is None else self._lane.standing.offsets
        return Step(folded, dict(offsets), begun(read, starts, behind))

    def stands(self, ahead: Ahead | None) -> None:
        """The batch is committed."""
        self._batches += 1
        self.ahead = ahead
        if self.ahead is None and self.again:
            self.again = False
            self._lane.go_to(self._lane.standing.offsets)

    def turn(self) -> None:
        """Goes over to the other reading, if it is time."""
        if self.ahead is None:
            return
        source, parts = self._lane.source, self._lane.sources
        if self.again:
            new = self._fresh or any(
                source.end(at) > self._ends[topic] for topic, at in parts.items()
            )
            if self._batches and (new or self._batches >= AGAIN_BATCHES):
                self._go(False, self.ahead.offsets)
            return
        nothing = self._lane.is_idle and not any(source.behind(at) for at in parts.values())
        if nothing or self._batches >= HEAD_BATCHES:
            self._fresh = not nothing
            self._ends = {topic: source.end(at) for topic, at in parts.items()}
            self._go(True, self._lane.standing.offsets)

    def _go(self, again: bool, offsets: Any) -> None:
        self.again, self._batches = again, 0
        self._lane.go_to(offsets)
