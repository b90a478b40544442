"""Input records: what a platform sends (docs/records.md), and all types of them."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import AsWhole, Confidence, Id, JsonObject, Label, Wire
from schemas.plans import (
    ContextUpdates,
    EventAnnotations,
    Extraction,
    Extractor,
    LinkUpdate,
    PlanAffect,
    PreferenceUpdate,
    StateUpdate,
    ThreadUpdate,
    WritePlan,
)
from schemas.record import MAX_RECORD_BYTES, SCHEMA_VERSION, Affect, Record, Text

ObservationType = Literal[
    "preference", "constraint", "background", "capability_assumption", "decision"
]


class Claim(Wire):
    """A claim about what a session is about (`subject`) or for (`object`)."""

    content: Text
    source: Literal["user", "agent"] = "agent"
    confidence: Confidence = 0.5


class Summary(Wire):
    """What the agent found and decided in one task."""

    content: Text = ""
    key_findings: list[Text] = Field(default_factory=list, max_length=64)
    final_decisions: list[Text] = Field(default_factory=list, max_length=64)


class Metadata(Wire):
    """The result of a lesson. `correct_rate` is a share, 0..1."""

    difficulty: Literal["easy", "medium", "hard"] | None = None
    correct_rate: Confidence | None = None


class ArtifactsMetadata(Wire):
    """Where the session's files are stored."""

    workspace_root: Text | None = None
    sandbox_id: Text | None = None


class Observation(Wire):
    """Something worth remembering; shown once its type's threshold is met (docs/rules.md)."""

    type: ObservationType
    content: Text = ""
    explicit: bool = False
    environment: bool = False
    confidence: Confidence = 0.5
    opposes: Text | None = None
    decision: Text | None = None
    rationale: Text | None = None
    source: Literal["user", "joint", "agent"] | None = None
    reversible: bool = True
    supersedes: Text | None = None

    @model_validator(mode="after")
    def _says_something(self) -> "Observation":
        if self.type == "decision":
            if not (self.decision or self.content).strip():
                raise ValueError("a decision needs `decision`")
        elif not self.content.strip():
            raise ValueError("an observation needs `content`")
        return self


class MemoryItemWrite(Wire):
    """An item that `session_memory_delta` adds. It needs no threshold."""

    id: Id
    type: ObservationType
    content: Text = ""
    confidence: Confidence = 0.5
    source: Literal["user", "joint", "agent"] | None = None
    decision: Text | None = None
    rationale: Text | None = None
    reversible: bool = True
    scope: Label | None = None


class MemoryItemPatch(Wire):
    """Fields of a session memory item to change; omitted fields keep their values."""

    id: Id
    content: Text | None = None
    confidence: Confidence | None = None
    source: Literal["user", "joint", "agent"] | None = None
    decision: Text | None = None
    rationale: Text | None = None
    reversible: bool | None = None
    scope: Label | None = None


class SessionMemoryDelta(Wire):
    """Direct writes to the session memory. Per id the latest turn's operation wins."""

    add: list[MemoryItemWrite] = Field(default_factory=list, max_length=64)
    update: list[MemoryItemPatch] = Field(default_factory=list, max_length=64)
    delete: list[Id] = Field(default_factory=list, max_length=64)


class Turn(Record):
    """User input and answer: the unit of the event log. Key: tenant/session_id."""

    type: Literal["turn"] = "turn"
    event_id: Id
    session_id: Id
    user_id: Id | None = None
    client_id: Id | None = None
    task_id: Id | None = None
    source: Label = "chat"
    user_input: Text = ""
    agent_answer: Text = ""
    status: Literal["running", "done", "error"] = "done"
    error: Text | None = None
    intent: Label | list[Label] | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None
    image_summaries: list[Text] | None = Field(default=None, max_length=5)
    summary: Summary | None = None
    subject: Claim | None = None
    object: Claim | None = None
    session_status: Literal["active", "waiting_input", "closed"] | None = None
    artifacts_metadata: ArtifactsMetadata | None = None
    session_memory_delta: SessionMemoryDelta | None = None
    observations: list[Observation] | None = Field(default=None, max_length=64)
    affect: Affect | None = None


class Action(Wire):
    """What one step of the loop did; `output` may have any form."""

    action_type: Literal["CALL_TOOL", "RE_PLAN", "REFLECT", "ANSWER", "CLARIFY"]
    output: JsonObject = Field(default_factory=dict)


class PlanStep(Wire):
    """One step of a plan. Without a status a known step keeps its current one."""

    step_id: Id
    description: Text = ""
    status: Literal["pending", "running", "done", "error"] | None = None


class Recursion(Record):
    """One step of an agent's loop. Key: tenant/session_id."""

    type: Literal["recursion"] = "recursion"
    session_id: Id
    task_id: Id
    trace_id: Id
    iteration_index: Annotated[int, Field(ge=0, le=1_000_000_000), AsWhole]
    status: Literal["running", "done", "error"] = "done"
    step_id: Id | None = None
    observe: Text = ""
    thought: Text = ""
    action: Action
    objective: Text | None = None
    constraints: list[Text] | None = Field(default=None, max_length=100)
    plan: list[PlanStep] | None = Field(default=None, max_length=1000)
    short_term_memory_append: Text | list[Text] | None = None
    max_iteration: Annotated[int, Field(ge=1, le=1_000_000), AsWhole] | None = None
    error: Text | None = None
    final: bool = False


class ToolResult(Record):
    """The result of a tool call, which is put into that call."""

    type: Literal["tool_result"] = "tool_result"
    session_id: Id
    task_id: Id
    trace_id: Id
    tool_call_id: Id | None = None
    call_index: Annotated[int, Field(ge=0, le=10_000), AsWhole] | None = None
    result: Any = None
    success: bool

    @model_validator(mode="after")
    def _names_its_call(self) -> "ToolResult":
        if self.tool_call_id is None and self.call_index is None:
            raise ValueError("a tool result needs `tool_call_id` or `call_index`")
        return self


class Signal(Record):
    """An update of a session's context (scope session) or of a user's profile (scope user)."""

    type: Literal["signal"] = "signal"
    signal_id: Id
    scope: Literal["session", "user"]
    session_id: Id | None = None
    user_id: Id | None = None
    intent: Label | list[Label] | None = None
    topic: Label | None = None
    artifact: Label | None = None
    metadata: Metadata | None = None

    @model_validator(mode="after")
    def _has_its_key(self) -> "Signal":
        if self.scope == "session" and self.session_id is None:
            raise ValueError("a signal of scope session needs `session_id`")
        if self.scope == "user" and self.user_id is None:
            raise ValueError("a signal of scope user needs `user_id`")
        return self


InputRecord = Annotated[
    Turn | Recursion | ToolResult | Signal | WritePlan, Field(discriminator="type")
]
RECORD_TYPES: dict[str, type[Record]] = {
    "turn": Turn,
    "recursion": Recursion,
    "tool_result": ToolResult,
    "signal": Signal,
    "write_plan": WritePlan,
}


def first_intent(intent: str | list[str] | None) -> str | None:
    """Of a list of intents the first counts."""
    if type(intent) is list:
        return intent[0] if intent else None
    return intent or None  # type: ignore[return-value]


__all__ = [
    "MAX_RECORD_BYTES",
    "RECORD_TYPES",
    "SCHEMA_VERSION",
    "Action",
    "Affect",
    "ArtifactsMetadata",
    "Claim",
    "ContextUpdates",
    "EventAnnotations",
    "Extraction",
    "Extractor",
    "InputRecord",
    "LinkUpdate",
    "MemoryItemPatch",
    "MemoryItemWrite",
    "Metadata",
    "Observation",
    "PlanAffect",
    "PlanStep",
    "PreferenceUpdate",
    "Record",
    "Recursion",
    "SessionMemoryDelta",
    "Signal",
    "StateUpdate",
    "Summary",
    "ThreadUpdate",
    "ToolResult",
    "Turn",
    "WritePlan",
    "first_intent",
]
