"""The session document and the SessionContext (docs/rules.md, Sessions)."""

from typing import Literal

from pydantic import Field

from schemas.base import Confidence, JsonObject, Micros, Reply
from schemas.events import Claim, ObservationType, Summary


class Conversation(Reply):
    """One task of a session: its question and its answer. `task_index` counts from 1."""

    task_index: int = Field(ge=1, description="Number of the task in its session, from 1.")
    task_id: str = Field(description="Id of the task.")
    user_input: str = Field(default="", description="What the user said.")
    agent_answer: str = Field(default="", description="What the agent answered.")
    status: Literal["running", "done", "error"] = Field(description="`running`, `done` or `error`.")
    error: str | None = Field(default=None, description="Why it failed; null if it did not.")
    summary: Summary | None = Field(
        default=None,
        description="What the agent found and decided; null if nothing was sent.",
    )


class SessionMemoryItem(Reply):
    """Something worth remembering in a session; `evidence` lists at most the 20 newest events."""

    id: str = Field(description="Id of the item.")
    type: ObservationType = Field(description="Kind of item.")
    content: str = Field(default="", description="What is to be remembered.")
    confidence: Confidence = Field(description="How sure, 0 to 1.")
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Who decided; null if it is not a decision.",
    )
    decision: str | None = Field(default=None, description="The decision; null if it is not one.")
    rationale: str | None = Field(default=None, description="Why it was decided.")
    reversible: bool | None = Field(
        default=None,
        description="If false, only a user's decision can replace it; null if it is not a "
        "decision.",
    )
    scope: str | None = Field(default=None, description="What it applies to; null if unknown.")
    evidence: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="Turns that it rests on, at most the 20 newest.",
    )


class SessionContext(Reply):
    """The session's short-term memory; at most 10 recent intents, oldest first."""

    session_id: str = Field(description="The session.")
    current_topic: str | None = Field(
        default=None,
        description="Latest topic; null if there was none.",
    )
    recent_intents: list[str] = Field(
        default_factory=list,
        max_length=10,
        description="At most the 10 latest intents, oldest first.",
    )
    last_artifact: str | None = Field(
        default=None,
        description="Latest artifact, such as `flashcards`; null if there was none.",
    )
    last_user_message: str = Field(default="", description="What the user said last.")
    updated_at: Micros = Field(description="Latest time of its records.")


class SessionDocument(Reply):
    """The session: at most the 20 newest conversations and 200 memory items."""

    session_id: str = Field(description="The session.")
    user_id: str | None = Field(default=None, description="Its user; null if unknown.")
    subject: Claim | None = Field(
        default=None,
        description="What the session is about; null if unknown.",
    )
    object: Claim | None = Field(
        default=None,
        description="What the session is for; null if unknown.",
    )
    status: Literal["active", "waiting_input", "closed"] = Field(
        description="`active`, `waiting_input` or `closed`.",
    )
    closed_reason: str | None = Field(
        default=None,
        description="Why it is closed: `expired`, or by a turn; null if it is not.",
    )
    artifacts_metadata: JsonObject = Field(
        default_factory=dict,
        description="Where the session's files are.",
    )
    conversations: list[Conversation] = Field(
        default_factory=list,
        max_length=20,
        description="At most the 20 newest tasks, oldest first.",
    )
    conversation_count: int = Field(default=0, ge=0, description="Number of all its tasks.")
    session_memory: list[SessionMemoryItem] = Field(
        default_factory=list,
        max_length=200,
        description="What is worth remembering, at most 200 items.",
    )
    created_at: Micros = Field(description="Earliest time of its records.")
    updated_at: Micros = Field(description="Latest time of its records.")
    context: SessionContext | None = Field(
        default=None,
        description="Its context; null if it has only recursions.",
    )
