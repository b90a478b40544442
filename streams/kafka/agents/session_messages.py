"""Messages of sessions' records: history rows, user signals, documents."""

from collections.abc import Container, Iterable
from typing import Any

from schemas.generated import history
from streams.folds import documents
from streams.folds.effects import Effects, Input
from streams.folds.task import TASKS as TASK_ROWS
from streams.kafka.agents import user_signal
from streams.kafka.agents.emitter import FoldedRecord, MessageEmitter
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.table import LaneEntity
from streams.kafka.transport.interfaces import Output
from streams.observability.traces import Headers
from streams.pipeline.decode import Dead
from streams.pipeline.document_rows import session_row, task_row
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
"""Characters of a plain turn's JSON: its row has at most a dozen bytes per character."""


def _fits_surely(record: FoldedRecord) -> bool:
    """Whether all rows of a record are below the size limit, so that encoding can wait."""
    return type(record) is Input and record.plain and len(record.doc) <= SURELY_FITS


class SessionEmitter(MessageEmitter):
    """The session agent's emitter. `opened`: cold sessions that changed."""

    agent = SESSION_AGENT

    @property
    def marks(self) -> Headers:
        """Additional headers of the batch's user signals."""
        return [user_signal.AGAIN] if self.again else []

    def begin(self, version: int = 0) -> None:
        super().begin(version)
        self.opened: dict[LaneEntity, Origin] = {}
        self._waiting: list[tuple[Effects, Origin, list[Output] | None]] = []

    def emitted(
        self, entity: LaneEntity, effects: Effects, record: FoldedRecord, message: Any
    ) -> Origin:
        origin = self.origin_of(record, entity, message)
        if effects.waits:
            self.outcomes.waits(message.topic, message.offset)
        rows = (
            None
            if _fits_surely(record)
            else self.outbox.rows(effects.history, effects.owner, origin)
        )
        self._waiting.append((effects, origin, rows))
        if entity.cold is not None and entity.is_changed:
            self.opened[entity] = origin
        return origin

    def refused(
        self, dead: Dead, error: Exception, entity: LaneEntity, record: FoldedRecord, message: Any
    ) -> None:
        super().refused(dead, error, entity, record, message)
        if entity.cold is not None and entity.is_changed:
            self.opened[entity] = self.origin_of(record, entity, message)

    def encode_waiting(self) -> None:
        outbox = self.outbox
        for effects, origin, rows in self._waiting:
            outbox.outputs += (
                outbox.rows(effects.history, effects.owner, origin) if rows is None else rows
            )
            for signal in effects.signals:
                tenant, turn = effects.scope[0], effects.record
                recorded_at = time_text(origin.source.recorded_at)
                value = user_signal.encode(signal, tenant, turn.status, recorded_at)  # type: ignore[attr-defined]
                key = key_of(tenant, signal.user_id)
                outbox.hashed(USER_SIGNALS.name, key, value, origin, self.marks)
        self._waiting.clear()

    # --- documents ------------------------------------------------------------------------------

    def write(self, changed: Changed[LaneEntity, Origin], past: Container[LaneEntity]) -> None:
        """Writes the newest documents of changed entities. Sessions `past` their retention go to
        the history only."""
        for entity, origin in self.opened.items():
            if entity not in past:
                self._republish(entity, origin, changed)
        for entity, origin in changed.sessions.items():
            self._write_session(entity, origin, entity not in past)
        for (entity, task_id), origin in changed.tasks.items():
            self._write_task(entity, task_id, origin, entity not in past)

    def end(self, entity: LaneEntity, task_ids: Iterable[str], origin: Origin) -> None:
        """Deletes a session's keys in the compacted topics."""
        key = key_of(entity.tenant, entity.key)
        for topic in (SESSIONS, SESSION_CONTEXTS):
            self.outbox.document(topic.name, key, None, origin)
        for task_id in task_ids:
            task = key_of(entity.tenant, entity.key, task_id)
            self.outbox.document(TASKS.name, task, None, origin)

    def _republish(
        self, entity: LaneEntity, origin: Origin, changed: Changed[LaneEntity, Origin]
    ) -> None:
        """Publishes the unchanged documents of a session that was cold: their keys had been deleted
        from the compacted topics."""
        if entity not in changed.sessions:
            document = documents.session(entity, self.rules)
            row = session_row(entity, self.rules, document)
            self._publish_session(entity, row, document, origin)
        for task_id in TASK_ROWS.ids(entity):
            if (entity, task_id) not in changed.tasks:
                self._publish_task(entity, task_row(entity, task_id, self.rules), origin)

    def _write_session(self, entity: LaneEntity, origin: Origin, is_open: bool) -> None:
        """Writes the document to the history and, for an open session, to the compacted topics."""
        document = documents.session(entity, self.rules)
        row = session_row(entity, self.rules, document, self.version)
        self.outbox.document_row(row, key_of(entity.tenant, entity.key), origin)
        if is_open:
            self._publish_session(entity, row, document, origin)

    def _publish_session(
        self, entity: LaneEntity, row: history.Session, document: Any, origin: Origin
    ) -> None:
        key = key_of(entity.tenant, entity.key)
        self.outbox.document(SESSIONS.name, key, row.doc.encode(), origin)
        if document["context"] is not None:
            value = to_json(document["context"])
            self.outbox.document(SESSION_CONTEXTS.name, key, value, origin)

    def _write_task(self, entity: LaneEntity, task_id: str, origin: Origin, is_open: bool) -> None:
        row = task_row(entity, task_id, self.rules, self.version)
        self.outbox.document_row(row, key_of(entity.tenant, entity.key), origin)
        if is_open:
            self._publish_task(entity, row, origin)

    def _publish_task(self, entity: LaneEntity, row: history.Task, origin: Origin) -> None:
        key, value = key_of(entity.tenant, entity.key, row.task_id), row.doc.encode()
        self.outbox.document(TASKS.name, key, value, origin)
