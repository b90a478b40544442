"""Processes records: one implementation for files, Kafka and rebuilds.

`RecordProcessor` looks up the rows of a record, calls the fold, keeps or rolls back its writes,
creates dead letters, counts, runs the extractor, and collects entities with changed documents. Only
`RowSource` and `Emitter` differ by backend (`streams.pipeline.interfaces`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from schemas.dead_letters import Reason
from schemas.row import replace
from streams.extractors.registry import Extractor, failure
from streams.folds import memory
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Refused, Rows, UserSignal
from streams.folds.outcome import APPLIED, SKIPPED, WITHHELD, Outcome
from streams.pipeline import retract_turns
from streams.pipeline.decode import Dead, Decoded, decode
from streams.pipeline.interfaces import E, Emitter, O, RowSource, S, Signalled, StoreError
from streams.record_kinds import Fold, kind_of

EXTRACTED = "extracted"
"""Counter of plans from the extractor; `extracted_` and an outcome for plans folded at once. They
are not input records, so they are counted separately."""
WAITING, SETTLED, LATE = "waiting", "settled", "late"
"""Counters of tool results: applied and waiting for their recursion; matched after waiting or
after being a dead letter; applied, then dead letters."""


@dataclass(slots=True)
class Changed(Generic[E, O]):
    """Entities with a newer document, each with the origin of the last record that changed it."""

    sessions: dict[E, O] = field(default_factory=dict)
    tasks: dict[tuple[E, str], O] = field(default_factory=dict)
    users: dict[E, O] = field(default_factory=dict)


class RecordProcessor(Generic[E, S, O]):
    """Folds records into `rows` under `rules` and passes their effects to `emit`. `extract` derives
    plans from turns; a plan is folded after its turn."""

    def __init__(
        self,
        rows: RowSource[E],
        emit: Emitter[E, S, O],
        rules: Rules,
        extract: Extractor | None = None,
    ) -> None:
        self.rows = rows
        self.emit = emit
        self.rules = rules
        self.extract = extract
        self.counts: Counter[str] = Counter()
        """`read = applied + duplicate + dead + withheld + skipped`, and `EXTRACTED`, `WAITING`,
        `SETTLED` and `LATE`. Counters never decrease."""
        self.warnings: Counter[str] = Counter()
        self.found = 0
        """Facts and preferences in the folded plans of `extract`."""
        self.changed: Changed[E, O] = Changed()

    def process(self, decoded: Decoded, line: bytes, sent: S) -> Outcome:
        """Processes one input record and returns its outcome. `decoded` is the result of decoding
        `line`. Raises StoreError."""
        counts = self.counts
        counts["read"] += 1
        outcome = self._end(decoded, line, sent)
        counts[outcome.ending] += 1
        return outcome

    def process_all(
        self, decoded: Iterable[Decoded], lines: Sequence[tuple[bytes, S]]
    ) -> list[Outcome]:
        """Processes several records; counting them together is faster."""
        fold, end = self._fold, self._end
        outcomes = [
            fold(record, line, sent) if type(record) is Input else end(record, line, sent)
            for record, (line, sent) in zip(decoded, lines, strict=True)
        ]
        self.counts["read"] += len(outcomes)
        self.counts.update([outcome.ending for outcome in outcomes])
        return outcomes

    def signal(self, signal: Signalled, line: bytes, sent: S) -> Outcome:
        """Folds a turn's signal, received as a message, into its user. It is not an input record:
        the caller counts it. Raises StoreError."""
        return self._fold(signal, line, sent)

    def _end(self, decoded: Decoded, line: bytes, sent: S) -> Outcome:
        if type(decoded) is Input:
            return self._fold(decoded, line, sent)
        if isinstance(decoded, Dead):
            self.emit.unreadable(decoded, sent)
            return Outcome("dead", decoded.reason, decoded.detail)
        return WITHHELD if decoded == "withheld" else SKIPPED

    def _fold(self, input: Input | Signalled, line: bytes, sent: S) -> Outcome:
        record: Any
        fold: Fold
        if type(input) is Input:
            record = input.record
            kind = kind_of(record)
            table, fold = kind.table, kind.fold
            tenant, key, doc = record.tenant, getattr(record, kind.owner), input.doc
        else:
            record, table, tenant, key, fold = _of_signal(input)  # type: ignore[arg-type]
            doc = ""
        rows = self.rows
        entity = rows.entity(table, tenant, key)
        out = Effects(key, (tenant, table, key), record, self.rules, doc=doc)
        user_signals: Sequence[tuple[E, UserSignal]] = ()
        try:
            outcome = fold(entity, input, out)
            if out.signals:
                user_signals = self.emit.signals(out)
                for user, signal in user_signals:
                    memory.fold_signal(user, signal, out)
            origin = self.emit.emitted(entity, out, input, sent)
        except StoreError:  # not caused by the record
            raise
        except Exception as error:
            return self._refuse(
                error, entity, [user for user, _ in user_signals], input, line, sent
            )
        rows.keep(entity)
        changed = self.changed
        if out.session:
            changed.sessions[entity] = origin
        for task_id in out.tasks:
            changed.tasks[entity, task_id] = origin
        for user, _ in user_signals:
            rows.keep(user)
            changed.users[user] = origin
        if out.user:
            changed.users[entity] = origin
        if out.warnings or out.late or out.settled or out.waits:
            self._count(out, entity, input, sent)
        if outcome is APPLIED and record.type == "turn":
            if type(input) is Input and record.replaces is not None:
                self._retract(input, origin, sent)
            if self.extract is not None:
                self._extract(self.extract, input, origin, sent)
        return outcome

    def _refuse(
        self,
        error: Exception,
        entity: E,
        users: Iterable[E],
        input: Input | Signalled,
        line: bytes,
        sent: S,
    ) -> Outcome:
        """Rolls back a failed record, unless it keeps its writes, and emits its dead letter."""
        if isinstance(error, Refused) and error.keeps:
            self.rows.keep(entity)
        for touched in (entity, *users):
            touched.rollback()
        reason, detail = verdict(error)
        at = input.record.occurred_at if type(input) is Input else input.signal.occurred_at  # type: ignore[union-attr]
        dead = Dead(reason, detail, line, entity.tenant, f"{entity.tenant}/{entity.key}", at)
        self.emit.refused(dead, error, entity, input, sent)
        return Outcome("dead", reason, detail)

    def _count(self, out: Effects, entity: E, input: Input | Signalled, sent: S) -> None:
        """Counts warnings and late outcomes of earlier records; earlier counts do not change."""
        self.warnings.update(out.warnings)
        for late in out.late:
            dead = Dead(late.reason, late.detail, late.doc.encode(), entity.tenant, None,
                        late.occurred_at)  # fmt: skip
            self.emit.late(dead, late, entity, input, sent)
        counted = {WAITING: int(out.waits), SETTLED: out.settled, LATE: len(out.late)}
        self.counts.update({name: count for name, count in counted.items() if count})

    def _extract(self, extractor: Extractor, turn: Any, origin: O, sent: S) -> None:
        """Runs the extractor on a turn; the plan is sent or folded here. The turn stays applied if
        the extractor fails or its plan is not JSON."""
        try:
            plan = extractor.extract(turn.record)
            if plan is None:
                return
            if not isinstance(plan, dict):
                raise TypeError(f"a plan is an object, not {type(plan).__name__}")
            line = self.emit.plan(plan, turn.record, origin)
        except StoreError:  # not caused by the record
            raise
        except Exception as error:
            plan = failure(extractor.name, turn.record, error)
            if plan is None:
                return
            line = self.emit.plan(plan, turn.record, origin)
        self._count_plan(line, turn, sent)

    def _retract(self, turn: Any, origin: O, sent: S) -> None:
        """Emits a plan that ends the memory of the turn that this turn replaces."""
        plan = retract_turns.of_turn(turn.record)
        if plan is not None:
            self._count_plan(self.emit.plan(plan, turn.record, origin), turn, sent)

    def _count_plan(self, line: bytes | None, turn: Any, sent: S) -> None:
        """Counts a plan derived from a turn, and folds it unless it was sent."""
        if line is None:
            self.counts[EXTRACTED] += 1
            return
        plan = decode(line, turn.source)
        if type(plan) is Input:
            plan = replace(plan, recorded_at=turn.recorded_at)
        outcome = self._end(plan, line, sent)
        self.counts[f"{EXTRACTED}_{outcome.ending}"] += 1
        if outcome is APPLIED and type(plan) is Input:
            self.found += noted(plan.record)

    def take_changed(self) -> Changed[E, O]:
        """Returns the changes since the last call."""
        changed, self.changed = self.changed, Changed()
        return changed


def noted(plan: Any) -> int:
    """Returns the number of states and preferences that a plan writes, without ends."""
    states = {update.state_id for update in plan.state_updates if update.op == "upsert"}
    preferences: int = sum(update.op != "revoke" for update in plan.preference_updates)
    return len(states) + preferences


def _of_signal(signal: Signalled) -> tuple[Any, str, str, str, Fold]:
    return signal.cause, "users", signal.tenant, signal.signal.user_id, _fold_signal


def _fold_signal(rows: Rows, signal: Signalled, out: Effects) -> Outcome:
    memory.fold_signal(rows, signal.signal, out)
    out.user = True
    return APPLIED


def verdict(error: Exception) -> tuple[Reason, str]:
    """Returns reason and detail of the dead letter after an exception: an error in a fold must not
    stop the stream."""
    if isinstance(error, Refused):
        return error.reason, error.detail
    return "fold_failed", f"{type(error).__name__}: {error}"
