"""The rows of the history tables (docs/tables.md). The Delta columns are derived from these models.

JSON text is `Json`, a dead letter's payload `bytes`; times are microseconds UTC. Every table
also carries the columns of `Source`, which the runtime fills in.
"""

from typing import Annotated, Literal, NewType

from pydantic import Field

from schemas.base import Micros, Reply
from schemas.memory_kinds import MEMORY_KINDS

Json = NewType("Json", str)
Day = Annotated[int, Field(description="days since 1970-01-01: the UTC date of `occurred_at`")]


class Source(Reply):
    """Source of a row. For files `src_topic` is the path and `src_offset` the line, from 1."""

    tenant: str
    recorded_at: Micros
    src_topic: str
    src_partition: int
    src_offset: int
    date: Day


class EventRow(Reply):
    event_id: str
    session_id: str
    user_id: str | None
    client_id: str | None
    task_id: str | None
    source: str
    occurred_at: Micros
    user_input: str
    agent_answer: str
    status: str
    error: str | None
    intent: str | None
    topic: str | None
    artifact: str | None
    difficulty: str | None
    correct_rate: float | None
    image_summaries: list[str]
    metadata: Json | None
    extra: Json | None
    doc: Json


class RecursionRow(Reply):
    session_id: str
    task_id: str
    trace_id: str
    iteration_index: int
    status: str
    step_id: str | None
    observe: str
    thought: str
    action_type: str
    output: Json
    error: str | None
    occurred_at: Micros
    doc: Json


class ToolResultRow(Reply):
    session_id: str
    task_id: str
    trace_id: str
    tool_call_id: str | None
    call_index: int | None
    success: bool
    occurred_at: Micros
    doc: Json


class SignalRow(Reply):
    signal_id: str
    scope: str
    session_id: str | None
    user_id: str | None
    occurred_at: Micros
    doc: Json


class TaskRow(Reply):
    session_id: str
    task_id: str
    status: str
    iteration: int
    max_iteration: int
    forced: bool
    stalled: bool
    updated_at: Micros
    doc: Json


class SessionRow(Reply):
    session_id: str
    user_id: str | None
    status: str
    closed_reason: str | None
    created_at: Micros
    updated_at: Micros
    doc: Json


class ProfileRow(Reply):
    user_id: str
    updated_at: Micros
    doc: Json


class RevisionRow(Reply):
    """`seq` counts an owner's revisions as they were made: the order behind `known_at`."""

    revision_id: str
    owner_id: str
    entity_type: str
    entity_id: str
    kind: str | None
    op: str
    before: Json | None
    after: Json | None
    reason: str
    evidence_event_ids: list[str]
    plan_id: str | None
    ordinal: int
    seq: int
    occurred_at: Micros


class AffectRow(Reply):
    """`from_plan` (ours): of several moments of one event a plan's is shown, then the latest."""

    event_id: str
    user_id: str
    session_id: str | None
    v: float
    a: float
    d: float
    text: str
    labels: list[str]
    confidence: float
    from_plan: bool
    occurred_at: Micros


class LinkRow(Reply):
    """`owner_id`: of a provisional link the session, of a plan's the user. `session_id`: in which
    its event ids are unique; none where a plan named none."""

    op: Literal["put", "remove"]
    owner_id: str
    from_event_id: str
    to_event_id: str
    label: str
    confidence: float
    provisional: bool
    seq: int
    occurred_at: Micros
    session_id: str | None


class ThreadRow(Reply):
    """`owner_id`: the user. `session_id`: the event's, as far as its plan named it."""

    op: Literal["put", "remove"]
    owner_id: str
    event_id: str
    thread_key: str
    confidence: float
    seq: int
    occurred_at: Micros
    session_id: str | None


class PlanRow(Reply):
    plan_id: str
    user_id: str
    event_id: str | None
    extractor_name: str
    extractor_version: str
    occurred_at: Micros
    doc: Json


class DeadLetterRow(Reply):
    reason: str
    detail: str
    payload: bytes
    key: str | None
    headers: Json | None


TABLES: dict[str, type[Reply]] = {
    "events": EventRow,
    "recursions": RecursionRow,
    "tool_results": ToolResultRow,
    "signals": SignalRow,
    "tasks": TaskRow,
    "sessions": SessionRow,
    "profiles": ProfileRow,
    "revisions": RevisionRow,
    "affects": AffectRow,
    "links": LinkRow,
    "threads": ThreadRow,
    "plans": PlanRow,
    "dead_letters": DeadLetterRow,
}
RECORD_TABLES: dict[str, str] = {
    "turn": "events",
    "recursion": "recursions",
    "tool_result": "tool_results",
    "signal": "signals",
    "write_plan": "plans",
}
"""Type of input record -> the table with a row for each that was applied; `doc` is the record."""
SNAPSHOT_KEYS: dict[str, tuple[str, ...]] = {
    kind.table: kind.key for kind in MEMORY_KINDS if kind.table
}
"""Tables that hold the newest document of a key; all others are append-only."""
