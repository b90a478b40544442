"""Kinds of input records, each declared once.

Decoding, routing, validation of Kafka messages, CloudEvents, folding, the topology and generated
documents (AsyncAPI, docs) use `KINDS`. The models are in `schemas/events.py`, upgrades of older
versions in `schemas/upcast.py`; owner and id are declared in `schemas/record_kinds.py`.

Kinds of memory are declared in `schemas/memory_kinds.py` and `streams/folds/revised_kinds.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schemas.events import Record, Recursion, Signal, ToolResult, Turn, WritePlan
from schemas.record_kinds import OWNED_RECORDS, RECORD_TABLES, Owner
from streams.folds import memory, session
from streams.folds.effects import Effects, Rows
from streams.folds.outcome import Outcome

Fold = Callable[[Rows, Any, Effects], Outcome]


@dataclass(frozen=True, slots=True)
class RecordKind:
    """A kind of record: its `topic`; the `table` of rows that it is folded into, and the `owner`
    field that selects them; the `id` field; and the value of the field `scope`, if a type has
    several kinds."""

    model: type[Record]
    topic: str
    table: str
    owner: str
    id: str
    fold: Fold
    scope: str | None = None

    @property
    def type(self) -> str:
        """Value of the records' field `type`."""
        return str(self.model.model_fields["type"].default)

    @property
    def history(self) -> str:
        """History table with a row per record."""
        return RECORD_TABLES[self.type]


def _kind(model: type[Record], topic: str, scope: str | None = None) -> RecordKind:
    type_ = model.model_fields["type"].default
    (owned,) = [record for record in OWNED_RECORDS if (record.type, record.scope) == (type_, scope)]
    table, fold = FOLDED[owned.owner]
    return RecordKind(model, topic, table, owned.owner, owned.id, fold, scope)


FOLDED: dict[Owner, tuple[str, Fold]] = {
    "session_id": ("sessions", session.fold),
    "user_id": ("users", memory.fold),
}
"""Owner field -> table of rows, and the fold that changes them."""

TURN = _kind(Turn, "turns")
RECURSION = _kind(Recursion, "recursions")
TOOL_RESULT = _kind(ToolResult, "recursions")
SESSION_SIGNAL = _kind(Signal, "turns", "session")
USER_SIGNAL = _kind(Signal, "user-signals", "user")
WRITE_PLAN = _kind(WritePlan, "write-plans")

KINDS: tuple[RecordKind, ...] = (
    TURN, RECURSION, TOOL_RESULT, SESSION_SIGNAL, USER_SIGNAL, WRITE_PLAN,
)  # fmt: skip
"""All kinds, in the order of messages."""

_BY_TYPE = {kind.type: kind for kind in reversed(KINDS)}  # of several the first
_BY_SCOPE = {(kind.type, kind.scope): kind for kind in KINDS}

MODELS: dict[str, type[Record]] = {kind.type: kind.model for kind in KINDS}
ID_FIELDS: dict[str, str] = {kind.type: kind.id for kind in KINDS}
"""Type -> name of its id field."""


def kind_of(record: Record) -> RecordKind:
    """The kind of a valid record."""
    kind = _BY_TYPE[record.type]  # not by class: plain turns have a faster one
    return kind if kind.scope is None else _BY_SCOPE[record.type, record.scope]  # type: ignore[attr-defined]


def kind_by_fields(type_: Any, scope: Any) -> RecordKind | None:
    """The kind of a record that may be invalid, by two of its fields: for an unknown scope the
    first kind of the type, for an unknown type None."""
    kind = _BY_TYPE.get(type_) if isinstance(type_, str) else None
    if kind is None or kind.scope is None or not isinstance(scope, str):
        return kind
    return _BY_SCOPE.get((kind.type, scope), kind)


def models_on(topic: str) -> tuple[type[Record], ...]:
    """Models of a topic's records."""
    return tuple(dict.fromkeys(kind.model for kind in KINDS if kind.topic == topic))
