"""The state machine of a task (docs/rules.md, Tasks)."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from schemas.base import JsonObject, Micros, Reply

TaskStatus = Literal["pending", "running", "completed", "failed", "waiting_input"]


class TaskGlobal(Reply):
    """The task's status, iterations and limit."""

    task_id: str
    iteration: int = Field(ge=0)
    max_iteration: int = Field(ge=1)
    status: TaskStatus
    error: str | None = None
    forced: bool = False
    stalled: bool = False
    stalled_count: int = Field(default=0, ge=0)
    created_at: Micros
    updated_at: Micros


class CurrentRecursion(Reply):
    """The last recursion in order."""

    trace_id: str
    iteration_index: int
    status: Literal["running", "done", "error"]


class StepView(Reply):
    """A step of the plan with the recursions that claim it."""

    step_id: str
    description: str = ""
    status: Literal["pending", "running", "done", "error"]
    recursion_history: list[JsonObject] = Field(default_factory=list)


class ShortTermMemory(Reply):
    """A short-term memory, and the recursion that added it."""

    trace_id: str
    memory: str


class TaskMemory(Reply):
    """At most the 50 newest short-term memories."""

    short_term: list[ShortTermMemory] = Field(default_factory=list, max_length=50)


class TaskContext(Reply):
    """The task's objective, constraints, plan and short-term memory."""

    objective: str | None = None
    constraints: list[str] = Field(default_factory=list)
    plan: list[StepView] = Field(default_factory=list, max_length=100)
    memory: TaskMemory


class TaskDocument(Reply):
    """The state of a task: the fold of its recursions in (iteration_index, trace_id) order.

    At most 200 recursions are kept whole; `older_recursions` counts the others.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    global_: TaskGlobal = Field(alias="global")
    current_recursion: CurrentRecursion | dict[str, Any]
    context: TaskContext
    recursion_history: list[JsonObject] = Field(default_factory=list)
    older_recursions: int = Field(default=0, ge=0)
