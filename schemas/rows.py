"""The rows of the history tables (docs/tables.md). The Delta columns are derived from these models,
and the structs that the program fills in (`schemas/generated/history.py`, by scripts/generate).

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
    """Where a row comes from."""

    tenant: str = Field(description="Tenant of the record.")
    recorded_at: Micros = Field(
        description="When the log took the record: the broker's append time; in a file the field, "
        "else `occurred_at`."
    )
    src_topic: str = Field(description="Kafka topic, or the file's path.")
    src_partition: int = Field(description="Kafka partition; 0 for files.")
    src_offset: int = Field(description="Kafka offset, or the line number from 1.")
    date: Day = Field(
        description="UTC date of `occurred_at`; of a document that of `updated_at`; of a dead "
        "letter without a time that of `recorded_at`."
    )


VERSION = (
    "Grows with each document of a key, also where the number of partitions changes. The newest "
    "has the greatest; of equal ones the one written last. 0 in a history that no sink writes."
)


class EventRow(Reply):
    """Turns as they were sent. A turn that was `running` has a second row once it has ended."""

    event_id: str = Field(description="Id of the turn, unique in its session.")
    session_id: str = Field(description="Session of the turn.")
    user_id: str | None = Field(description="User who spoke; null if the turn names none.")
    client_id: str | None = Field(description="Device or window; null if the turn names none.")
    task_id: str | None = Field(description="Task of the turn; null if it names none.")
    source: str = Field(
        description="What the platform says the turn is, such as `chat` or `notification`."
    )
    occurred_at: Micros = Field(description="When the user spoke.")
    user_input: str = Field(description="What the user said; empty if nothing.")
    agent_answer: str = Field(description="What the agent answered; empty while the turn runs.")
    status: str = Field(description="`running`, `done` or `error`.")
    error: str | None = Field(description="Why the turn failed; null if it did not.")
    intent: str | None = Field(description="First intent; null if the turn has none.")
    topic: str | None = Field(description="Topic; null if the turn has none.")
    artifact: str | None = Field(
        description="Artifact that was produced, such as `quiz`; null if none."
    )
    difficulty: str | None = Field(
        description="Of a lesson: `easy`, `medium` or `hard`; else null."
    )
    correct_rate: float | None = Field(
        description="Of a lesson: share of correct answers, 0 to 1; else null."
    )
    image_summaries: list[str] = Field(
        description="Descriptions of images, at most 5; empty if none. The API never returns them."
    )
    metadata: Json | None = Field(description="The field `metadata`; null if the turn has none.")
    extra: Json | None = Field(description="Fields that records.md does not list; null if none.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at`, `schema_version` and "
        "`image_summaries`."
    )


class RecursionRow(Reply):
    """Recursions (steps of agents' loops) as they were sent; every version that was applied."""

    session_id: str = Field(description="Session of the task.")
    task_id: str = Field(description="Task of the recursion.")
    trace_id: str = Field(description="Id of the recursion, unique in its task.")
    iteration_index: int = Field(
        description="Position in the task; ties are ordered by `trace_id`."
    )
    status: str = Field(description="`running`, `done` or `error`.")
    step_id: str | None = Field(description="Step of the plan that it works on; null if none.")
    observe: str = Field(description="What the agent saw.")
    thought: str = Field(description="What the agent thought.")
    action_type: str = Field(
        description="`CALL_TOOL`, `RE_PLAN`, `REFLECT`, `ANSWER` or `CLARIFY`."
    )
    output: Json = Field(
        description="Output of the action as it was sent; later results are in `tool_results`."
    )
    error: str | None = Field(description="Why it failed; null if it did not.")
    occurred_at: Micros = Field(description="When it happened.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class ToolResultRow(Reply):
    """Results of tool calls, also those that still wait for their recursion to end."""

    session_id: str = Field(description="Session of the task.")
    task_id: str = Field(description="Task of the recursion that made the call.")
    trace_id: str = Field(description="Recursion that made the call.")
    tool_call_id: str | None = Field(description="Id of the call; null if `call_index` is set.")
    call_index: int | None = Field(
        description="Position of the call in its recursion, from 0; null if `tool_call_id` is set."
    )
    success: bool = Field(description="Whether the call succeeded.")
    occurred_at: Micros = Field(description="When the result came.")
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
    occurred_at: Micros = Field(description="When it happened.")
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
        description="User of the earliest turn that names one; null if none does."
    )
    status: str = Field(
        description="`active`, `waiting_input` or `closed`, without expiry "
        "(docs/tables.md, Status and expiry)."
    )
    closed_reason: str | None = Field(description="Why `status` is `closed`; else null.")
    created_at: Micros = Field(description="Time of the earliest record of the session.")
    updated_at: Micros = Field(description="Time of the latest record of the session.")
    version: int = Field(description=VERSION)
    doc: Json = Field(description="The whole SessionDocument.")


class ProfileRow(Reply):
    """Learning profiles of users."""

    user_id: str = Field(description="The user.")
    updated_at: Micros = Field(description="Time of the latest lesson.")
    version: int = Field(description=VERSION)
    doc: Json = Field(description="The whole UserLearningProfile.")


class RevisionRow(Reply):
    """Every change of memory. An owner's revisions by `seq` lead to the memory of any date."""

    revision_id: str = Field(description="Id of the revision.")
    owner_id: str = Field(
        description="Whose memory changed: a session for the entities `session`, `session_memory` "
        "and provisional links, else a user."
    )
    entity_type: str = Field(
        description="`session`, `session_memory`, `state`, `preference`, `link`, `thread` or "
        "`affect`."
    )
    entity_id: str = Field(description="Id of the entity, such as a `state_id`.")
    kind: str | None = Field(
        description="Of a state its kind, of a preference its domain, of a session `status`, "
        "`subject` or `object`, of an item its type, of a link its label, of a moment of affect "
        "its session; null for threads."
    )
    op: str = Field(
        description="What happened, such as `insert`, `update`, `supersede`, `close` "
        "(docs/rules.md, Revisions)."
    )
    before: Json | None = Field(description="Value before; null if there was none.")
    after: Json | None = Field(description="Value after; null if it was removed.")
    reason: str = Field(description="Why, in a few words: the user's, a plan's or the rule's.")
    evidence_event_ids: list[str] = Field(description="Events that it rests on; empty for tidying.")
    plan_id: str | None = Field(
        description="Write plan that made the change; null if a turn or another record did."
    )
    ordinal: int = Field(description="Position among the revisions of the same record, from 0.")
    seq: int = Field(
        description="Position among the owner's revisions, in the order in which they were made."
    )
    occurred_at: Micros = Field(description="Time of the record that made the change.")


class AffectRow(Reply):
    """Moments of affect as they were sent; `affect_current` has the one that counts per event."""

    event_id: str = Field(description="Event in which the feeling shows.")
    user_id: str = Field(description="User who feels it.")
    session_id: str | None = Field(description="Session of the event; null if its plan names none.")
    v: float = Field(description="Valence, -1 (unpleasant) to +1 (pleasant).")
    a: float = Field(description="Arousal, -1 (calm) to +1 (excited).")
    d: float = Field(description="Dominance, -1 (powerless) to +1 (in control).")
    text: str = Field(description="The feeling in words; may be empty.")
    labels: list[str] = Field(description="Such as `joy`; at most 6.")
    confidence: float = Field(description="0 to 1. A moment with 0 does not change the mood.")
    from_plan: bool = Field(description="Whether a write plan says so; else the turn itself does.")
    occurred_at: Micros = Field(description="Time of the turn or plan.")


class LinkRow(Reply):
    """Links put and removed. `link_current` shows those that hold."""

    op: Literal["put", "remove"] = Field(
        description="`put`: the link holds from now on; `remove`: it no longer does."
    )
    owner_id: str = Field(
        description="Of a provisional link its session, else the user of the plan."
    )
    from_event_id: str = Field(description="The later event, such as the reply.")
    to_event_id: str = Field(description="The event that it refers to.")
    label: str = Field(description="`reply_to`, `same_topic`, `caused_by` or `continuation`.")
    confidence: float = Field(description="0 to 1; 0.5 if provisional.")
    provisional: bool = Field(
        description="True: assumed from the order of turns. False: a write plan says so."
    )
    seq: int = Field(description="Position among the owner's revisions and links.")
    occurred_at: Micros = Field(description="Time of the event or plan.")
    session_id: str | None = Field(
        description="Session in which the event ids are unique; null if the plan names none."
    )


class ThreadRow(Reply):
    """Events put into threads and taken out. `thread_current` shows those that belong to one."""

    op: Literal["put", "remove"] = Field(
        description="`put`: the event belongs to the thread; `remove`: it no longer does."
    )
    owner_id: str = Field(description="User of the plan.")
    event_id: str = Field(description="The event.")
    thread_key: str = Field(description="Name of the thread.")
    confidence: float = Field(description="0 to 1.")
    seq: int = Field(description="Position among the owner's revisions and threads.")
    occurred_at: Micros = Field(description="Time of the plan.")
    session_id: str | None = Field(description="Session of the event; null if the plan names none.")


class PlanRow(Reply):
    """Write plans that were applied."""

    plan_id: str = Field(description="Id of the plan, unique for its user.")
    user_id: str = Field(description="User whose memory it changes.")
    event_id: str | None = Field(
        description="Event it was made from; null if none, as for tidying."
    )
    extractor_name: str = Field(
        description="Who made it, such as `rules`, `llm` or a program of yours."
    )
    extractor_version: str = Field(description="Version of the extractor; may be empty.")
    occurred_at: Micros = Field(description="Time of the plan; usually that of its event.")
    doc: Json = Field(
        description="The record as canonical JSON, without `recorded_at` and `schema_version`."
    )


class DeadLetterRow(Reply):
    """Records that could not be applied, each with its reason and bytes.

    A file has one more row for a letter that is settled: the same row with `settled_at`. The view
    shows the letter once.
    """

    reason: str = Field(description="Code of the reason (docs/operations.md, Dead letters).")
    detail: str = Field(description="The reason in words, with field and position.")
    payload: bytes = Field(
        description="The record's bytes without images; only hash and length if it may be withheld."
    )
    key: str | None = Field(
        description="Kafka key; from a file the owner (`tenant/session_id`) if known; else null."
    )
    headers: Json | None = Field(
        description="Kafka headers as [name, value] pairs; null for files and if there are none."
    )
    settled_at: Micros | None = Field(
        description="When it was replayed or marked as done; null while it is unsettled."
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
"""Tables that hold the newest document of a key; all others are append-only."""
