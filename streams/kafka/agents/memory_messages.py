"""Messages of users' records: history rows, profiles, states and other memory."""

from typing import Any

from schemas.base import parse_time
from schemas.generated.history import Revision
from schemas.memory_kinds import OF_USERS, STATE
from streams.folds import affect, states
from streams.folds.effects import Effects
from streams.folds.revised_kinds import REVISED_KINDS
from streams.kafka.agents.emitter import FoldedRecord, MessageEmitter
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.table import LaneEntity
from streams.pipeline.document_rows import profile_row
from streams.pipeline.processor import Changed
from streams.topology import MEMORY_AGENT, MOODS, PROFILES, REVISED_TOPICS, STATES

KINDS = {revised.kind.name: revised for revised in REVISED_KINDS}


class MemoryEmitter(MessageEmitter):
    agent = MEMORY_AGENT

    def begin(self, version: int = 0) -> None:
        super().begin(version)
        self._changed: dict[tuple[LaneEntity, str, str], Origin] = {}

    def emitted(
        self, entity: LaneEntity, effects: Effects, record: FoldedRecord, message: Any
    ) -> Origin:
        origin = self.origin_of(record, entity, message)
        self.outbox.outputs += self.outbox.rows(effects.history, effects.owner, origin)
        for row in effects.history:
            if isinstance(row, Revision) and row.entity_type in OF_USERS:
                self._changed[entity, row.entity_type, row.entity_id] = origin
        return origin

    def write(self, changed: Changed[LaneEntity, Origin]) -> None:
        """Writes the newest documents of changed entities."""
        for entity, origin in changed.users.items():
            row = profile_row(entity, self.rules, self.version)
            key = key_of(entity.tenant, entity.key)
            self.outbox.document_row(row, key, origin)
            self.outbox.document(PROFILES.name, key, row.doc.encode(), origin)
        for (entity, kind, name), origin in self._changed.items():
            key = key_of(entity.tenant, entity.key, name)
            if kind == STATE.name:
                self._write_state(entity, name, key, origin)
            else:
                value = to_json(KINDS[kind].newest(entity, name))
                self.outbox.document(REVISED_TOPICS[kind].name, key, value, origin)

    def _write_state(self, entity: LaneEntity, state_id: str, key: bytes, origin: Origin) -> None:
        state = entity.get(states.STATES.key(state_id))
        if state is None:
            self._write_mood(entity, state_id, key, origin)
        else:
            value = to_json(states.document(state, state.versions[-1]))
            self.outbox.document(STATES.name, key, value, origin)

    def _write_mood(self, entity: LaneEntity, state_id: str, key: bytes, origin: Origin) -> None:
        """Writes the mood; deletes both its keys if its only moment was retracted."""
        user = key_of(entity.tenant, entity.key)
        row = entity[affect.MOOD]
        moment = affect.newest(row)
        if moment is None:
            self.outbox.document(STATES.name, key, None, origin)
            self.outbox.document(MOODS.name, user, None, origin)
            return
        newest = affect.version(row, state_id, moment)
        self.outbox.document(STATES.name, key, to_json(newest), origin)
        self.outbox.document(MOODS.name, user, to_json(mood_of(newest)), origin)


def mood_of(state: dict[str, Any]) -> dict[str, Any]:
    """Mood of a `long_mood_state` at its last moment (schemas.memory.Mood), or at its start if only
    a plan mentioned it."""
    numbers = {name: value for name, value in state["payload"].items() if name != "last_at"}
    at = parse_time(state["payload"]["last_at"] or state["valid_from"])
    axes = affect.mood_at(affect.from_payload(numbers, at), at)
    vad = dict(zip("vad", axes, strict=True))
    return {"vad": vad, "text": state["body_text"], **numbers, "at": time_text(at)}
