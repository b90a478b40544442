"""The memory agent: signals and write plans into a user's long-term memory."""

from collections.abc import Mapping, Sequence
from typing import Any

from schemas.base import parse_time
from schemas.row import replace
from schemas.rows import TABLES
from streams.extractors.naming import OURS
from streams.folds import affect, memory, preferences, states
from streams.folds.rows import Effects, Input, Outcome
from streams.folds.rules import Rules
from streams.kafka.agents import user_signal
from streams.kafka.agents.agent import Agent
from streams.kafka.agents.encoding import Origin, key_of, time_text, to_json
from streams.kafka.agents.table import Held
from streams.kafka.agents.validation import read
from streams.kafka.transport.processing import Batch
from streams.kafka.transport.rows import RowStore
from streams.pipeline.apply import profile_row
from streams.pipeline.decode import dead
from streams.topology import MOODS, PREFERENCES, PROFILES, STATES, USER_SIGNALS

PROFILE_DOC = list(TABLES["profiles"].model_fields).index("doc")
FAR = 2**62  # an earlier time than any, when negative


class MemoryAgent(Agent):
    """What turns mean for their users, posted signals, write plans.

    In a generation, whose sources `topics` names, what was made for the live memory is left out,
    hops and an extractor's plans: it has its own."""

    table_name = "users"

    def __init__(
        self,
        partition: int,
        rows: RowStore,
        partitions: int,
        topics: Mapping[str, str] | None = None,
        origin: type[Origin] = Origin,
        rules: Rules | None = None,
    ) -> None:
        super().__init__(partition, rows, partitions, origin, rules)
        self.topics = topics or {}  # of sources with a name of their own: the topology's
        self.hops: dict[str, int] = {}  # the newest hop of each source partition
        self._profiles: dict[Held, Origin] = {}
        self._changed: dict[tuple[Held, str, str], Origin] = {}

    def process(self, records: Sequence[Any]) -> Batch:
        self._profiles, self._changed = {}, {}
        return super().process(records)

    def read(self, record: Any) -> Any:
        topic = self.topics.get(record.topic, record.topic)
        if topic == USER_SIGNALS.name and record.headers and record.value is not None:
            try:
                given = user_signal.read(record)
            except ValueError as error:
                return dead("invalid", f"not a signal of this program: {error}", record.value)
            if given is not None:
                return given
        return read(record, self.partitions, topic)

    def apply(self, record: Any, given: Any) -> str:
        if type(given) is user_signal.Given:
            if self.topics and record.topic not in self.topics:
                return "hops_left_out"
            return self.feel(record, given)
        return super().apply(record, given)

    def feel(self, record: Any, given: user_signal.Given) -> str:
        """A user signal: no input record, so it is counted apart. An agent that folds its topics
        anew sends again what it sent before."""
        if given.offset <= self.hops.get(given.source, -1):
            return "hops_repeated"
        self.hops[given.source] = given.offset
        tenant, key = given.tenant, given.signal.user_id
        entity = self.table.entity(tenant, key)
        origin = self.origin(record, tenant, given.recorded_at)
        cause: Any = given.cause
        out = Effects(key, (tenant, "users", key), cause, self.rules)
        try:
            memory.fold_signal(entity, given.signal, out)
            self.outbox.outputs += self.outbox.rows(out.rows, key, origin)
        except Exception as error:
            self.refuse(record, entity, given.signal.occurred_at, error)
            return "hops_dead"
        self.keep(record, entity, out)
        self._note_changes(entity, out, origin)
        self._profiles[entity] = origin
        return "hops"

    def fold(self, record: Any, given: Input) -> str:
        said: Any = given.record
        tenant, key = said.tenant, said.user_id
        recorded_at = record.timestamp * 1000
        if self.topics and said.type == "write_plan":
            if record.topic in self.topics:  # its own: learnt when the turn was recorded
                recorded_at = given.recorded_at
            elif said.extractor.name in OURS:
                return "left_out"
        entity = self.table.entity(tenant, key)
        origin = self.origin(record, tenant, recorded_at)
        out = Effects(key, (tenant, "users", key), said, self.rules)
        try:
            outcome: Outcome = memory.fold(entity, replace(given, recorded_at=recorded_at), out)
            self.outbox.outputs += self.outbox.rows(out.rows, key, origin)
        except Exception as error:
            return self.refuse(record, entity, said.occurred_at, error)
        self.keep(record, entity, out)
        self._note_changes(entity, out, origin)
        if out.user:
            self._profiles[entity] = origin
        return outcome

    def _note_changes(self, entity: Held, out: Effects, origin: Origin) -> None:
        for table, _, values in out.rows:
            if table == "revisions" and values[2] in ("state", "preference"):
                self._changed[entity, values[2], values[3]] = origin

    # --- documents ------------------------------------------------------------------------------

    def finish(self) -> None:
        for entity, origin in self._profiles.items():
            row = profile_row(entity, origin.suffix, self.rules)
            key = key_of(entity.tenant, entity.key)
            self.outbox.document_row("profiles", row, key, origin)
            self.outbox.document(PROFILES.name, key, row[PROFILE_DOC].encode(), origin)
        for (entity, kind, name), origin in self._changed.items():
            key = key_of(entity.tenant, entity.key, name)
            if kind == "preference":
                value = to_json(preferences.document(entity.get(f"p/{name}")))
                self.outbox.document(PREFERENCES.name, key, value, origin)
            else:
                self._write_state(entity, name, key, origin)

    def _write_state(self, entity: Held, state_id: str, key: bytes, origin: Origin) -> None:
        state = entity.get(f"s/{state_id}")
        if state is not None:
            value = to_json(states.document(state, state.versions[-1]))
            self.outbox.document(STATES.name, key, value, origin)
            return
        row: affect.MoodRow = entity.get("a")
        newest = affect.version(row, state_id, max(affect.begins(row, -FAR)))
        self.outbox.document(STATES.name, key, to_json(newest), origin)
        mood = to_json(mood_of(newest))
        self.outbox.document(MOODS.name, key_of(entity.tenant, entity.key), mood, origin)

    # --- the verdict ----------------------------------------------------------------------------

    def note(self) -> dict[str, Any]:
        note = super().note()
        note["hops"] = dict(self.hops)
        return note

    def restored(self, note: Mapping[str, Any]) -> None:
        super().restored(note)
        self.hops = dict(note.get("hops", {}))


def mood_of(state: dict[str, Any]) -> dict[str, Any]:
    """The mood of a `long_mood_state` at its last moment (schemas.memory.Mood); where only a plan
    spoke of it, when that began."""
    numbers = {name: value for name, value in state["payload"].items() if name != "last_at"}
    at = parse_time(state["payload"]["last_at"] or state["valid_from"])
    axes = affect.mood_at(affect.from_payload(numbers, at), at)
    vad = dict(zip("vad", axes, strict=True))
    return {"vad": vad, "text": state["body_text"], **numbers, "at": time_text(at)}
