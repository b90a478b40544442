"""The kinds of input records, each declared once.

Decoding, routing, the validation of what Kafka brings, CloudEvents, the folding itself, the
topology and what is generated from it (AsyncAPI, docs) go by `KINDS`. The model is in
`schemas/events.py`, with what was said in older versions of it in `schemas/upcast.py`; owner and id
are declared in `schemas/record_kinds.py`.

Kinds of memory are declared in `schemas/memory_kinds.py` and `streams/folds/revised_kinds.py`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from schemas.events import Record, Recursion, Signal, ToolResult, Turn, WritePlan
from schemas.record_kinds import OWNED_RECORDS, RECORD_TABLES, Owner
from streams.folds import memory, session
from streams.folds.outcome import Outcome
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


def _kind(model: type[Record], topic: str, scope: str | None = None) -> RecordKind:
    type_ = model.model_fields["type"].default
    (owned,) = [one for one in OWNED_RECORDS if (one.type, one.scope) == (type_, scope)]
    table, fold = FOLDED[owned.owner]
    return RecordKind(model, topic, table, owned.owner, owned.id, fold, scope)


FOLDED: dict[Owner, tuple[str, Fold]] = {
    "session_id": ("sessions", session.fold),
    "user_id": ("users", memory.fold),
}
"""A record's owner -> the table of its rows, and the fold that changes them."""

TURN = _kind(Turn, "turns")
RECURSION = _kind(Recursion, "recursions")
TOOL_RESULT = _kind(ToolResult, "recursions")
SESSION_SIGNAL = _kind(Signal, "turns", "session")
USER_SIGNAL = _kind(Signal, "user-signals", "user")
WRITE_PLAN = _kind(WritePlan, "write-plans")

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
