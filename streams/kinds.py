"""The kinds of input records, each declared once, and the rows of the kinds of memory.

Decoding, routing, the validation of what Kafka brings, CloudEvents, the folding itself, the
topology and what is generated from it (AsyncAPI, docs) go by `KINDS`. The model is in
`schemas/events.py`, with what was said in older versions of it in `schemas/upcast.py`.

Kinds of memory are declared in `schemas/memory_kinds.py`. To those whose newest revision is their
newest document `REVISED_KINDS` adds the rows that the fold keeps of them.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

from pydantic import BaseModel

from schemas import memory_kinds
from schemas.events import Record, Recursion, Signal, ToolResult, Turn, WritePlan
from schemas.memory import DOCUMENTS
from schemas.memory_kinds import MemoryKind
from schemas.rows import RECORD_TABLES
from streams.folds import memory, preferences, session
from streams.folds.outcome import Outcome
from streams.folds.row_keys import R, RowKind
from streams.folds.rows import Effects, Rows

Fold = Callable[[Rows, Any, Effects], Outcome]


@dataclass(frozen=True, slots=True)
class RecordKind:
    """`topic` takes its records; `table` and `owner`, a field of theirs, say whose rows they are
    folded into. `id`: the field with the record's own id. `scope`: the value of a record's field of
    that name, where a type has several kinds."""

    model: type[Record]
    topic: str
    table: str
    owner: str
    id: str
    fold: Fold
    scope: str | None = None

    @property
    def type(self) -> str:
        """What its records say in `type`."""
        return str(self.model.model_fields["type"].default)

    @property
    def history(self) -> str:
        """The history table with a row for each of its records."""
        return RECORD_TABLES[self.type]


def _of_session(model: type[Record], topic: str, id: str, scope: str | None = None) -> RecordKind:
    return RecordKind(model, topic, "sessions", "session_id", id, session.fold, scope)


def _of_user(model: type[Record], topic: str, id: str, scope: str | None = None) -> RecordKind:
    return RecordKind(model, topic, "users", "user_id", id, memory.fold, scope)


TURN = _of_session(Turn, "turns", "event_id")
RECURSION = _of_session(Recursion, "recursions", "trace_id")
TOOL_RESULT = _of_session(ToolResult, "recursions", "tool_call_id")
SESSION_SIGNAL = _of_session(Signal, "turns", "signal_id", "session")
USER_SIGNAL = _of_user(Signal, "user-signals", "signal_id", "user")
WRITE_PLAN = _of_user(WritePlan, "write-plans", "plan_id")

KINDS: tuple[RecordKind, ...] = (
    TURN, RECURSION, TOOL_RESULT, SESSION_SIGNAL, USER_SIGNAL, WRITE_PLAN,
)  # fmt: skip
"""In the order in which messages name them."""

_BY_TYPE = {kind.type: kind for kind in reversed(KINDS)}  # of several the first
_BY_SCOPE = {(kind.type, kind.scope): kind for kind in KINDS}

MODELS: dict[str, type[Record]] = {kind.type: kind.model for kind in KINDS}
ID_FIELDS: dict[str, str] = {kind.type: kind.id for kind in KINDS}
"""What a type of record calls its own id."""


def kind_of(record: Record) -> RecordKind:
    """The kind of a valid record."""
    kind = _BY_TYPE[record.type]  # not by class: there is a quicker one for plain turns
    return kind if kind.scope is None else _BY_SCOPE[record.type, record.scope]  # type: ignore[attr-defined]


def kind_told(type_: Any, scope: Any) -> RecordKind | None:
    """The kind of a record that may not be valid, by what it says in two fields. None for an
    unknown type; of an unknown scope the first kind of the type."""
    kind = _BY_TYPE.get(type_) if isinstance(type_, str) else None
    if kind is None or kind.scope is None or not isinstance(scope, str):
        return kind
    return _BY_SCOPE.get((kind.type, scope), kind)


def models_on(topic: str) -> tuple[type[Record], ...]:
    """The models of a topic's records."""
    return tuple(dict.fromkeys(kind.model for kind in KINDS if kind.topic == topic))


# --- kinds of memory ---------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class RevisedKind(Generic[R]):
    """The code of a kind of a user's memory: its `rows` in the user's table, and the `document`
    that readers get of one."""

    kind: MemoryKind
    rows: RowKind[R]
    document: Callable[[R], dict[str, Any]]

    @property
    def model(self) -> type[BaseModel]:
        """Of its documents."""
        return DOCUMENTS[self.kind.name]

    def newest(self, rows: Rows, id: str) -> dict[str, Any]:
        """The document of a user's memory with that id."""
        return self.document(rows[self.rows.key(id)])

    def all(self, rows: Rows) -> list[dict[str, Any]]:
        """The documents of a user, in the order in which they are listed."""
        found = [self.document(row) for _, row in self.rows.scan(rows)]
        order = self.kind.listed.order if self.kind.listed else (self.kind.id,)
        return sorted(found, key=lambda document: [document[name] for name in order])


REVISED_KINDS: tuple[RevisedKind[Any], ...] = (
    RevisedKind(memory_kinds.PREFERENCE, preferences.PREFERENCES, preferences.document),
)
