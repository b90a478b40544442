"""The session agent: turns and recursions into sessions and tasks."""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from schemas.row import replace
from schemas.rows import TABLES
from streams.errors import ConfigurationError
from streams.extractors.naming import NAMES, Extract, named, version_of
from streams.folds import documents, session
from streams.folds.rows import Effects, Input, Outcome
from streams.folds.rules import Rules
from streams.folds.session_state import visible
from streams.kafka.agents import user_signal
from streams.kafka.agents.agent import Agent
from streams.kafka.agents.encoding import Origin, key_of, to_json
from streams.kafka.agents.retention import Retention
from streams.kafka.agents.table import Held
from streams.kafka.transport.processing import Batch, Output, Row
from streams.kafka.transport.rows import RowStore
from streams.pipeline.apply import session_row, task_row
from streams.pipeline.retention import is_past
from streams.topology import (
    INPUT_BYTES,
    OUTPUT_BYTES,
    SESSION_CONTEXTS,
    SESSIONS,
    TASKS,
    USER_SIGNALS,
    WRITE_PLANS,
)

log = logging.getLogger(__name__)

SESSION_DOC = list(TABLES["sessions"].model_fields).index("doc")
TASK_DOC = list(TABLES["tasks"].model_fields).index("doc")

SURELY_FITS = OUTPUT_BYTES // 16
"""Characters of a plain turn's JSON: its row has at most a dozen bytes for each."""


NONE = "none"


def _extractor_in(note: Mapping[str, Any]) -> tuple[str, str | None]:
    """Name and version of what made plans, as a marker's note says it."""
    kept = note.get("extractor") or {"name": NONE}
    return kept["name"], kept.get("version")


def _surely_fits(given: Input) -> bool:
    """Whether no row of a record can be too large, so that its encoding can wait."""
    return given.plain and len(given.doc) <= SURELY_FITS


COLD_BYTES = INPUT_BYTES // 2
"""A cold session is one message of the changelog, which has a largest one; a session of more stays
as its rows."""


class SessionAgent(Agent):
    """Turns, recursions, tool results, session signals. `retention`: see `Retention`; `extractor`
    finds memory in turns, as write plans that go with what else the turn causes. It is kept in the
    marker: None goes on with what the marker says."""

    table_name = "sessions"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        retention: int | None,
        extractor: str | None = None,
        origin: type[Origin] = Origin,
        rules: Rules | None = None,
    ) -> None:
        self.retention = Retention(retention)
        self.told = extractor
        self.extractor = NONE
        self.version: str | None = None
        self.extract: Extract | None = None
        self._said = ""
        super().__init__(partition, rows, partitions, origin, rules)
        self._choose({})
        self._sessions: dict[Held, Origin] = {}
        self._tasks: dict[tuple[Held, str], Origin] = {}
        self._opened: dict[Held, Origin] = {}  # they were cold, and something of them changed
        self._untold: list[tuple[Effects, Origin, list[Output] | None]] = []

    def fold(self, record: Any, given: Input) -> str:
        said: Any = given.record
        tenant, key = said.tenant, said.session_id
        recorded_at = record.timestamp * 1000
        entity = self.table.entity(tenant, key)
        origin = self.origin(record, tenant, recorded_at)
        out = Effects(key, (tenant, "sessions", key), said, self.rules)
        try:
            outcome: Outcome = session.fold(entity, replace(given, recorded_at=recorded_at), out)
            rows = None if _surely_fits(given) else self.outbox.rows(out.rows, key, origin)
        except Exception as error:
            ending = self.refuse(record, entity, said.occurred_at, error)
            self._see_if_opened(entity, origin)
            return ending
        self.keep(record, entity, out)
        self._see_if_opened(entity, origin)
        self._untold.append((out, origin, rows))
        if self.extract is not None and outcome == "applied" and said.type == "turn":
            self._extract(self.extract, said, origin)
        if out.session:
            self._sessions[entity] = origin
        for task_id in out.tasks:
            self._tasks[entity, task_id] = origin
        return outcome

    def _see_if_opened(self, entity: Held, origin: Origin) -> None:
        if entity.cold is not None and entity.dirty:
            self._opened[entity] = origin

    def _extract(self, extract: Extract, turn: Any, origin: Origin) -> None:
        plan = extract(turn)
        if plan is not None:
            user = key_of(turn.tenant, turn.user_id)
            value = to_json({**plan, "recorded_at": origin.recorded_at})
            self.outbox.hashed(WRITE_PLANS.name, user, value, origin)
            self.counts["extracted"] += 1

    def process(self, records: Sequence[Any]) -> Batch:
        self._sessions, self._tasks, self._opened, self._untold = {}, {}, {}, []
        if self.retention.horizon is not None:  # whatever comes of a record: its time was seen
            newest = max((one.timestamp for one in records), default=0) * 1000
            self.retention.time = max(self.retention.time, newest)
        return super().process(records)

    def tell(self) -> None:
        outbox = self.outbox
        for out, origin, rows in self._untold:
            outbox.outputs += outbox.rows(out.rows, out.owner, origin) if rows is None else rows
            for signal in out.signals:
                tenant, said = out.scope[0], out.record
                value = user_signal.encode(signal, tenant, said.status, origin.recorded_at)  # type: ignore[attr-defined]
                outbox.hashed(USER_SIGNALS.name, key_of(tenant, signal.user_id), value, origin)
        self._untold.clear()

    # --- retention ------------------------------------------------------------------------------

    def _past(self) -> dict[Held, Origin]:
        """The sessions to be stored cold: those of this batch that are past their retention, and
        some of the others."""
        horizon, changed = self.retention.horizon, self._opened | self._sessions
        if horizon is None or not changed:
            return {}
        origin = next(reversed(changed.values()))
        due = {self.table.find(where): origin for where in self.retention.due()} | changed
        past: dict[Held, Origin] = {}
        for entity, origin in due.items():
            updated_at = visible(entity, entity.get("h"), self.rules).updated_at
            if is_past(updated_at, horizon):
                if len(entity.pack()) <= COLD_BYTES:
                    past[entity] = origin
                else:  # one message cannot hold it
                    self.retention.file(entity.prefix, None)
            else:  # of a turn that has not ended, a header does not tell
                self.retention.file(entity.prefix, updated_at)
        return past

    def _cool(self, entity: Held, origin: Origin) -> None:
        """Stores a session cold. Its keys in the compacted topics end; so they have, if it was cold
        before."""
        if entity.cold is None:
            key = key_of(entity.tenant, entity.key)
            for topic in (SESSIONS, SESSION_CONTEXTS):
                self.outbox.document(topic.name, key, None, origin)
            for name in entity.names("t/"):
                task = key_of(entity.tenant, entity.key, name[2:])
                self.outbox.document(TASKS.name, task, None, origin)
            self.counts["sessions_cooled"] += 1
        entity.cool(compressed=False)
        self.table.keep(entity)

    # --- documents ------------------------------------------------------------------------------

    def finish(self) -> None:
        past = self._past()
        for entity, origin in self._opened.items():
            if entity not in past:
                self._tell_again(entity, origin)
        for entity, origin in self._sessions.items():
            self._write_session(entity, origin, entity not in past)
        for (entity, task_id), origin in self._tasks.items():
            self._write_task(entity, task_id, origin, entity not in past)
        for entity, origin in past.items():
            self._cool(entity, origin)

    def _tell_again(self, entity: Held, origin: Origin) -> None:
        """The documents of a session that was cold, but for those that changed: their keys had
        ended in the compacted topics."""
        if entity not in self._sessions:
            document = documents.session(entity, self.rules)
            row = session_row(entity, origin.suffix, self.rules, document)
            self._tell_session(entity, row, document, origin)
        for name in entity.names("t/"):
            if (entity, name[2:]) not in self._tasks:
                row = task_row(entity, name[2:], origin.suffix, self.rules)
                self._tell_task(entity, name[2:], row, origin)

    def _write_session(self, entity: Held, origin: Origin, told: bool) -> None:
        """The document for the history; where it is `told`, for the compacted topics, too."""
        document = documents.session(entity, self.rules)
        row = session_row(entity, origin.suffix, self.rules, document)
        self.outbox.document_row("sessions", row, key_of(entity.tenant, entity.key), origin)
        if told:
            self._tell_session(entity, row, document, origin)

    def _tell_session(self, entity: Held, row: Any, document: Any, origin: Origin) -> None:
        key = key_of(entity.tenant, entity.key)
        self.outbox.document(SESSIONS.name, key, row[SESSION_DOC].encode(), origin)
        if document["context"] is not None:
            value = to_json(document["context"])
            self.outbox.document(SESSION_CONTEXTS.name, key, value, origin)

    def _write_task(self, entity: Held, task_id: str, origin: Origin, told: bool) -> None:
        row = task_row(entity, task_id, origin.suffix, self.rules)
        self.outbox.document_row("tasks", row, key_of(entity.tenant, entity.key), origin)
        if told:
            self._tell_task(entity, task_id, row, origin)

    def _tell_task(self, entity: Held, task_id: str, row: Any, origin: Origin) -> None:
        key, value = key_of(entity.tenant, entity.key, task_id), row[TASK_DOC].encode()
        self.outbox.document(TASKS.name, key, value, origin)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["stream_time"] = self.retention.time
        if self.extractor != NONE:
            note["extractor"] = {"name": self.extractor, "version": self.version}
        return note

    def has_news(self) -> bool:
        return _extractor_in(self._note) != (self.extractor, self.version)

    def _choose(self, note: Mapping[str, Any]) -> None:
        """As told, else as the marker says; what somebody may not know is logged, once."""
        known, known_version = _extractor_in(note)
        name = known if self.told is None else self.told
        if name not in NAMES:
            raise ConfigurationError(
                f"memory was made by {name!r}, which this version does not have; give --extractor "
                f"with one of {', '.join(NAMES)}"
            )
        if name != self.extractor:
            self.extractor, self.extract, self.version = name, named(name), version_of(name)
        said = ""
        if name == known == NONE or not note:
            return
        if name != known:
            said = f"memory is made by {name} from now on, until now by {known}"
        elif self.version != known_version:
            said = f"memory is made by {name} {self.version} from now on, not {known_version}"
        elif self.told is None:
            said = f"memory is made by {name}, as before; --extractor {NONE} ends it"
        if said not in ("", self._said):
            log.info("session-%d: %s", self.partition, said)
            self._said = said

    def found(self, heads: Sequence[Row]) -> None:
        for key, header in heads:
            if key.endswith(b"\0h"):
                self.retention.saw(key[:-2], header)

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.retention.time = note.get("stream_time", 0)
        self._choose(note)

    def reset(self) -> None:
        self.retention.clear()
        super().reset()
