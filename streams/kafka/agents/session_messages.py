"""What records of sessions cause, as messages: history rows, signals of users, documents."""

from collections.abc import Container, Iterable
from typing import Any

from schemas.generated import history
from streams.folds import documents
from streams.folds.rows import Effects, Input
from streams.folds.task import TASKS as TASK_ROWS
from streams.kafka.agents import user_signal
from streams.kafka.agents.emitter import MessageEmitter
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.table import Held
from streams.kafka.transport.processing import Output
from streams.observing.traces import Headers
from streams.pipeline.decode import Dead
from streams.pipeline.document_rows import session_row, task_row
from streams.pipeline.ports import Signalled
from streams.pipeline.processor import Changed
from streams.topology import (
    OUTPUT_BYTES,
    SESSION_AGENT,
    SESSION_CONTEXTS,
    SESSIONS,
    TASKS,
    USER_SIGNALS,
)

SURELY_FITS = OUTPUT_BYTES // 16
"""Characters of a plain turn's JSON: its row has at most a dozen bytes for each."""


def _surely_fits(said: Input | Signalled) -> bool:
    """Whether no row of a record can be too large, so that its encoding can wait."""
    return type(said) is Input and said.plain and len(said.doc) <= SURELY_FITS


class SessionMessages(MessageEmitter):
    """The session agent's. `opened`: sessions that were cold, and something of them changed."""

    agent = SESSION_AGENT

    @property
    def marks(self) -> Headers:
        """Headers of the batch's user signals besides where they come from."""
        return [user_signal.AGAIN] if self.again else []

    def begin(self, version: int = 0) -> None:
        super().begin(version)
        self.opened: dict[Held, Origin] = {}
        self._waiting: list[tuple[Effects, Origin, list[Output] | None]] = []

    def emitted(self, entity: Held, out: Effects, said: Input | Signalled, sent: Any) -> Origin:
        origin = self.origin_of(said, entity, sent)
        if out.waits:
            self.outcomes.waits(sent.topic, sent.offset)
        rows = None if _surely_fits(said) else self.outbox.rows(out.history, out.owner, origin)
        self._waiting.append((out, origin, rows))
        if entity.cold is not None and entity.is_changed:
            self.opened[entity] = origin
        return origin

    def refused(
        self, dead: Dead, error: Exception, entity: Held, said: Input | Signalled, sent: Any
    ) -> None:
        super().refused(dead, error, entity, said, sent)
        if entity.cold is not None and entity.is_changed:
            self.opened[entity] = self.origin_of(said, entity, sent)

    def encode_waiting(self) -> None:
        outbox = self.outbox
        for out, origin, rows in self._waiting:
            outbox.outputs += outbox.rows(out.history, out.owner, origin) if rows is None else rows
            for signal in out.signals:
                tenant, turn = out.scope[0], out.record
                recorded_at = time_text(origin.source.recorded_at)
                value = user_signal.encode(signal, tenant, turn.status, recorded_at)  # type: ignore[attr-defined]
                key = key_of(tenant, signal.user_id)
                outbox.hashed(USER_SIGNALS.name, key, value, origin, self.marks)
        self._waiting.clear()

    # --- documents ------------------------------------------------------------------------------

    def write(self, changed: Changed[Held, Origin], past: Container[Held]) -> None:
        """The newest documents of what changed. Of sessions that are `past` their retention the
        history alone is told."""
        for entity, origin in self.opened.items():
            if entity not in past:
                self._tell_again(entity, origin, changed)
        for entity, origin in changed.sessions.items():
            self._write_session(entity, origin, entity not in past)
        for (entity, task_id), origin in changed.tasks.items():
            self._write_task(entity, task_id, origin, entity not in past)

    def end(self, entity: Held, task_ids: Iterable[str], origin: Origin) -> None:
        """Ends a session's keys in the compacted topics."""
        key = key_of(entity.tenant, entity.key)
        for topic in (SESSIONS, SESSION_CONTEXTS):
            self.outbox.document(topic.name, key, None, origin)
        for task_id in task_ids:
            task = key_of(entity.tenant, entity.key, task_id)
            self.outbox.document(TASKS.name, task, None, origin)

    def _tell_again(self, entity: Held, origin: Origin, changed: Changed[Held, Origin]) -> None:
        """The documents of a session that was cold, but for those that changed: their keys had
        ended in the compacted topics."""
        if entity not in changed.sessions:
            document = documents.session(entity, self.rules)
            row = session_row(entity, self.rules, document)
            self._tell_session(entity, row, document, origin)
        for task_id in TASK_ROWS.ids(entity):
            if (entity, task_id) not in changed.tasks:
                self._tell_task(entity, task_row(entity, task_id, self.rules), origin)

    def _write_session(self, entity: Held, origin: Origin, told: bool) -> None:
        """The document for the history; where it is `told`, for the compacted topics, too."""
        document = documents.session(entity, self.rules)
        row = session_row(entity, self.rules, document, self.version)
        self.outbox.document_row(row, key_of(entity.tenant, entity.key), origin)
        if told:
            self._tell_session(entity, row, document, origin)

    def _tell_session(
        self, entity: Held, row: history.Session, document: Any, origin: Origin
    ) -> None:
        key = key_of(entity.tenant, entity.key)
        self.outbox.document(SESSIONS.name, key, row.doc.encode(), origin)
        if document["context"] is not None:
            value = to_json(document["context"])
            self.outbox.document(SESSION_CONTEXTS.name, key, value, origin)

    def _write_task(self, entity: Held, task_id: str, origin: Origin, told: bool) -> None:
        row = task_row(entity, task_id, self.rules, self.version)
        self.outbox.document_row(row, key_of(entity.tenant, entity.key), origin)
        if told:
            self._tell_task(entity, row, origin)

    def _tell_task(self, entity: Held, row: history.Task, origin: Origin) -> None:
        key, value = key_of(entity.tenant, entity.key, row.task_id), row.doc.encode()
        self.outbox.document(TASKS.name, key, value, origin)
