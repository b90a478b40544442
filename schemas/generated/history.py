"""The rows of the history tables as structs, each a table's own columns in their order.

Made by scripts/generate from the models in `schemas/rows.py`. Times are microseconds UTC, JSON is
text. Only this module knows the order of values: other code uses their names.
"""

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

from schemas.row import Row, astuple
from schemas.time import DAY


class Source(Row, frozen=True):
    tenant: str
    recorded_at: int
    src_topic: str
    src_partition: int
    src_offset: int


class Event(Row, frozen=True):
    table: ClassVar[str] = "events"
    event_id: str
    session_id: str
    user_id: str | None
    client_id: str | None
    task_id: str | None
    source: str
    occurred_at: int
    user_input: str
    agent_answer: str
    status: str
    error: str | None
    intent: str | None
    topic: str | None
    artifact: str | None
    difficulty: str | None
    correct_rate: float | None
    image_summaries: Sequence[str]
    metadata: str | None
    extra: str | None
    doc: str


class Recursion(Row, frozen=True):
    table: ClassVar[str] = "recursions"
    session_id: str
    task_id: str
    trace_id: str
    iteration_index: int
    status: str
    step_id: str | None
    observe: str
    thought: str
    action_type: str
    output: str
    error: str | None
    occurred_at: int
    doc: str


class ToolResult(Row, frozen=True):
    table: ClassVar[str] = "tool_results"
    session_id: str
    task_id: str
    trace_id: str
    tool_call_id: str | None
    call_index: int | None
    success: bool
    occurred_at: int
    doc: str


class Signal(Row, frozen=True):
    table: ClassVar[str] = "signals"
    signal_id: str
    scope: str
    session_id: str | None
    user_id: str | None
    occurred_at: int
    doc: str


class Task(Row, frozen=True):
    table: ClassVar[str] = "tasks"
    session_id: str
    task_id: str
    status: str
    iteration: int
    max_iteration: int
    forced: bool
    stalled: bool
    updated_at: int
    version: int
    doc: str


class Session(Row, frozen=True):
    table: ClassVar[str] = "sessions"
    session_id: str
    user_id: str | None
    status: str
    closed_reason: str | None
    created_at: int
    updated_at: int
    version: int
    doc: str


class Profile(Row, frozen=True):
    table: ClassVar[str] = "profiles"
    user_id: str
    updated_at: int
    version: int
    doc: str


class Revision(Row, frozen=True):
    table: ClassVar[str] = "revisions"
    revision_id: str
    owner_id: str
    entity_type: str
    entity_id: str
    kind: str | None
    op: str
    before: str | None
    after: str | None
    reason: str
    evidence_event_ids: Sequence[str]
    plan_id: str | None
    ordinal: int
    seq: int
    occurred_at: int


class Affect(Row, frozen=True):
    table: ClassVar[str] = "affects"
    event_id: str
    user_id: str
    session_id: str | None
    v: float
    a: float
    d: float
    text: str
    labels: Sequence[str]
    confidence: float
    from_plan: bool
    occurred_at: int


class Link(Row, frozen=True):
    table: ClassVar[str] = "links"
    op: Literal["put", "remove"]
    owner_id: str
    from_event_id: str
    to_event_id: str
    label: str
    confidence: float
    provisional: bool
    seq: int
    occurred_at: int
    session_id: str | None


class Thread(Row, frozen=True):
    table: ClassVar[str] = "threads"
    op: Literal["put", "remove"]
    owner_id: str
    event_id: str
    thread_key: str
    confidence: float
    seq: int
    occurred_at: int
    session_id: str | None


class Plan(Row, frozen=True):
    table: ClassVar[str] = "plans"
    plan_id: str
    user_id: str
    event_id: str | None
    extractor_name: str
    extractor_version: str
    occurred_at: int
    doc: str


class DeadLetter(Row, frozen=True):
    table: ClassVar[str] = "dead_letters"
    reason: str
    detail: str
    payload: bytes
    key: str | None
    headers: str | None
    settled_at: int | None


CausedRow = Event | Recursion | ToolResult | Signal | Revision | Affect | Link | Thread | Plan
"""What records cause, dated by when that happened."""

ROWS: dict[str, type[CausedRow]] = {
    "events": Event,
    "recursions": Recursion,
    "tool_results": ToolResult,
    "signals": Signal,
    "revisions": Revision,
    "affects": Affect,
    "links": Link,
    "threads": Thread,
    "plans": Plan,
}
"""By their tables."""

HistoryRow = (
    Event
    | Recursion
    | ToolResult
    | Signal
    | Task
    | Session
    | Profile
    | Revision
    | Affect
    | Link
    | Thread
    | Plan
    | DeadLetter
)
"""These, rows of newest documents, and dead letters."""


def stored(row: HistoryRow, source: Source, at: int) -> tuple[Any, ...]:
    """All columns of a row as they are stored: its own, its source's, and the date of `at`."""
    return (*astuple(row), *astuple(source), at // DAY)
