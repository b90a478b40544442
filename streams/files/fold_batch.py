"""Folds records into the file tier's tables, and collects their history rows until a commit."""

import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from schemas.events import Turn
from schemas.generated.history import (
    DeadLetter,
    Plan,
    Profile,
    Revision,
    Session,
    Source,
    Task,
    stored,
)
from schemas.memory_kinds import STATE
from schemas.row import replace
from streams.extractors.registry import Extractor
from streams.files.retraction_guard import Guard
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Late, UserSignal
from streams.folds.outcome import Outcome
from streams.pipeline import clock_ahead
from streams.pipeline.decode import Dead, Decode, Decoded, Given, decode, kept
from streams.pipeline.distinct_count import Distinct
from streams.pipeline.document_rows import dead_row, profile_row, session_row, task_row
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import RowSource, Signalled
from streams.pipeline.processor import RecordProcessor

Place = tuple[str, int, int]
Stored = tuple[Any, ...]
"""A row from `schemas.generated.history.stored`, for `sinks.tables.to_arrow`."""

_json = msgspec.json.Encoder().encode


class RowCollector:
    """Collects history rows: the file tier's `Emitter`. A turn's signals and plans are folded with
    it, into users of the same `store`."""

    def __init__(self, store: RowSource[Entity]) -> None:
        self.rows: defaultdict[str, list[Stored]] = defaultdict(list)
        self.revised_states: list[tuple[str, str]] = []
        """Tenant and id of each state with a row in `revisions`."""
        self.touched_users = Distinct()
        self.recorded_at = 0
        """Time of the last record, used for unreadable lines (microseconds)."""
        self._entity = store.entity

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        tenant = out.scope[0]
        return [(self._entity("users", tenant, signal.user_id), signal) for signal in out.signals]

    def emitted(
        self, entity: Entity, out: Effects, record: Input | Signalled, place: Place
    ) -> Source:
        self.recorded_at = record.recorded_at
        source = Source(entity.tenant, record.recorded_at, *place)
        rows = self.rows
        for row in out.history:
            rows[row.table].append(stored(row, source, row.occurred_at))
            if type(row) is Revision and row.entity_type == STATE.name:
                self.revised_states.append((entity.tenant, row.entity_id))
        if entity.where[0] == "users":
            self.touched_users.add((entity.tenant, entity.key))
        return source

    def plan(self, plan: dict[str, Any], turn: Turn, origin: Source) -> bytes:
        return _json(plan)

    def refused(
        self, dead: Dead, error: Exception, entity: Entity, record: Input | Signalled, place: Place
    ) -> None:
        self.recorded_at = record.recorded_at
        self.unreadable(dead._replace(payload=kept(dead.payload)), place)

    def unreadable(self, dead: Dead, place: Place) -> None:
        source = Source(dead.tenant, self.recorded_at, *place)
        occurred_at = self.recorded_at if dead.occurred_at is None else dead.occurred_at
        self.rows[DeadLetter.table].append(stored(dead_row(dead), source, occurred_at))

    def late(
        self, dead: Dead, late: Late, entity: Entity, record: Input | Signalled, place: Place
    ) -> None:
        self.unreadable(dead, late.source)

    def document(self, row: Session | Task | Profile, source: Source) -> None:
        """Adds the row of a newest document."""
        self.rows[row.table].append(stored(row, source, row.updated_at))

    def take(self) -> dict[str, list[Stored]]:
        """Returns and clears the collected rows."""
        rows, self.rows = self.rows, defaultdict(list)
        return rows


class Applier:
    """Folds records into `store`, collecting history rows and counts until they are taken.

    `decode`: decoder of lines, for events of another shape. `rules`: constants of the generation in
    `store`. `extract` finds memory in turns; its plans are folded after their turns. `guard`
    withholds retracted records.
    """

    def __init__(
        self,
        store: RowSource[Entity],
        rules: Rules,
        extract: Extractor | None = None,
        guard: Guard | None = None,
    ) -> None:
        self.rules = rules
        self._guard = guard
        self.decode: Decode = decode
        self._collected = RowCollector(store)
        self._processor = RecordProcessor(store, self._collected, self.rules, extract)
        self.counts: Counter[str] = self._processor.counts
        self.warnings: Counter[str] = self._processor.warnings
        self.plans = 0
        """Number of stored write plans, from input records and from `extract`."""
        self.forget_touched()

    @property
    def found(self) -> int | None:
        """Number of facts and preferences that `extract` found, or None without an extractor."""
        return None if self._processor.extract is None else self._processor.found

    def forget_touched(self) -> None:
        """Resets the counts of touched entities."""
        self.touched = {name: Distinct() for name in ("sessions", "tasks", "users", "states")}
        self._collected.touched_users = self.touched["users"]

    def apply(
        self,
        lines: list[Given],
        recorded_at: int | None = None,
        inputs: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """Folds records as bytes, each with its topic (or path), partition and offset (or line);
        returns their outcomes. `recorded_at`: time at which the log accepted them, if it overrides
        theirs. `inputs`: their decoded form, if decoded before; without `recorded_at` they are
        records of the history that are folded again.

        Decodes all, then folds all: each step uses warm caches.
        """
        decode = self.decode
        decoded: list[Decoded]
        if inputs is None:
            decoded = [decode(line, source) for line, source in lines]
        else:
            decoded = [
                decode(line, source)
                if input is None
                else input
                if input.source == source
                else replace(input, source=source)
                for input, (line, source) in zip(inputs, lines, strict=True)
            ]
        if recorded_at is not None:
            self._collected.recorded_at = recorded_at
            decoded = [
                replace(input, recorded_at=recorded_at) if type(input) is Input else input
                for input in decoded
            ]
            clock_ahead.refuse(decoded, lines, recorded_at)
        elif inputs is None:
            clock_ahead.refuse(decoded, lines, time.time_ns() // 1000)
        if self._guard is not None:
            decoded = list(map(self._guard.checked, decoded))
        return self._processor.process_all(decoded, lines)

    def take_marks(self) -> dict[str, bool]:
        """New marks of retracted records, as values of the store."""
        return {} if self._guard is None else self._guard.take_marks()

    def take_rows(self) -> dict[str, list[Stored]]:
        """Returns and clears the collected rows, without documents."""
        rows = self._collected.take()
        self.counts["revisions"] += len(rows.get(Revision.table, ()))
        self.plans += len(rows.get(Plan.table, ()))
        self.touched["states"].update(self._collected.revised_states)
        self._collected.revised_states.clear()
        return rows

    def take_documents(self, limit: int = 512) -> Iterator[dict[str, list[Stored]]]:
        """Yields the newest document of each changed key in chunks of `limit` rows, as all together
        may be large."""
        changed, rows = self._processor.take_changed(), self._collected
        for entity, source in changed.sessions.items():
            self.touched["sessions"].add((entity.tenant, entity.key))
            rows.document(session_row(entity, self.rules), source)
            if len(rows.rows[Session.table]) >= limit:
                yield self.take_rows()
        for (entity, task_id), source in changed.tasks.items():
            self.touched["tasks"].add((entity.tenant, entity.key, task_id))
            rows.document(task_row(entity, task_id, self.rules), source)
            if len(rows.rows[Task.table]) >= limit:
                yield self.take_rows()
        for entity, source in changed.users.items():
            self.touched["users"].add((entity.tenant, entity.key))
            rows.document(profile_row(entity, self.rules), source)
            if len(rows.rows[Profile.table]) >= limit:
                yield self.take_rows()
        yield self.take_rows()
        for distinct in self.touched.values():
            distinct.pack()
