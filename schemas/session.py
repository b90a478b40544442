"""The session document and the SessionContext (docs/rules.md, Sessions)."""

from typing import Literal

from pydantic import Field

from schemas.base import Confidence, JsonObject, Micros, Reply
from schemas.events import Claim, ObservationType, Summary


class Conversation(Reply):
    """One task of a session: its question and its answer. `task_index` counts from 1."""

    task_index: int = Field(ge=1)
    task_id: str
    user_input: str = ""
    agent_answer: str = ""
    status: Literal["running", "done", "error"]
    error: str | None = None
    summary: Summary | None = None


class SessionMemoryItem(Reply):
    """Something worth remembering in a session; `evidence` lists at most the 20 newest events."""

    id: str
    type: ObservationType
    content: str = ""
    confidence: Confidence
    source: Literal["user", "joint", "agent"] | None = None
    decision: str | None = None
    rationale: str | None = None
    reversible: bool | None = None
    scope: str | None = None
    evidence: list[str] = Field(default_factory=list, max_length=20)


class SessionContext(Reply):
    """The session's short-term memory; at most 10 recent intents, oldest first."""

    session_id: str
    current_topic: str | None = None
    recent_intents: list[str] = Field(default_factory=list, max_length=10)
    last_artifact: str | None = None
    last_user_message: str = ""
    updated_at: Micros


class SessionDocument(Reply):
    """The session: at most the 20 newest conversations and 200 memory items."""

    session_id: str
    user_id: str | None = None
    subject: Claim | None = None
    object: Claim | None = None
    status: Literal["active", "waiting_input", "closed"]
    closed_reason: str | None = None
    artifacts_metadata: JsonObject = Field(default_factory=dict)
    conversations: list[Conversation] = Field(default_factory=list, max_length=20)
    conversation_count: int = Field(default=0, ge=0)
    session_memory: list[SessionMemoryItem] = Field(default_factory=list, max_length=200)
    created_at: Micros
    updated_at: Micros
    context: SessionContext | None = None
