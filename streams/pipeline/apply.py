"""Records through both hops of the topology, and what comes of them until the next commit.

One place for the rules both tiers share: what a record ends as, that a fold which raises
leaves nothing behind, and which rows each record causes.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from typing import Any, Literal

import msgspec

from schemas.base import DAY
from schemas.events import Record
from schemas.row import replace
from streams.extractors.naming import Extract
from streams.folds import documents, learner, memory, session, task
from streams.folds.rows import Effects, Input, Late, Outcome, Refused
from streams.folds.rules import Rules
from streams.folds.session_state import visible
from streams.pipeline.decode import Dead, Given, Withheld, decode
from streams.pipeline.distinct import Distinct
from streams.pipeline.entity import Entity
from streams.pipeline.ports import RowSource, StoreError

Row = tuple[Any, ...]
Place = tuple[str, int, int]
Suffix = tuple[str, int, str, int, int]  # tenant, recorded_at, src_topic, src_partition, src_offset
TENANT = -6  # where a row has it: the suffix and the date stand at its end
Ending = Outcome | Literal["withheld"] | Dead
"""What a record ended as (docs/laws.md, "Nothing vanishes")."""

EXTRACTED = "extracted_"
"""Before what a plan ended as that was made of a turn here: no input record."""

_json = msgspec.json.Encoder().encode


class Applier:
    """Folds records into `store`, collecting history rows and counts until they are taken.

    `extract` finds memory in turns; its plans come behind their turns. `rules`: of the generation
    that `store` holds.
    """

    def __init__(
        self, store: RowSource, extract: Extract | None = None, rules: Rules | None = None
    ) -> None:
        self.store = store
        self.rules = rules or Rules()
        self.extract = extract
        self.counts: Counter[str] = Counter()
        self.warnings: Counter[str] = Counter()
        self.rows: defaultdict[str, list[Row]] = defaultdict(list)
        self.forget_touched()
        self._sessions: dict[Entity, Suffix] = {}
        self._tasks: dict[tuple[Entity, str], Suffix] = {}
        self._users: dict[Entity, Suffix] = {}
        self._last_recorded_at = 0

    def forget_touched(self) -> None:
        """Counts anew what was touched."""
        self.touched = {name: Distinct() for name in ("sessions", "tasks", "users", "states")}

    def apply(
        self,
        lines: list[Given],
        recorded_at: int | None = None,
        read: Sequence[Input | None] | None = None,
    ) -> list[Ending]:
        """Some records as bytes, each with its topic (or path), partition and offset (or line);
        what each ended as. `recorded_at`: when the log took them, if it is not theirs to say.
        `read`: what they say, where they were decoded before they had a place and that was kept.

        All are decoded, then all are folded: each step finds its code and data in the cache.
        """
        decoded: list[Input | Dead | Withheld]
        if read is None:
            decoded = [decode(line, source) for line, source in lines]
        else:
            decoded = [
                decode(line, source)
                if given is None
                else given
                if given.source == source
                else replace(given, source=source)
                for given, (line, source) in zip(read, lines, strict=True)
            ]
        if recorded_at is not None:
            self._last_recorded_at = recorded_at
            decoded = [
                replace(given, recorded_at=recorded_at) if type(given) is Input else given
                for given in decoded
            ]
        endings: list[Ending] = []
        for given, (line, source) in zip(decoded, lines, strict=True):
            ending: Ending
            if type(given) is Input:
                self._last_recorded_at = given.recorded_at
                ending = self._fold(given, line)
            else:
                ending = self._bury(given, source) if isinstance(given, Dead) else "withheld"
            endings.append(ending)
        self.counts.update(map(name_of, endings))
        self.counts["read"] += len(lines)
        return endings

    def _fold(self, given: Input, line: bytes) -> Outcome | Dead:
        record = given.record
        tenant = record.tenant
        table, key = owner_of(record)
        entity = self.store.entity(table, tenant, key)
        out = Effects(key, (tenant, table, key), record, self.rules)
        users: list[Entity] = []
        try:
            fold = session.fold if table == "sessions" else memory.fold
            outcome: Outcome = fold(entity, given, out)
            for signal in out.signals:  # the second hop: what a turn means for its user
                user = self.store.entity("users", tenant, signal.user_id)
                users.append(user)
                memory.fold_signal(user, signal, out)
        except StoreError:  # of no record's making
            raise
        except Exception as error:
            if isinstance(error, Refused) and error.keeps:
                self.store.keep(entity)
            return self._refuse(*verdict(error), given, line, (entity, *users))
        self._collect(entity, users, given, out)
        if self.extract is not None and outcome == "applied" and record.type == "turn":
            self._extract(self.extract, given)
        return outcome

    def _extract(self, extract: Extract, given: Input) -> None:
        """What a turn says that is worth remembering. No input record, so it is counted apart."""
        plan = extract(given.record)
        if plan is None:
            return
        line = _json(plan)
        made = decode(line, given.source)
        if type(made) is Input:
            ending = self._fold(replace(made, recorded_at=given.recorded_at), line)
        else:
            assert isinstance(made, Dead)
            ending = self._bury(made, given.source, given.recorded_at)
        self.counts[EXTRACTED + name_of(ending)] += 1

    def _refuse(
        self, reason: str, detail: str, given: Input, line: bytes, touched: tuple[Entity, ...]
    ) -> Dead:
        for entity in touched:
            entity.rollback()
        record = given.record
        key = f"{record.tenant}/{owner_of(record)[1]}"
        dead = Dead(reason, detail, line, record.tenant, key, record.occurred_at)
        return self._bury(dead, given.source, given.recorded_at)

    def _bury(self, dead: Dead, source: Place, recorded_at: int | None = None) -> Dead:
        at = self._last_recorded_at if recorded_at is None else recorded_at
        self.rows["dead_letters"].append(dead_row(dead, (dead.tenant, at, *source)))
        return dead

    def _collect(self, entity: Entity, users: list[Entity], given: Input, out: Effects) -> None:
        suffix: Suffix = (entity.tenant, given.recorded_at, *given.source)
        rows = self.rows
        for name, at, values in out.rows:
            rows[name].append(values + suffix + (at // DAY,))
        self.store.keep(entity)
        if out.session:
            self._sessions[entity] = suffix
        for task_id in out.tasks:
            self._tasks[entity, task_id] = suffix
        for user in users:
            self.store.keep(user)
            self._users[user] = suffix
        if out.user:
            self._users[entity] = suffix
        if entity.where[0] == "users":
            self.touched["users"].add((entity.tenant, entity.key))
        for warning in out.warnings:
            self.warnings[warning] += 1
        for late in out.late:
            self._bury_late(late, given)
        if out.revived:
            self.counts["applied"] += out.revived
            self.counts["dead"] -= out.revived

    def _bury_late(self, late: Late, given: Input) -> None:
        """A waiting record that fits nothing: no longer applied, but a dead letter."""
        self._bury(dead_of(late, given.record.tenant), given.source, given.recorded_at)
        self.counts["applied"] -= 1
        self.counts["dead"] += 1

    def take_rows(self) -> dict[str, list[Row]]:
        """The rows since they were last taken, without documents."""
        rows, self.rows = self.rows, defaultdict(list)
        revisions = rows.get("revisions", ())
        self.counts["revisions"] += len(revisions)
        of_states = ((row[TENANT], row[3]) for row in revisions if row[2] == "state")
        self.touched["states"].update(of_states)
        return rows

    def take_documents(self, most: int = 512) -> Iterator[dict[str, list[Row]]]:
        """The newest document of each key that changed since they were last taken, some at a
        time: together they can be larger than all else."""
        sessions, tasks, users = self._sessions, self._tasks, self._users
        self._sessions, self._tasks, self._users = {}, {}, {}
        for entity, suffix in sessions.items():
            self._write_session(entity, suffix)
            if len(self.rows["sessions"]) >= most:
                yield self.take_rows()
        for key, suffix in tasks.items():
            self._write_task(*key, suffix)
            if len(self.rows["tasks"]) >= most:
                yield self.take_rows()
        for entity, suffix in users.items():
            self._write_profile(entity, suffix)
            if len(self.rows["profiles"]) >= most:
                yield self.take_rows()
        yield self.take_rows()
        for seen in self.touched.values():
            seen.pack()

    def _write_session(self, entity: Entity, suffix: Suffix) -> None:
        self.touched["sessions"].add((entity.tenant, entity.key))
        self.rows["sessions"].append(session_row(entity, suffix, self.rules))

    def _write_profile(self, entity: Entity, suffix: Suffix) -> None:
        self.touched["users"].add((entity.tenant, entity.key))
        self.rows["profiles"].append(profile_row(entity, suffix, self.rules))

    def _write_task(self, entity: Entity, task_id: str, suffix: Suffix) -> None:
        self.touched["tasks"].add((entity.tenant, entity.key, task_id))
        self.rows["tasks"].append(task_row(entity, task_id, suffix, self.rules))


def name_of(ending: Ending) -> str:
    """Under which name an ending is counted."""
    return "dead" if isinstance(ending, Dead) else ending


def verdict(error: Exception) -> tuple[str, str]:
    """Reason and detail of the dead letter of a record whose fold raised: a fault of ours must
    not stop the stream (docs/kafka-tier.md, "What an error does")."""
    if isinstance(error, Refused):
        return error.reason, error.detail
    return "fold_failed", f"{type(error).__name__}: {error}"


def dead_of(late: Late, tenant: str) -> Dead:
    """The dead letter of a record that waited and fits nothing."""
    topic, _, offset = late.source
    detail = f"{late.detail} (the result came at {topic}:{offset})"
    return Dead(late.reason, detail, late.doc.encode(), tenant, None, late.occurred_at)


def owner_of(record: Record) -> tuple[str, str]:
    """The table and key a record is folded under."""
    said: Any = record
    kind = record.type  # not by class: pydantic's `isinstance` takes as long as a look-up
    if kind == "write_plan" or (kind == "signal" and said.scope == "user"):
        return "users", said.user_id
    return "sessions", said.session_id


def session_row(
    entity: Entity, suffix: Suffix, rules: Rules, known: dict[str, Any] | None = None
) -> Row:
    """A row of `sessions`: the newest document, where it is not `known`."""
    document = known or documents.session(entity, rules)
    header = visible(entity, entity.get("h"), rules)
    created_at, updated_at = header.created_at, header.updated_at
    keys = (entity.key, document["user_id"], document["status"], document["closed_reason"])
    return (*keys, created_at, updated_at, _json(document).decode(), *suffix, updated_at // DAY)


def task_row(entity: Entity, task_id: str, suffix: Suffix, rules: Rules) -> Row:
    """A row of `tasks`: the newest document."""
    latest = documents.latest_turn(entity, rules) if entity.get("h") else None
    document = task.document(entity, rules, task_id, latest)
    machine = document["global"]
    updated_at = entity.get(f"t/{task_id}").updated_at
    keys = (entity.key, task_id, machine["status"], machine["iteration"], machine["max_iteration"])
    flags = (machine["forced"], machine["stalled"], updated_at)
    return (*keys, *flags, _json(document).decode(), *suffix, updated_at // DAY)


def profile_row(entity: Entity, suffix: Suffix, rules: Rules) -> Row:
    """A row of `profiles`: the newest document."""
    document = learner.document(entity, rules, entity.key)
    updated_at = entity.get("l").updated_at
    return (entity.key, updated_at, _json(document).decode(), *suffix, updated_at // DAY)


def dead_row(dead: Dead, suffix: Suffix, headers: str | None = None) -> Row:
    """A row of `dead_letters`; its date is that of what the record says, if it says when."""
    at = suffix[1] if dead.occurred_at is None else dead.occurred_at
    return (dead.reason, dead.detail, dead.payload, dead.key, headers, *suffix, at // DAY)
