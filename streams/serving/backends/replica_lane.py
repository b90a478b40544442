"""One changelog partition as a replica holds it: its rows, where it stands, who waits for it.

    restoring ── position >= end ──> ready ── another changelog in its place ──> restoring

Rows come to light with the marker of their transaction, never before: half a transaction is no
state that a worker ever had.
"""

import asyncio
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from time import monotonic, time
from typing import NamedTuple

from aiokafka.structs import TopicPartition

from streams.folds.outcome import ACCEPTED, APPLIED, Outcome
from streams.kafka.agents import outcomes
from streams.kafka.client.aiokafka_internals import RawRecord
from streams.kafka.transport.marker import MARKER_KEY, Marker, Standing, decode
from streams.kafka.transport.restore import AWAY
from streams.kafka.transport.rows import Row, RowStore
from streams.pipeline.entity import Entity
from streams.serving.backends.backend import Table
from streams.serving.backends.changes import Changes, Where

ENDINGS = 20_000
"""Records whose ending is remembered that were not applied: somebody may be about to ask."""
COMPACTED = 60.0
"""Seconds without the changelog after which compaction may have swallowed markers unseen."""


class Remade(Exception):  # noqa: N818 - what happened
    """The changelog is another than the one that was read so far, or no longer all of it."""


class Position(NamedTuple):
    """How far a lane has come. `offsets`: the next of each source topic. `signals`: the newest
    record of each partition of turns whose meaning for its user is folded."""

    offsets: Mapping[str, int]
    signals: Mapping[str, int]


class ReplicaLane:
    """`end`: up to where it has to be restored, None before that is known. `shown`: all that was
    committed until then (`time.monotonic`) is in the rows."""

    def __init__(self, at: TopicPartition, table: Table, rows: RowStore, changes: Changes) -> None:
        self.at, self.table = at, table
        self.rows = rows
        self.standing = rows.open() or Standing()
        if self.standing.position and _useless(self.standing):
            rows.clear()
            self.standing = Standing()
        self.position = self.first = self.standing.position
        self.end: int | None = None
        self.ready = False
        self.shown = float("-inf")
        self._aim: tuple[int, float] | None = None
        self.changes = changes
        self._pending: list[Row] = []
        self._entities: OrderedDict[bytes, Entity] = OrderedDict()
        self._outcomes: OrderedDict[tuple[str, int], Outcome] = OrderedDict()
        self._told_from: dict[str, int] = {}
        self._unbroken = False  # every marker since the one before was seen
        self._waiting: defaultdict[str, dict[asyncio.Future[None], int]] = defaultdict(dict)

    # --- the changelog ----------------------------------------------------------------------------

    def begin(self, beginning: int, end: int) -> None:
        """The changelog reaches from `beginning` to `end`; reading goes on from `position`, that
        of the newest marker: if it is not there, nor one that can follow it, this is another log.

        Raises:
            Remade: it has forgotten what comes next.
        """
        self._pending.clear()
        if 0 < self.position < beginning:
            raise Remade(f"begins at {beginning}, was read up to {self.position}")
        if self.age > COMPACTED:
            self._unbroken = False
        standing = self.standing
        self.position = max(standing.marker_at if standing.marker else 0, beginning)
        if self.end is None:
            self.first, self.end = self.position, end
        self._restored()

    def take(self, records: Sequence[RawRecord], position: int) -> None:
        """The records from where it stood up to `position`, in order.

        Raises:
            Remade: a marker that is none of this changelog, or it was not read for so long that
                what was deleted may have left it.
        """
        assert self.end is not None
        if records and AWAY < self.age < float("inf"):
            raise Remade(f"was last read to its end {self.age:.0f} s ago")
        for record in records:
            if record.key != MARKER_KEY:
                self._pending.append((record.key or b"", record.value))
                continue
            try:
                marker = decode(record.value)
            except ValueError as error:
                raise Remade(str(error)) from None
            self._commit(record.offset, marker)
        self.position = position
        if not self.ready:
            self._restore(records, position)

    def _restore(self, records: Sequence[RawRecord], position: int) -> None:
        """What compaction has left of old transactions: their markers are gone, so rows of them
        do not wait. Nobody reads them before the end."""
        assert self.end is not None
        if self._pending and records[-1].offset < self.end:
            self._put(self._pending)
            self._pending = []
            self.standing.position = position
            self.rows.commit(self.standing)
        self._restored()

    def _restored(self) -> None:
        assert self.end is not None
        if not self.ready and self.position >= self.end:
            self.ready = self._unbroken = True
            self.rows.settle()

    def _commit(self, at: int, marker: Marker) -> None:
        """A transaction's rows, with its marker."""
        before = self.standing.marker
        if before is not None:
            gone_back = any(
                marker.offsets.get(topic, 0) < offset for topic, offset in before.offsets.items()
            )
            if marker.log != before.log or gone_back:
                raise Remade(f"at {at} is a marker of another changelog, or of one that was cut")
        rows, self._pending = self._pending, []
        self._put(rows)
        self.standing.saw(at, marker)
        self.standing.position = at + 1
        self.rows.commit(self.standing)
        self._remember(marker)
        self._wake(marker)
        if self.ready:
            self.changes.tell(self._changed(rows))

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
        """All anew, from the changelog's beginning."""
        self.rows.clear()
        self.standing, self.position, self.first, self.end = Standing(), 0, 0, None
        self.ready, self.shown, self._aim = False, float("-inf"), None
        self._pending.clear()
        self._entities.clear()
        self._outcomes.clear()
        self._told_from.clear()
        self._unbroken = False

    # --- how fresh it is --------------------------------------------------------------------------

    def heard(self, end: int, when: float) -> None:
        """The broker said at `when` (`time.monotonic`) that committed records reach to `end`."""
        if self._aim is None:
            self._aim = end, when
        if self.position >= self._aim[0]:
            self.shown = max(self.shown, self._aim[1])
            self._aim = None
        if self.position >= end:
            self.shown = max(self.shown, when)
            self._aim = None

    @property
    def shown_up_to(self) -> Position:
        """What is in the rows, as their newest marker says."""
        marker = self.standing.marker
        return Position(marker.offsets, marker.note.get("hops", {})) if marker else NOWHERE

    @property
    def age(self) -> float:
        """Seconds since all that was committed was in the rows."""
        return monotonic() - self.shown

    # --- reading ----------------------------------------------------------------------------------

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
        marker = self.standing.marker
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


def _useless(standing: Standing) -> bool:
    """Whether rows on disk were left in the middle of a restore, or so long ago that compaction may
    have swallowed what was deleted since."""
    return standing.marker is None or time() - standing.written > AWAY
