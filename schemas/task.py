"""The state machine of a task (docs/rules.md, Tasks)."""

from typing import Any, Literal

from pydantic import ConfigDict, Field

from schemas.base import JsonObject, Micros, Reply

TaskStatus = Literal["pending", "running", "completed", "failed", "waiting_input"]


class TaskGlobal(Reply):
    """The task's status, iterations and limit."""

    task_id: str = Field(description="Id of the task.")
    iteration: int = Field(ge=0, description="Iterations so far.")
    max_iteration: int = Field(ge=1, description="Iteration that ends the task as failed.")
    status: TaskStatus = Field(description="Status of the task.")
    error: str | None = Field(
        default=None, description="Error message; null if there was no error."
    )
    forced: bool = Field(default=False, description="Whether `max_iteration` ended it.")
    stalled: bool = Field(
        default=False,
        description="Whether the last recursions repeated the same action with the same output.",
    )
    stalled_count: int = Field(
        default=0,
        ge=0,
        description="Number of such recursions; 0 if not stalled.",
    )
    created_at: Micros = Field(description="Time of the earliest record.")
    updated_at: Micros = Field(description="Time of the latest record.")


class CurrentRecursion(Reply):
    """The last recursion in order."""

    trace_id: str = Field(description="Id of the recursion.")
    iteration_index: int = Field(description="Iteration of the recursion.")
    status: Literal["running", "done", "error"] = Field(description="`running`, `done` or `error`.")


class StepView(Reply):
    """A step of the plan with its recursions."""

    step_id: str = Field(description="Id of the step.")
    description: str = Field(default="", description="Text of the step.")
    status: Literal["pending", "running", "done", "error"] = Field(
        description="Status of the step.",
    )
    recursion_history: list[JsonObject] = Field(
        default_factory=list,
        description="Recursions with this step id, in order.",
    )


class ShortTermMemory(Reply):
    """A note in short-term memory, and the recursion that added it."""

    trace_id: str = Field(description="Recursion that added it.")
    memory: str = Field(description="Text of the note.")


class TaskMemory(Reply):
    """At most the 50 newest notes of short-term memory."""

    short_term: list[ShortTermMemory] = Field(
        default_factory=list,
        max_length=50,
        description="At most the 50 newest, oldest first.",
    )


class TaskContext(Reply):
    """The task's objective, constraints, plan and short-term memory."""

    objective: str | None = Field(
        default=None,
        description="Objective of the task; null if unknown.",
    )
    constraints: list[str] = Field(default_factory=list, description="Constraints of the task.")
    plan: list[StepView] = Field(
        default_factory=list,
        max_length=100,
        description="Steps of the plan.",
    )
    memory: TaskMemory = Field(description="Short-term memory of the task.")


class TaskDocument(Reply):
    """The state of a task: the fold of its recursions in (iteration_index, trace_id) order.

    It contains at most 200 recursions; `older_recursions` counts the rest.
    """

    model_config = ConfigDict(extra="forbid", populate_by_name=True, serialize_by_alias=True)

    global_: TaskGlobal = Field(alias="global", description="Status, iterations and limit.")
    current_recursion: CurrentRecursion | dict[str, Any] = Field(
        description="The last recursion in order; empty if there is none.",
    )
    context: TaskContext = Field(description="Objective, constraints, plan and short-term memory.")
    recursion_history: list[JsonObject] = Field(
        default_factory=list,
        description="At most the 200 newest recursions, in order.",
    )
    older_recursions: int = Field(
        default=0, ge=0, description="Number of recursions before those in `recursion_history`."
    )
