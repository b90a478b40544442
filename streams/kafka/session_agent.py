"""The session agent: turns and recursions into sessions and tasks (design 04)."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.row import replace
from schemas.rows import TABLES
from streams.extractors.naming import Extract
from streams.folds import documents, session
from streams.folds.rows import Effects, Input, Outcome
from streams.kafka import hop
from streams.kafka.agent import Agent
from streams.kafka.encoding import Origin, key_of, to_json
from streams.kafka.processing import Batch, Output, Row
from streams.kafka.retention import Retention
from streams.kafka.rows import RowStore
from streams.kafka.table import Held
from streams.runtime.apply import session_row, task_row
from streams.topology import (
    OUTPUT_BYTES,
    SESSION_CONTEXTS,
    SESSIONS,
    TASKS,
    USER_SIGNALS,
    WRITE_PLANS,
)

SESSION_DOC = list(TABLES["sessions"].model_fields).index("doc")
TASK_DOC = list(TABLES["tasks"].model_fields).index("doc")

SURELY_FITS = OUTPUT_BYTES // 16
"""Characters of a plain turn's JSON: its row has at most a dozen bytes for each."""


def _surely_fits(given: Input) -> bool:
    """Whether no row of a record can be too large, so that its encoding can wait."""
    return given.plain and len(given.doc) <= SURELY_FITS


class SessionAgent(Agent):
    """Turns, recursions, tool results, session signals. `retention`: see `Retention`; `extract`
    finds memory in turns, as write plans that go with what else the turn causes."""

    table_name = "sessions"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        retention: int | None,
        extract: Extract | None = None,
        origin: type[Origin] = Origin,
    ) -> None:
        super().__init__(partition, rows, partitions, origin=origin)
        self.retention = Retention(retention)
        self.extract = extract
        self._sessions: dict[Held, Origin] = {}
        self._tasks: dict[tuple[Held, str], Origin] = {}
        self._dropped: dict[tuple[Held, str | None], Origin] = {}
        self._untold: list[tuple[Effects, Origin, list[Output] | None]] = []

    def fold(self, record: Any, given: Input) -> str:
        said: Any = given.record
        tenant, key = said.tenant, said.session_id
        recorded_at = record.timestamp * 1000
        entity = self.table.entity(tenant, key)
        origin = self.origin(record, tenant, recorded_at)
        horizon = self.retention.pass_by(session.stream_time(said.occurred_at, recorded_at))
        if horizon is not None and session.is_over(entity, entity.get("h"), horizon):
            self.drop(entity, origin)
        out = Effects(key, (tenant, "sessions", key), said)
        try:
            known = replace(given, recorded_at=recorded_at, horizon=horizon)
            outcome: Outcome = session.fold(entity, known, out)
            rows = None if _surely_fits(given) else self.outbox.rows(out.rows, key, origin)
        except Exception as error:
            return self.refuse(record, entity, said.occurred_at, error)
        self.keep(record, entity, out)
        self._untold.append((out, origin, rows))
        if self.extract is not None and outcome == "applied" and said.type == "turn":
            self._extract(self.extract, said, origin)
        if out.session:
            self._sessions[entity] = origin
        for task_id in out.tasks:
            self._tasks[entity, task_id] = origin
        if outcome == "after_retention":
            self.counts["after_retention"] += 1
            return "applied"
        return outcome

    def _extract(self, extract: Extract, turn: Any, origin: Origin) -> None:
        plan = extract(turn)
        if plan is not None:
            user = key_of(turn.tenant, turn.user_id)
            value = to_json({**plan, "recorded_at": origin.recorded_at})
            self.outbox.hashed(WRITE_PLANS.name, user, value, origin)
            self.counts["extracted"] += 1

    def process(self, records: Sequence[Any]) -> Batch:
        self._sessions, self._tasks, self._dropped, self._untold = {}, {}, {}, []
        return super().process(records)

    def tell(self) -> None:
        outbox = self.outbox
        for out, origin, rows in self._untold:
            outbox.outputs += outbox.rows(out.rows, out.owner, origin) if rows is None else rows
            for signal in out.signals:
                tenant, said = out.scope[0], out.record
                value = hop.encode(signal, tenant, said.status, origin.recorded_at)  # type: ignore[attr-defined]
                outbox.hashed(USER_SIGNALS.name, key_of(tenant, signal.user_id), value, origin)
        self._untold.clear()

    # --- retention ------------------------------------------------------------------------------

    def drop(self, entity: Held, origin: Origin) -> None:
        """Garbage control: its rows go; the history keeps its last documents."""
        self.write_session(entity)
        for _, task_id in [key for key in self._tasks if key[0] is entity]:
            self.write_task(entity, task_id)
        self._dropped[entity, None] = origin
        for name in entity.names("t/"):
            self._dropped[entity, name[2:]] = origin
        session.drop(entity)
        self.table.keep(entity)
        self.counts["sessions_dropped"] += 1

    def sweep(self) -> None:
        """Drops sessions that nobody speaks in any more, some each batch."""
        origin = next(reversed(self._sessions.values()), None)
        horizon = self.retention.horizon
        if origin is None or horizon is None:
            return
        for where in self.retention.due():
            entity = self.table.find(where)
            if session.is_over(entity, entity.get("h"), horizon):
                self.drop(entity, origin)

    # --- documents ------------------------------------------------------------------------------

    def finish(self) -> None:
        self.sweep()
        for entity in list(self._sessions):
            self.write_session(entity)
        for entity, task_id in list(self._tasks):
            self.write_task(entity, task_id)
        for (entity, task), origin in self._dropped.items():
            tenant, key = entity.tenant, entity.key
            if task is None and entity.get("h") is None:
                for topic in (SESSIONS, SESSION_CONTEXTS):
                    self.outbox.document(topic.name, key_of(tenant, key), None, origin)
            elif task is not None and entity.get(f"t/{task}") is None:
                self.outbox.document(TASKS.name, key_of(tenant, key, task), None, origin)

    def write_session(self, entity: Held) -> None:
        origin = self._sessions.pop(entity, None)
        if origin is None:
            return
        document = documents.session(entity)
        row = session_row(entity, origin.suffix, document)
        key = key_of(entity.tenant, entity.key)
        self.outbox.document_row("sessions", row, key, origin)
        self.outbox.document(SESSIONS.name, key, row[SESSION_DOC].encode(), origin)
        if document["context"] is not None:
            value = to_json(document["context"])
            self.outbox.document(SESSION_CONTEXTS.name, key, value, origin)

    def write_task(self, entity: Held, task_id: str) -> None:
        origin = self._tasks.pop((entity, task_id))
        row = task_row(entity, task_id, origin.suffix)
        self.outbox.document_row("tasks", row, key_of(entity.tenant, entity.key), origin)
        key, value = key_of(entity.tenant, entity.key, task_id), row[TASK_DOC].encode()
        self.outbox.document(TASKS.name, key, value, origin)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["stream_time"] = self.retention.stream_time
        return note

    def found(self, heads: Sequence[Row]) -> None:
        for key, header in heads:
            if key.endswith(b"\0h"):
                self.retention.saw(key[:-2], header)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.retention.stream_time = note.get("stream_time", 0)

    def reset(self) -> None:
        self.retention.clear()
        super().reset()
