"""A replica's copy of one changelog partition: its rows, waiting readers, and records' outcomes.

restoring ── all of it is read ──> ready ── another changelog in its place ──> restoring
"""

import asyncio
import logging
from collections import OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from time import time
from typing import Any, NamedTuple

from aiokafka.structs import TopicPartition

from streams.folds.constants import Rules
from streams.folds.outcome import ACCEPTED, APPLIED, Outcome
from streams.kafka.agents import marker_constants, outcomes
from streams.kafka.transport.changelog import ChangelogChunk, Progress
from streams.kafka.transport.disk_rows import Renewed
from streams.kafka.transport.marker import Marker
from streams.kafka.transport.rows import Row, RowStore, open_store
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import StoreError
from streams.pipeline.row_formats import upgraded
from streams.serving.backends.backend import NotReady, Table
from streams.serving.backends.change_waiters import Changes, Where

log = logging.getLogger(__name__)

ENDINGS = 20_000
"""Maximum remembered outcomes of records that were not applied: a client may still request them."""
COMPACTED = 60.0
"""Seconds without the changelog after which compaction may have removed unread markers."""
NOTED_EVERY = 600.0
"""Seconds after which a store on disk notes an idle changelog: a lane without traffic was not
away."""


class LanePosition(NamedTuple):
    """Progress of a lane. `offsets`: the next of each source topic. `signals`: for each partition
    of turns, the newest record with folded user signals."""

    offsets: Mapping[str, int]
    signals: Mapping[str, int]


class ReplicaLane:
    """`progress`: how far its changelog is read; ahead of the rows only until `take` is called.
    `ready`: it was read to its end once. `reopen` opens `rows`."""

    def __init__(self, at: TopicPartition, table: Table, rows: RowStore, changes: Changes) -> None:
        self.at, self.table = at, table
        self.rows = rows
        self.progress = Progress(at)
        self.ready = False
        self.changes = changes
        self._entities: OrderedDict[bytes, Entity] = OrderedDict()
        self._outcomes: OrderedDict[tuple[str, int], Outcome] = OrderedDict()
        self._told_from: dict[str, int] = {}
        self._unbroken = False  # every marker since the one before was seen
        self._lost: OSError | StoreError | None = None  # its rows, when they were read
        self._waiting: defaultdict[str, dict[asyncio.Future[None], tuple[int, str]]] = defaultdict(
            dict
        )

    # --- the changelog ----------------------------------------------------------------------------

    async def reopen(self) -> None:
        """Opens the rows if needed, and continues from their position. Raises StoreError, OSError
        as `RowStore.open`."""
        await self.rows.rest()
        standing = await open_store(self.rows.open)
        self._lost = None
        if standing is not None:
            self._begin(Progress(self.at, standing))

    def take(self, chunk: ChangelogChunk) -> None:
        """Applies a chunk of the changelog: whole transactions, once it is ready.

        Raises StoreError if the rows cannot be written, for example on a full disk; OSError if they
        are closed: `reopen` restores them.
        """
        if self._lost is not None:
            raise self._lost
        if COMPACTED < chunk.away < float("inf"):
            self._unbroken = False
        if chunk.rows or chunk.markers:
            self._put(chunk.rows)
            self.rows.commit(self.progress.standing)
        elif self.ready and self._is_long_quiet():
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

    def _is_long_quiet(self) -> bool:
        written = self.progress.standing.written  # 0 where rows are in memory
        return 0 < written < time() - NOTED_EVERY and self.progress.age < COMPACTED

    def _changed(self, rows: Sequence[Row]) -> Iterator[Where]:
        for where in {key.rpartition(b"\0")[0] for key, _ in rows}:
            parts = where.decode(errors="replace").split("\0")
            if len(parts) == 3:  # otherwise another entity's row, which is not requested
                yield self.table, parts[1], parts[2]

    async def forget(self) -> None:
        """Restores everything from the changelog's start."""
        self._begin(Progress(self.at))  # before: rows that are being removed must not be read
        await self.rows.rest()
        await open_store(self.rows.clear)

    def _begin(self, progress: Progress) -> None:
        self.progress = progress
        self.ready = self._unbroken = False
        self._entities.clear()
        self._outcomes.clear()
        self._told_from.clear()

    @property
    def shown_up_to(self) -> LanePosition:
        """The end of the rows' contents, from their newest marker."""
        marker = self.progress.standing.marker
        return LanePosition(_reached(marker), marker.note.get("hops", {})) if marker else NOWHERE

    @property
    def whole_up_to(self) -> LanePosition:
        """The position before which the rows are complete: a throttled tenant lacks later
        records."""
        marker = self.progress.standing.marker
        return self.shown_up_to._replace(offsets=marker.offsets) if marker else NOWHERE

    @property
    def note(self) -> Mapping[str, Any]:
        """The newest marker's data besides positions, such as its lane's counters."""
        marker = self.progress.standing.marker
        return marker.note if marker else {}

    # --- reading ----------------------------------------------------------------------------------

    @property
    def rules(self) -> Rules:
        """Rules of the rows' fold."""
        marker = self.progress.standing.marker
        return marker_constants.of_note(marker.note if marker else {})

    def entity(self, tenant: str, key: str) -> Entity:
        """The committed rows of one session or user, read-only. Raises NotReady for unreadable rows
        on disk."""
        where = f"{self.table[0]}\0{tenant}\0{key}".encode()
        for erased in self.rows.erased(self._entities):
            del self._entities[erased]
        entity = self._entities.get(where)
        if entity is None:
            rows, marker = self._read(where), self.progress.standing.marker
            if rows and marker is not None and not marker.reached.is_current:
                rows = upgraded(self.table, rows, marker.reached.of(where))
            entity = Entity(self.table, tenant, key, rows)
            self._entities[where] = entity
            if len(self._entities) > self.rows.entities:
                self._entities.popitem(last=False)
        else:
            self._entities.move_to_end(where)
        return entity

    def _read(self, where: bytes) -> dict[str, bytes]:
        try:
            return self.rows.read(where)
        except Renewed:
            raise NotReady(f"{self.table}: rows on disk are opened again") from None
        except (OSError, StoreError) as error:
            log.error("%s, partition %d: its rows cannot be read: %s", *self.at, error)
            self.ready, self._lost = False, type(error)(str(error))  # without its frames
            raise NotReady(f"{self.table}: rows that were on disk are read again") from None

    # --- what records end as ----------------------------------------------------------------------

    def _remember(self, marker: Marker) -> None:
        if not self._unbroken or outcomes.NOTED not in marker.note:
            self._told_from = dict(_reached(marker))
            self._outcomes.clear()
            self._unbroken = self.ready
            return
        for topic, offset, outcome in outcomes.outcomes_of(marker.note):
            self._outcomes[topic, offset] = outcome
        while len(self._outcomes) > ENDINGS:
            (topic, offset), _ = self._outcomes.popitem(last=False)
            self._told_from[topic] = max(self._told_from.get(topic, 0), offset + 1)

    def has(self, topic: str, offset: int, tenant: str) -> bool:
        """Whether a tenant's record is folded and in the rows."""
        marker = self.progress.standing.marker
        return marker is not None and marker.has(topic, offset, tenant)

    def reached(self, topic: str) -> int:
        """The offset before which all records of a topic are folded and in the rows."""
        marker = self.progress.standing.marker
        return 0 if marker is None else marker.offsets.get(topic, 0)

    def passed(self, topic: str, offset: int, tenant: str) -> "asyncio.Future[None]":
        """A future that is done when a tenant's record is folded and in the rows; cancel it to stop
        waiting."""
        passed: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        if self.has(topic, offset, tenant):
            passed.set_result(None)
            return passed
        waiting = self._waiting[topic]
        waiting[passed] = (offset, tenant)
        passed.add_done_callback(waiting.pop)
        return passed

    def _wake(self, marker: Marker) -> None:
        for topic in marker.offsets:
            for passed, record in self._waiting[topic].items():
                if marker.has(topic, *record) and not passed.done():
                    passed.set_result(None)

    def let_go(self) -> None:
        """Wakes all waiters: this lane is no longer updated."""
        for waiting in self._waiting.values():
            for passed in waiting:
                if not passed.done():
                    passed.set_result(None)

    def outcome(self, topic: str, offset: int, tenant: str) -> Outcome:
        """The final outcome of a tenant's record."""
        if not self.has(topic, offset, tenant) or offset < self._told_from.get(topic, 0):
            return ACCEPTED
        return self._outcomes.get((topic, offset), APPLIED)


def _reached(marker: Marker) -> Mapping[str, int]:
    """The offsets before which records may be folded."""
    ahead = marker.ahead
    return marker.offsets if ahead is None else ahead.offsets


NOWHERE = LanePosition({}, {})
