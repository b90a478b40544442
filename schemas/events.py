"""Input records (docs/records.md): the models of all types."""

from typing import Annotated, Any, Literal

from pydantic import Field, model_validator

from schemas.base import AsWhole, Id, JsonObject, Wire
from schemas.plans import (
    ContextUpdates,
    EndUpdate,
    EventAnnotations,
    EventUpdate,
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
from schemas.turn import (
    Artifact,
    ArtifactsMetadata,
    Claim,
    Intent,
    MemoryItemPatch,
    MemoryItemWrite,
    Metadata,
    Observation,
    ObservationType,
    SessionMemoryDelta,
    Summary,
    Topic,
    Turn,
)


class Action(Wire):
    """The action of one step of an agent's loop; `output` may have any shape."""

    action_type: Literal["CALL_TOOL", "RE_PLAN", "REFLECT", "ANSWER", "CLARIFY"] = Field(
        description="Type of the action. ANSWER ends the task; CLARIFY is a question to the user.",
    )
    output: JsonObject = Field(
        default_factory=dict,
        description="Output of the action: `tool_calls` of CALL_TOOL, `plan` of RE_PLAN.",
    )


class PlanStep(Wire):
    """One step of a plan. A step without `status` keeps its current status."""

    step_id: Id = Field(description="Id of the step, unique in its plan.")
    description: Text = Field(default="", description="Text of the step.")
    status: Literal["pending", "running", "done", "error"] | None = Field(
        default=None,
        description="Status of the step.",
    )


class Recursion(Record):
    """One step of an agent's loop. Key: tenant/session_id."""

    type: Literal["recursion"] = "recursion"
    session_id: Id = Field(description="Session of the task.")
    task_id: Id = Field(description="Id of the task, unique in its session.")
    trace_id: Id = Field(description="Id of the recursion, unique in its task.")
    iteration_index: Annotated[int, Field(ge=0, le=1_000_000_000), AsWhole] = Field(
        description="Position in the task.",
    )
    status: Literal["running", "done", "error"] = Field(
        default="done",
        description="`running` until it ends; then `done` or `error`.",
    )
    step_id: Id | None = Field(default=None, description="Step of the plan that it works on.")
    observe: Text = Field(default="", description="The agent's observation.")
    thought: Text = Field(default="", description="The agent's reasoning.")
    action: Action = Field(description="The agent's action.")
    objective: Text | None = Field(default=None, description="New objective of the task.")
    constraints: list[Text] | None = Field(
        default=None,
        max_length=100,
        description="New constraints of the task; they replace all earlier ones.",
    )
    plan: list[PlanStep] | None = Field(
        default=None,
        max_length=1000,
        description="New plan of the task; it replaces the earlier one.",
    )
    short_term_memory_append: Text | list[Text] | None = Field(
        default=None,
        description="Texts to append to the task's short-term memory.",
    )
    max_iteration: Annotated[int, Field(ge=1, le=1_000_000), AsWhole] | None = Field(
        default=None,
        description="New limit of finished recursions. Default of a task: 10.",
    )
    error: Text | None = Field(default=None, description="Error message.")
    final: bool = Field(default=False, description="With status `error`: the whole task failed.")


class ToolResult(Record):
    """The result of a tool call. It is stored in that call."""

    type: Literal["tool_result"] = "tool_result"
    session_id: Id = Field(description="Session of the task.")
    task_id: Id = Field(description="Task of the recursion.")
    trace_id: Id = Field(description="Recursion that made the call.")
    tool_call_id: Id | None = Field(
        default=None,
        description="`id` of the call. Required without `call_index`.",
    )
    call_index: Annotated[int, Field(ge=0, le=10_000), AsWhole] | None = Field(
        default=None,
        description="Position of the call in `output.tool_calls`, from 0.",
    )
    result: Any = Field(
        default=None,
        description="The result. Text is stored as it is, any other type as compact JSON.",
    )
    success: bool = Field(description="Whether the call succeeded.")

    @model_validator(mode="after")
    def _names_its_call(self) -> "ToolResult":
        if self.tool_call_id is None and self.call_index is None:
            raise ValueError("a tool result needs `tool_call_id` or `call_index`")
        return self


class Signal(Record):
    """An update of a session's context (scope `session`) or of a user's profile (scope `user`); or
    a message of a session, stored as sent."""

    type: Literal["signal"] = "signal"
    signal_id: Id = Field(description="Id of the signal, unique in its session or user.")
    scope: Literal["session", "user"] = Field(description="Target of the update.")
    session_id: Id | None = Field(
        default=None,
        description="Session; required if `scope` is `session`.",
    )
    user_id: Id | None = Field(default=None, description="User; required if `scope` is `user`.")
    intent: Intent = None
    topic: Topic = None
    artifact: Artifact = None
    subject: Claim | None = Field(
        default=None,
        description="Subject of the session, such as its title; only with scope `session`.",
    )
    metadata: Metadata | None = Field(default=None, description="Result of a lesson.")
    message: Text | None = Field(
        default=None,
        description="A message of the session, verbatim, for `GET /v1/sessions/{id}/messages`. It "
        "does not update memory.",
    )
    takes_back: Id | None = Field(
        default=None,
        description="Id of another signal of the session; its message is no longer listed.",
    )

    @model_validator(mode="after")
    def _has_its_key(self) -> "Signal":
        if self.scope == "session" and self.session_id is None:
            raise ValueError("a signal of scope session needs `session_id`")
        if self.scope == "user" and self.user_id is None:
            raise ValueError("a signal of scope user needs `user_id`")
        if self.scope == "user" and (self.keeps_a_message or self.subject is not None):
            raise ValueError("`subject`, `message` and `takes_back` need scope session")
        return self

    @property
    def keeps_a_message(self) -> bool:
        """Whether it adds a message to the session, or takes one back."""
        return self.message is not None or self.takes_back is not None


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
    """Returns the intent (the first one of a list), or None without one."""
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
    "EndUpdate",
    "EventAnnotations",
    "EventUpdate",
    "Extraction",
    "Extractor",
    "InputRecord",
    "LinkUpdate",
    "MemoryItemPatch",
    "MemoryItemWrite",
    "Metadata",
    "Observation",
    "ObservationType",
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
