"""The session document and the SessionContext (docs/rules.md, Sessions)."""

from typing import Literal

from pydantic import Field

from schemas.base import Confidence, JsonObject, Micros, Reply
from schemas.events import Claim, ObservationType, Summary


class Conversation(Reply):
    """One task of a session: message and answer. `task_index` counts from 1."""

    task_index: int = Field(ge=1, description="Number of the task in its session, from 1.")
    task_id: str = Field(description="Id of the task.")
    user_input: str = Field(default="", description="The user's message.")
    agent_answer: str = Field(default="", description="The agent's answer.")
    status: Literal["running", "done", "error"] = Field(description="`running`, `done` or `error`.")
    error: str | None = Field(
        default=None, description="Error message; null if there was no error."
    )
    summary: Summary | None = Field(
        default=None,
        description="Findings and decisions of the agent; null if none were sent.",
    )


class SessionMemoryItem(Reply):
    """An item of session memory; `evidence` lists at most the 20 newest events."""

    id: str = Field(description="Id of the item.")
    type: ObservationType = Field(description="Kind of item.")
    content: str = Field(default="", description="Content of the item.")
    confidence: Confidence = Field(description="Confidence, 0 to 1.")
    source: Literal["user", "joint", "agent"] | None = Field(
        default=None,
        description="Decision maker; null if it is not a decision.",
    )
    decision: str | None = Field(default=None, description="The decision; null if it is not one.")
    rationale: str | None = Field(default=None, description="Rationale of the decision.")
    reversible: bool | None = Field(
        default=None,
        description="If false, only a user's decision can replace it; null if it is not a "
        "decision.",
    )
    scope: str | None = Field(default=None, description="Scope of the item; null if unknown.")
    evidence: list[str] = Field(
        default_factory=list,
        max_length=20,
        description="Ids of the supporting turns, at most the 20 newest.",
    )


class SessionContext(Reply):
    """The session's short-term memory; at most 10 recent intents, oldest first."""

    session_id: str = Field(description="Id of the session.")
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
    last_user_message: str = Field(default="", description="The latest user message.")
    updated_at: Micros = Field(description="Time of the latest record.")


class SessionDocument(Reply):
    """The session: at most the 20 newest conversations and 200 memory items."""

    session_id: str = Field(description="Id of the session.")
    user_id: str | None = Field(default=None, description="User; null if unknown.")
    subject: Claim | None = Field(
        default=None,
        description="Subject of the session; null if unknown.",
    )
    object: Claim | None = Field(
        default=None,
        description="Goal of the session; null if unknown.",
    )
    status: Literal["active", "waiting_input", "closed"] = Field(
        description="`active`, `waiting_input` or `closed`.",
    )
    closed_reason: str | None = Field(
        default=None,
        description="Reason of the closing, `expired` or set by a turn; null if it is open.",
    )
    artifacts_metadata: JsonObject = Field(
        default_factory=dict,
        description="Location of the session's files.",
    )
    conversations: list[Conversation] = Field(
        default_factory=list,
        max_length=20,
        description="At most the 20 newest tasks, oldest first.",
    )
    conversation_count: int = Field(default=0, ge=0, description="Number of all tasks.")
    session_memory: list[SessionMemoryItem] = Field(
        default_factory=list,
        max_length=200,
        description="Session memory, at most 200 items.",
    )
    created_at: Micros = Field(description="Time of the earliest record.")
    updated_at: Micros = Field(description="Time of the latest record.")
    context: SessionContext | None = Field(
        default=None,
        description="Context of the session; null if it has only recursions.",
    )
