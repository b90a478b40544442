"""What a record ends as, decided once for every tier.

`RecordProcessor` finds the rows that a record is folded into, calls the fold, keeps what it wrote
or takes it back, makes the dead letter of what is refused, counts, has turns extracted, and notes
whose newest documents are due. Rows come from a `RowSource`, effects go to an `Emitter`: these two
are all that differs between files, Kafka and a session folded again (`streams.pipeline.ports`).
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic

from schemas.dead_letters import Reason
from schemas.row import replace
from streams.extractors.naming import Extractor, failure
from streams.folds import memory
from streams.folds.outcome import APPLIED, SKIPPED, WITHHELD, Outcome
from streams.folds.rows import Effects, Input, Refused, Rows, UserSignal
from streams.folds.rules import Rules
from streams.kinds import Fold, kind_of
from streams.pipeline import retracting
from streams.pipeline.decode import Dead, Decoded, decode
from streams.pipeline.ports import E, Emitter, O, RowSource, S, Signalled, StoreError

EXTRACTED = "extracted"
"""Counts plans that were made of turns; `extracted_` and an ending those folded at once. No input
record is behind them, so that they are counted apart."""
WAITING, SETTLED, LATE = "waiting", "settled", "late"
"""Counts of tool results: those that were applied and wait for their recursion; those that had
waited, or were dead letters, and fit after all; those that were applied and became dead letters."""


@dataclass(slots=True)
class Changed(Generic[E, O]):
    """What has a newer document, each with the origin of the last record that changed it."""

    sessions: dict[E, O] = field(default_factory=dict)
    tasks: dict[tuple[E, str], O] = field(default_factory=dict)
    users: dict[E, O] = field(default_factory=dict)


class RecordProcessor(Generic[E, S, O]):
    """Folds records into `rows` under `rules` and gives what they cause to `emit`. `extract` finds
    memory in turns; its plans come behind their turns."""

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
        """`read = applied + duplicate + dead + withheld + skipped`, and beside these `EXTRACTED`,
        `WAITING`, `SETTLED` and `LATE`. None ever goes down."""
        self.warnings: Counter[str] = Counter()
        self.found = 0
        """Facts and preferences in the plans of `extract` that were folded here."""
        self.changed: Changed[E, O] = Changed()

    def process(self, found: Decoded, line: bytes, sent: S) -> Outcome:
        """What one input record ends as. `found`: what its bytes, the `line`, were decoded to.
        Raises StoreError."""
        counts = self.counts
        counts["read"] += 1
        outcome = self._end(found, line, sent)
        counts[outcome.ending] += 1
        return outcome

    def process_all(
        self, found: Iterable[Decoded], lines: Sequence[tuple[bytes, S]]
    ) -> list[Outcome]:
        """The same of many, counted together, which takes less time."""
        fold, end = self._fold, self._end
        outcomes = [
            fold(one, line, sent) if type(one) is Input else end(one, line, sent)
            for one, (line, sent) in zip(found, lines, strict=True)
        ]
        self.counts["read"] += len(outcomes)
        self.counts.update([outcome.ending for outcome in outcomes])
        return outcomes

    def signal(self, said: Signalled, line: bytes, sent: S) -> Outcome:
        """A turn's signal, which came as a message, into its user. It is no input record: whoever
        calls this counts it apart. Raises StoreError."""
        return self._fold(said, line, sent)

    def _end(self, found: Decoded, line: bytes, sent: S) -> Outcome:
        if type(found) is Input:
            return self._fold(found, line, sent)
        if isinstance(found, Dead):
            self.emit.unreadable(found, sent)
            return Outcome("dead", found.reason, found.detail)
        return WITHHELD if found == "withheld" else SKIPPED

    def _fold(self, said: Input | Signalled, line: bytes, sent: S) -> Outcome:
        record: Any
        fold: Fold
        if type(said) is Input:
            record = said.record
            kind = kind_of(record)
            table, fold = kind.table, kind.fold
            tenant, key, doc = record.tenant, getattr(record, kind.owner), said.doc
        else:
            record, table, tenant, key, fold = _of_signal(said)  # type: ignore[arg-type]
            doc = ""
        rows = self.rows
        entity = rows.entity(table, tenant, key)
        out = Effects(key, (tenant, table, key), record, self.rules, doc=doc)
        here: Sequence[tuple[E, UserSignal]] = ()
        try:
            outcome = fold(entity, said, out)
            if out.signals:
                here = self.emit.signals(out)
                for user, signal in here:
                    memory.fold_signal(user, signal, out)
            origin = self.emit.emitted(entity, out, said, sent)
        except StoreError:  # of no record's making
            raise
        except Exception as error:
            return self._refuse(error, entity, [user for user, _ in here], said, line, sent)
        rows.keep(entity)
        changed = self.changed
        if out.session:
            changed.sessions[entity] = origin
        for task_id in out.tasks:
            changed.tasks[entity, task_id] = origin
        for user, _ in here:
            rows.keep(user)
            changed.users[user] = origin
        if out.user:
            changed.users[entity] = origin
        if out.warnings or out.late or out.settled or out.waits:
            self._count(out, entity, said, sent)
        if outcome is APPLIED and record.type == "turn":
            if type(said) is Input and record.replaces is not None:
                self._retract(said, origin, sent)
            if self.extract is not None:
                self._extract(self.extract, said, origin, sent)
        return outcome

    def _refuse(
        self,
        error: Exception,
        entity: E,
        users: Iterable[E],
        said: Input | Signalled,
        line: bytes,
        sent: S,
    ) -> Outcome:
        """A record whose fold raised leaves nothing but its dead letter, unless it keeps more."""
        if isinstance(error, Refused) and error.keeps:
            self.rows.keep(entity)
        for touched in (entity, *users):
            touched.rollback()
        reason, detail = verdict(error)
        at = said.record.occurred_at if type(said) is Input else said.signal.occurred_at  # type: ignore[union-attr]
        dead = Dead(reason, detail, line, entity.tenant, f"{entity.tenant}/{entity.key}", at)
        self.emit.refused(dead, error, entity, said, sent)
        return Outcome("dead", reason, detail)

    def _count(self, out: Effects, entity: E, said: Input | Signalled, sent: S) -> None:
        """What a record says of itself and of those before it, which stay counted as they were."""
        self.warnings.update(out.warnings)
        for late in out.late:
            dead = Dead(late.reason, late.detail, late.doc.encode(), entity.tenant, None,
                        late.occurred_at)  # fmt: skip
            self.emit.late(dead, late, entity, said, sent)
        counted = {WAITING: int(out.waits), SETTLED: out.settled, LATE: len(out.late)}
        self.counts.update({name: count for name, count in counted.items() if count})

    def _extract(self, extractor: Extractor, turn: Any, origin: O, sent: S) -> None:
        """What a turn says that is worth remembering, as a plan that is sent or folded here. The
        turn stays applied if no plan can be made of it, or the plan is not JSON."""
        try:
            plan = extractor.extract(turn.record)
            if plan is None:
                return
            if not isinstance(plan, dict):
                raise TypeError(f"a plan is an object, not {type(plan).__name__}")
            line = self.emit.plan(plan, turn.record, origin)
        except StoreError:  # of no record's making
            raise
        except Exception as error:
            plan = failure(extractor.name, turn.record, error)
            if plan is None:
                return
            line = self.emit.plan(plan, turn.record, origin)
        self._count_plan(line, turn, sent)

    def _retract(self, turn: Any, origin: O, sent: S) -> None:
        """What memory made of the turn in whose place this one comes ends, by a plan."""
        plan = retracting.of_turn(turn.record)
        if plan is not None:
            self._count_plan(self.emit.plan(plan, turn.record, origin), turn, sent)

    def _count_plan(self, line: bytes | None, turn: Any, sent: S) -> None:
        """A plan that was made of a turn: sent, or to be folded here."""
        if line is None:
            self.counts[EXTRACTED] += 1
            return
        made = decode(line, turn.source)
        if type(made) is Input:
            made = replace(made, recorded_at=turn.recorded_at)
        outcome = self._end(made, line, sent)
        self.counts[f"{EXTRACTED}_{outcome.ending}"] += 1
        if outcome is APPLIED and type(made) is Input:
            self.found += noted(made.record)

    def take_changed(self) -> Changed[E, O]:
        """What changed since this was last asked."""
        changed, self.changed = self.changed, Changed()
        return changed


def noted(plan: Any) -> int:
    """How many facts, tasks and preferences a write plan states; what it ends does not count."""
    states: int = sum(update.op == "upsert" for update in plan.state_updates)
    preferences: int = sum(update.op != "revoke" for update in plan.preference_updates)
    return states + preferences


def _of_signal(said: Signalled) -> tuple[Any, str, str, str, Fold]:
    return said.cause, "users", said.tenant, said.signal.user_id, _fold_signal


def _fold_signal(rows: Rows, said: Signalled, out: Effects) -> Outcome:
    memory.fold_signal(rows, said.signal, out)
    out.user = True
    return APPLIED


def verdict(error: Exception) -> tuple[Reason, str]:
    """Reason and detail of the dead letter of a record whose fold raised: a fault of ours must
    not stop the stream."""
    if isinstance(error, Refused):
        return error.reason, error.detail
    return "fold_failed", f"{type(error).__name__}: {error}"
