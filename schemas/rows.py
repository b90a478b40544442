"""Rows of the history tables (docs/tables.md). scripts/generate derives the Delta columns and the
program's structs (`schemas/generated/history.py`) from these models.

JSON text is `Json`, a dead letter's payload `bytes`; times are microseconds UTC. Every table
also has the columns of `Source`, which the runtime fills in.
"""

from typing import Annotated, Literal, NewType

from pydantic import Field

from schemas.base import Micros, Reply
from schemas.memory_kinds import MEMORY_KINDS

Json = NewType("Json", str)
Day = Annotated[int, Field(description="days since 1970-01-01: the UTC date of `occurred_at`")]


class Source(Reply):
    """Origin of a row: tenant and log position."""

    tenant: str = Field(description="Tenant of the record.")
    recorded_at: Micros = Field(
        description="Time at which the log received the record: the broker's append time; in a "
        "file the field `recorded_at`, otherwise `occurred_at`."
    )
    src_topic: str = Field(description="Kafka topic, or the file's path.")
    src_partition: int = Field(description="Kafka partition; 0 for files.")
    src_offset: int = Field(description="Kafka offset, or the line number from 1.")
    date: Day = Field(
        description="UTC date of `occurred_at`; for a document of `updated_at`; for a dead letter "
        "without a time of `recorded_at`."
    )


VERSION = (
    "Grows with each document of a key, even if the number of partitions changes. The newest "
    "document has the greatest version; among equal versions, the one written last. 0 in a history "
    "without a sink."
)


class EventRow(Reply):
    """Turns as sent. A `running` turn has a second row once it has ended."""

    event_id: str = Field(description="Id of the turn, unique in its session.")
    session_id: str = Field(description="Session of the turn.")
    user_id: str | None = Field(description="User of the turn; null if it has none.")
    client_id: str | None = Field(description="Device or window; null if the turn has none.")
    task_id: str | None = Field(description="Task of the turn; null if it has none.")
    source: str = Field(
        description="Kind of turn according to the platform, such as `chat` or `notification`."
    )
    occurred_at: Micros = Field(description="Time of the user's message.")
    user_input: str = Field(description="The user's message; may be empty.")
    agent_answer: str = Field(description="The agent's answer; empty while the turn is running.")
    status: str = Field(description="`running`, `done` or `error`.")
    error: str | None = Field(description="Error message; null if there was no error.")
    intent: str | None = Field(description="First intent; null if the turn has none.")
    topic: str | None = Field(description="Topic; null if the turn has none.")
    artifact: str | None = Field(
        description="Artifact that was produced, such as `quiz`; null if none."
    )
    difficulty: str | None = Field(
        description="Difficulty of a lesson: `easy`, `medium` or `hard`; otherwise null."
    )
    correct_rate: float | None = Field(
        description="Share of correct answers in a lesson, 0 to 1; otherwise null."
    )
    image_summaries: list[str] = Field(
        description="Descriptions of images, at most 5; empty if none. The API never returns them."
    )
    metadata: Json | None = Field(description="The field `metadata`; null if the turn has none.")
    extra: Json | None = Field(description="Fields not listed in records.md; null if none.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at`, `schema_version` and "
        "`image_summaries`."
    )


class RecursionRow(Reply):
    """Recursions (steps of agents' loops) as sent; every applied version."""

    session_id: str = Field(description="Session of the task.")
    task_id: str = Field(description="Task of the recursion.")
    trace_id: str = Field(description="Id of the recursion, unique in its task.")
    iteration_index: int = Field(
        description="Position in the task; ties are ordered by `trace_id`."
    )
    status: str = Field(description="`running`, `done` or `error`.")
    step_id: str | None = Field(description="Step of the plan that it works on; null if none.")
    observe: str = Field(description="The agent's observation.")
    thought: str = Field(description="The agent's reasoning.")
    action_type: str = Field(
        description="`CALL_TOOL`, `RE_PLAN`, `REFLECT`, `ANSWER` or `CLARIFY`."
    )
    output: Json = Field(
        description="Output of the action as sent; later results are in `tool_results`."
    )
    error: str | None = Field(description="Error message; null if there was no error.")
    occurred_at: Micros = Field(description="Time of the event.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class ToolResultRow(Reply):
    """Results of tool calls, including results that wait for their recursion to end."""

    session_id: str = Field(description="Session of the task.")
    task_id: str = Field(description="Task of the recursion that made the call.")
    trace_id: str = Field(description="Recursion that made the call.")
    tool_call_id: str | None = Field(description="Id of the call; null if `call_index` is set.")
    call_index: int | None = Field(
        description="Position of the call in its recursion, from 0; null if `tool_call_id` is set."
    )
    success: bool = Field(description="Whether the call succeeded.")
    occurred_at: Micros = Field(description="Time of the result.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class SignalRow(Reply):
    """Signals: intents, topics and artifacts without a turn."""

    signal_id: str = Field(description="Id of the signal, unique in its session or user.")
    scope: str = Field(
        description="`session`: updates a session's context. `user`: updates a user's profile."
    )
    session_id: str | None = Field(description="Session; may be null if `scope` is `user`.")
    user_id: str | None = Field(description="User; may be null if `scope` is `session`.")
    occurred_at: Micros = Field(description="Time of the event.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class TaskRow(Reply):
    """Documents of tasks."""

    session_id: str = Field(description="Session of the task.")
    task_id: str = Field(description="Id of the task, unique in its session.")
    status: str = Field(
        description="`pending`, `running`, `waiting_input`, `completed` or `failed`."
    )
    iteration: int = Field(description="Recursions that have ended (done or error).")
    max_iteration: int = Field(
        description="Limit of `iteration`; the recursion that reaches it ends the task."
    )
    forced: bool = Field(description="Whether the limit ended the task.")
    stalled: bool = Field(
        description="Whether its last recursions repeat the same action with the same output."
    )
    updated_at: Micros = Field(description="Time of the latest record of the task.")
    version: int = Field(description=VERSION)
    doc: Json = Field(description="The whole TaskDocument.")


class SessionRow(Reply):
    """Documents of sessions."""

    session_id: str = Field(description="Id of the session.")
    user_id: str | None = Field(
        description="User of the earliest turn that has one; null if none has."
    )
    status: str = Field(
        description="`active`, `waiting_input` or `closed`, without expiry "
        "(docs/tables.md, Status and expiry)."
    )
    closed_reason: str | None = Field(description="Why `status` is `closed`; otherwise null.")
    created_at: Micros = Field(description="Time of the earliest record of the session.")
    updated_at: Micros = Field(description="Time of the latest record of the session.")
    version: int = Field(description=VERSION)
    doc: Json = Field(description="The whole SessionDocument.")


class ProfileRow(Reply):
    """Learning profiles of users."""

    user_id: str = Field(description="Id of the user.")
    updated_at: Micros = Field(description="Time of the latest lesson result.")
    version: int = Field(description=VERSION)
    doc: Json = Field(description="The whole UserLearningProfile.")


class RevisionRow(Reply):
    """Every change of memory. Replaying an owner's revisions by `seq` yields memory at any date."""

    revision_id: str = Field(description="Id of the revision.")
    owner_id: str = Field(
        description="Owner of the changed memory: a session for the entities `session`, "
        "`session_memory` and provisional links, otherwise a user."
    )
    entity_type: str = Field(
        description="`session`, `session_memory`, `state`, `preference`, `link`, `thread` or "
        "`affect`."
    )
    entity_id: str = Field(description="Id of the entity, such as a `state_id`.")
    kind: str | None = Field(
        description="Kind of a state, domain of a preference, type of an item, label of a link, "
        "session of a moment of affect; for a session `status`, `subject` or "
        "`object`; null for threads."
    )
    op: str = Field(
        description="Operation, such as `insert`, `update`, `supersede`, `close` (docs/rules.md, "
        "Revisions)."
    )
    before: Json | None = Field(description="Value before; null if there was none.")
    after: Json | None = Field(description="Value after; null if it was removed.")
    reason: str = Field(description="Reason of the change, from the user, the plan or the rule.")
    evidence_event_ids: list[str] = Field(
        description="Ids of the supporting events; empty for tidying."
    )
    plan_id: str | None = Field(
        description="Write plan that made the change; null if another type of record made it."
    )
    ordinal: int = Field(description="Position among the revisions of the same record, from 0.")
    seq: int = Field(
        description="Position among the owner's revisions, in the order of processing."
    )
    occurred_at: Micros = Field(description="Time of the record that made the change.")


class AffectRow(Reply):
    """Moments of affect as sent; `affect_current` has the effective one per event."""

    event_id: str = Field(description="Event of the feeling.")
    user_id: str = Field(description="User with the feeling.")
    session_id: str | None = Field(description="Session of the event; null if its plan has none.")
    v: float = Field(description="Valence, -1 (unpleasant) to +1 (pleasant).")
    a: float = Field(description="Arousal, -1 (calm) to +1 (excited).")
    d: float = Field(description="Dominance, -1 (powerless) to +1 (in control).")
    text: str = Field(description="The feeling as text; may be empty.")
    labels: list[str] = Field(description="Labels, such as `joy`; at most 6.")
    confidence: float = Field(
        description="Confidence, 0 to 1. A moment with 0 does not change the mood."
    )
    from_plan: bool = Field(description="True: from a write plan. False: from the turn itself.")
    occurred_at: Micros = Field(description="Time of the turn or plan.")


class LinkRow(Reply):
    """Links put and removed. `link_current` has the current links."""

    op: Literal["put", "remove"] = Field(description="`put` adds the link; `remove` deletes it.")
    owner_id: str = Field(
        description="Session of a provisional link; otherwise the user of the plan."
    )
    from_event_id: str = Field(description="The later event, such as the reply.")
    to_event_id: str = Field(description="The event that it refers to.")
    label: str = Field(description="`reply_to`, `same_topic`, `caused_by` or `continuation`.")
    confidence: float = Field(description="0 to 1; 0.5 if provisional.")
    provisional: bool = Field(
        description="True: inferred from the order of turns. False: set by a write plan."
    )
    seq: int = Field(description="Position among the owner's revisions and links.")
    occurred_at: Micros = Field(description="Time of the event or plan.")
    session_id: str | None = Field(
        description="Session in which the event ids are unique; null if the plan has none."
    )


class ThreadRow(Reply):
    """Events put into threads and taken out. `thread_current` has the current members."""

    op: Literal["put", "remove"] = Field(
        description="`put` adds the event to the thread; `remove` takes it out."
    )
    owner_id: str = Field(description="User of the plan.")
    event_id: str = Field(description="Id of the event.")
    thread_key: str = Field(description="Name of the thread.")
    confidence: float = Field(description="Confidence, 0 to 1.")
    seq: int = Field(description="Position among the owner's revisions and threads.")
    occurred_at: Micros = Field(description="Time of the plan.")
    session_id: str | None = Field(description="Session of the event; null if the plan has none.")


class PlanRow(Reply):
    """Applied write plans."""

    plan_id: str = Field(description="Id of the plan, unique for its user.")
    user_id: str = Field(description="Id of the user; the plan changes this user's memory.")
    event_id: str | None = Field(
        description="Event that the plan is derived from; null if none, as for tidying."
    )
    extractor_name: str = Field(
        description="Author of the plan, such as `rules`, `llm` or your extractor's name."
    )
    extractor_version: str = Field(description="Version of the extractor; may be empty.")
    occurred_at: Micros = Field(description="Time of the plan; usually the time of its event.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class DeadLetterRow(Reply):
    """Records that could not be applied, each with its reason and bytes.

    The files have a second row, with `settled_at`, for a settled dead letter. The view shows each
    dead letter once.
    """

    reason: str = Field(description="Reason code (docs/operations.md, Dead letters).")
    detail: str = Field(description="Reason as text, with field and position.")
    payload: bytes = Field(
        description="The record's bytes without images; only hash and length if the record may "
        "have to be withheld."
    )
    key: str | None = Field(
        description="Kafka key; for a file the owner (`tenant/session_id`) if known; otherwise "
        "null."
    )
    headers: Json | None = Field(
        description="Kafka headers as [name, value] pairs; null for files and without headers."
    )
    settled_at: Micros | None = Field(
        description="Time at which it was replayed or marked as done; null while it is unsettled."
    )


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
SNAPSHOT_KEYS: dict[str, tuple[str, ...]] = {
    kind.table: kind.key for kind in MEMORY_KINDS if kind.table
}
"""Tables with the newest document of each key; all others are append-only."""
