"""Records into the file tier's tables, and the history rows that come of them until a commit."""

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
from streams.extractors.naming import Extractor
from streams.folds.outcome import Outcome
from streams.folds.rows import Effects, Input, Late, UserSignal
from streams.folds.rules import Rules
from streams.pipeline import ahead
from streams.pipeline.decode import Dead, Decode, Decoded, Given, decode, kept
from streams.pipeline.distinct import Distinct
from streams.pipeline.document_rows import dead_row, profile_row, session_row, task_row
from streams.pipeline.entity import Entity
from streams.pipeline.ports import RowSource, Signalled
from streams.pipeline.processor import RecordProcessor

Place = tuple[str, int, int]
Stored = tuple[Any, ...]
"""A row as `schemas.generated.history.stored` makes it and `sinks.tables.to_arrow` takes it."""

_json = msgspec.json.Encoder().encode


class RowCollector:
    """Collects history rows until they are taken: the file tier's `Emitter`. A turn's signals and
    plans are folded with it, into users of the same `store`."""

    def __init__(self, store: RowSource[Entity]) -> None:
        self.rows: defaultdict[str, list[Stored]] = defaultdict(list)
        self.revised_states: list[tuple[str, str]] = []
        """Tenant and id of each state that a row of `revisions` is about."""
        self.touched_users = Distinct()
        self.recorded_at = 0
        """The last record's: that of a line which cannot be read, and does not say."""
        self._entity = store.entity

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        tenant = out.scope[0]
        return [(self._entity("users", tenant, said.user_id), said) for said in out.signals]

    def emitted(self, entity: Entity, out: Effects, said: Input | Signalled, sent: Place) -> Source:
        self.recorded_at = said.recorded_at
        source = Source(entity.tenant, said.recorded_at, *sent)
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
        self, dead: Dead, error: Exception, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None:
        self.recorded_at = said.recorded_at
        self.unreadable(dead._replace(payload=kept(dead.payload)), sent)

    def unreadable(self, dead: Dead, sent: Place) -> None:
        source = Source(dead.tenant, self.recorded_at, *sent)
        at = self.recorded_at if dead.occurred_at is None else dead.occurred_at
        self.rows[DeadLetter.table].append(stored(dead_row(dead), source, at))

    def late(
        self, dead: Dead, late: Late, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None:
        self.unreadable(dead, late.source)

    def document(self, row: Session | Task | Profile, source: Source) -> None:
        """Takes a row with a newest document."""
        self.rows[row.table].append(stored(row, source, row.updated_at))

    def take(self) -> dict[str, list[Stored]]:
        """The rows since they were last taken."""
        rows, self.rows = self.rows, defaultdict(list)
        return rows


class Applier:
    """Folds records into `store`, collecting history rows and counts until they are taken.

    `decode`: how lines are read, where they are events of another shape. `rules`: of the generation
    that `store` holds. `extract` finds memory in turns; its plans come behind their turns.
    """

    def __init__(
        self,
        store: RowSource[Entity],
        rules: Rules,
        extract: Extractor | None = None,
    ) -> None:
        self.rules = rules
        self.decode: Decode = decode
        self._collected = RowCollector(store)
        self._processor = RecordProcessor(store, self._collected, self.rules, extract)
        self.counts: Counter[str] = self._processor.counts
        self.warnings: Counter[str] = self._processor.warnings
        self.plans = 0
        """Write plans that were stored, those of input records and those of `extract`."""
        self.forget_touched()

    @property
    def found(self) -> int | None:
        """Facts and preferences that `extract` has found; None without one."""
        return None if self._processor.extract is None else self._processor.found

    def forget_touched(self) -> None:
        """Counts again what was touched."""
        self.touched = {name: Distinct() for name in ("sessions", "tasks", "users", "states")}
        self._collected.touched_users = self.touched["users"]

    def apply(
        self,
        lines: list[Given],
        recorded_at: int | None = None,
        read: Sequence[Input | None] | None = None,
    ) -> list[Outcome]:
        """Some records as bytes, each with its topic (or path), partition and offset (or line);
        what each ended as. `recorded_at`: when the log took them, if it is not theirs to say.
        `read`: what they say, where they were decoded before they had a place and that was kept;
        without `recorded_at` they are records of the history, which are folded again.

        All are decoded, then all are folded: each step finds its code and data in the cache.
        """
        decode = self.decode
        decoded: list[Decoded]
        if read is None:
            decoded = [decode(line, source) for line, source in lines]
        else:
            decoded = [
                decode(line, source)
                if known is None
                else known
                if known.source == source
                else replace(known, source=source)
                for known, (line, source) in zip(read, lines, strict=True)
            ]
        if recorded_at is not None:
            self._collected.recorded_at = recorded_at
            decoded = [
                replace(found, recorded_at=recorded_at) if type(found) is Input else found
                for found in decoded
            ]
            ahead.refuse(decoded, lines, recorded_at)
        elif read is None:
            ahead.refuse(decoded, lines, time.time_ns() // 1000)
        return self._processor.process_all(decoded, lines)

    def take_rows(self) -> dict[str, list[Stored]]:
        """The rows since they were last taken, without documents."""
        rows = self._collected.take()
        self.counts["revisions"] += len(rows.get(Revision.table, ()))
        self.plans += len(rows.get(Plan.table, ()))
        self.touched["states"].update(self._collected.revised_states)
        self._collected.revised_states.clear()
        return rows

    def take_documents(self, most: int = 512) -> Iterator[dict[str, list[Stored]]]:
        """The newest document of each key that changed since they were last taken, some at a
        time: together they can be larger than all else."""
        changed, rows = self._processor.take_changed(), self._collected
        for entity, source in changed.sessions.items():
            self.touched["sessions"].add((entity.tenant, entity.key))
            rows.document(session_row(entity, self.rules), source)
            if len(rows.rows[Session.table]) >= most:
                yield self.take_rows()
        for (entity, task_id), source in changed.tasks.items():
            self.touched["tasks"].add((entity.tenant, entity.key, task_id))
            rows.document(task_row(entity, task_id, self.rules), source)
            if len(rows.rows[Task.table]) >= most:
                yield self.take_rows()
        for entity, source in changed.users.items():
            self.touched["users"].add((entity.tenant, entity.key))
            rows.document(profile_row(entity, self.rules), source)
            if len(rows.rows[Profile.table]) >= most:
                yield self.take_rows()
        yield self.take_rows()
        for seen in self.touched.values():
            seen.pack()
