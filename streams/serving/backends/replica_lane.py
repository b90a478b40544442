"""One changelog partition as a replica holds it: its rows, who waits for them, records' outcomes.

restoring ── all of it is read ──> ready ── another changelog in its place ──> restoring
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from aiokafka.structs import TopicPartition

from streams.folds.outcome import ACCEPTED, APPLIED, Outcome
from streams.folds.rules import Rules
from streams.kafka.agents import noted_rules, outcomes
from streams.kafka.transport.changelog import Chunk, Progress
from streams.kafka.transport.marker import Marker
from streams.kafka.transport.rows import Row, RowStore
from streams.pipeline.entity import Entity
from streams.serving.backends.backend import Table
from streams.serving.backends.changes import Changes, Where

ENDINGS = 20_000
"""Records whose ending is remembered that were not applied: somebody may be about to ask."""
COMPACTED = 60.0
"""Seconds without the changelog after which compaction may have swallowed markers unseen."""


class Position(NamedTuple):
    """How far a lane has come. `offsets`: the next of each source topic. `signals`: the newest
    record of each partition of turns whose meaning for its user is folded."""

    offsets: Mapping[str, int]
    signals: Mapping[str, int]


class ReplicaLane:
    """`progress`: how far its changelog is read, which is ahead of the rows only while `take` has
    not been called. `ready`: it was read to its end once."""

    def __init__(self, at: TopicPartition, table: Table, rows: RowStore, changes: Changes) -> None:
        self.at, self.table = at, table
        self.rows = rows
        self.progress = Progress(at, rows.open())
        self.ready = False
        self.changes = changes
        self._entities: OrderedDict[bytes, Entity] = OrderedDict()
        self._outcomes: OrderedDict[tuple[str, int], Outcome] = OrderedDict()
        self._told_from: dict[str, int] = {}
        self._unbroken = False  # every marker since the one before was seen
        self._waiting: defaultdict[str, dict[asyncio.Future[None], int]] = defaultdict(dict)

    # --- the changelog ----------------------------------------------------------------------------

    def take(self, chunk: Chunk) -> None:
        """What was read of the changelog: whole transactions, once it is ready."""
        if COMPACTED < chunk.away < float("inf"):
            self._unbroken = False
        if chunk.rows or chunk.markers:
            self._put(chunk.rows)
            self.rows.commit(self.progress.standing)
        for _, marker in chunk.markers:
            self._remember(marker)
            self._wake(marker)
        if self.ready and chunk.rows:
            self.changes.tell(self._changed(chunk.rows))
        if not self.ready and self.progress.restored:
            self.ready = self._unbroken = True
            self.rows.settle()

    def _put(self, rows: Sequence[Row]) -> None:
        self.rows.put(rows)
        if self._entities:
            for key, _ in rows:
                self._entities.pop(key.rpartition(b"\0")[0], None)

    def _changed(self, rows: Sequence[Row]) -> Iterator[Where]:
        for where in {key.rpartition(b"\0")[0] for key, _ in rows}:
            parts = where.decode(errors="replace").split("\0")
            if len(parts) == 3:  # else somebody else's row, which nobody asks for
                yield self.table, parts[1], parts[2]

    def forget(self) -> None:
        """All again, from the changelog's beginning."""
        self.rows.clear()
        self.progress = Progress(self.at)
        self.ready = self._unbroken = False
        self._entities.clear()
        self._outcomes.clear()
        self._told_from.clear()

    @property
    def shown_up_to(self) -> Position:
        """What is in the rows, as their newest marker says."""
        marker = self.progress.standing.marker
        return Position(marker.offsets, marker.note.get("hops", {})) if marker else NOWHERE

    @property
    def note(self) -> Mapping[str, Any]:
        """What the newest marker says beside positions: its lane's counters among it."""
        marker = self.progress.standing.marker
        return marker.note if marker else {}

    # --- reading ----------------------------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """Those that its rows were folded under."""
        marker = self.progress.standing.marker
        return noted_rules.of_note(marker.note if marker else {})

    def entity(self, tenant: str, key: str) -> Entity:
        """The committed rows of one session or user; nobody changes them any more."""
        where = f"{self.table[0]}\0{tenant}\0{key}".encode()
        entity = self._entities.get(where)
        if entity is None:
            entity = Entity(self.table, tenant, key, self.rows.read(where))
            self._entities[where] = entity
            if len(self._entities) > self.rows.entities:
                self._entities.popitem(last=False)
        else:
            self._entities.move_to_end(where)
        return entity

    # --- what records end as ----------------------------------------------------------------------

    def _remember(self, marker: Marker) -> None:
        if not self._unbroken or outcomes.NOTED not in marker.note:
            self._told_from = dict(marker.offsets)
            self._outcomes.clear()
            self._unbroken = self.ready
            return
        for topic, offset, outcome in outcomes.found(marker.note):
            self._outcomes[topic, offset] = outcome
        while len(self._outcomes) > ENDINGS:
            (topic, offset), _ = self._outcomes.popitem(last=False)
            self._told_from[topic] = max(self._told_from.get(topic, 0), offset + 1)

    def _next(self, topic: str) -> int:
        marker = self.progress.standing.marker
        return marker.offsets.get(topic, 0) if marker else 0

    def passed(self, topic: str, offset: int) -> "asyncio.Future[None]":
        """Done when the record is folded and in the rows; who does not wait any more cancels it."""
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self._next(topic) > offset:
            passed.set_result(None)
            return passed
        waiting = self._waiting[topic]
        waiting[passed] = offset
        passed.add_done_callback(waiting.pop)
        return passed

    def _wake(self, marker: Marker) -> None:
        for topic, following in marker.offsets.items():
            for passed, offset in self._waiting[topic].items():
                if offset < following and not passed.done():
                    passed.set_result(None)

    def let_go(self) -> None:
        """Nothing comes here any more: who waits looks elsewhere."""
        for waiting in self._waiting.values():
            for passed in waiting:
                if not passed.done():
                    passed.set_result(None)

    def outcome(self, topic: str, offset: int) -> Outcome:
        """What a record ended as, which stands in the log for good."""
        if offset >= self._next(topic) or offset < self._told_from.get(topic, 0):
            return ACCEPTED
        return self._outcomes.get((topic, offset), APPLIED)


NOWHERE = Position({}, {})
