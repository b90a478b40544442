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
    error: str | None = Field(default=None, description="Why it failed; null if it did not.")
    forced: bool = Field(default=False, description="Whether `max_iteration` ended it.")
    stalled: bool = Field(
        default=False, description="Whether its last recursions did the same with the same output."
    )
    stalled_count: int = Field(
        default=0,
        ge=0,
        description="Number of such recursions; 0 if not stalled.",
    )
    created_at: Micros = Field(description="Earliest time of its records.")
    updated_at: Micros = Field(description="Latest time of its records.")


class CurrentRecursion(Reply):
    """The last recursion in order."""

    trace_id: str = Field(description="Id of the recursion.")
    iteration_index: int = Field(description="Its iteration.")
    status: Literal["running", "done", "error"] = Field(description="`running`, `done` or `error`.")


class StepView(Reply):
    """A step of the plan with the recursions that claim it."""

    step_id: str = Field(description="Id of the step.")
    description: str = Field(default="", description="What the step does.")
    status: Literal["pending", "running", "done", "error"] = Field(
        description="Status of the step.",
    )
    recursion_history: list[JsonObject] = Field(
        default_factory=list,
        description="The recursions that claim the step, in order.",
    )


class ShortTermMemory(Reply):
    """A short-term memory, and the recursion that added it."""

    trace_id: str = Field(description="The recursion that added it.")
    memory: str = Field(description="What it noted.")


class TaskMemory(Reply):
    """At most the 50 newest short-term memories."""

    short_term: list[ShortTermMemory] = Field(
        default_factory=list,
        max_length=50,
        description="At most the 50 newest, oldest first.",
    )


class TaskContext(Reply):
    """The task's objective, constraints, plan and short-term memory."""

    objective: str | None = Field(
        default=None,
        description="What the task is for; null if unknown.",
    )
    constraints: list[str] = Field(default_factory=list, description="What it has to observe.")
    plan: list[StepView] = Field(
        default_factory=list,
        max_length=100,
        description="The steps of its plan.",
    )
    memory: TaskMemory = Field(description="Its short-term memory.")


class TaskDocument(Reply):
    """The state of a task: the fold of its recursions in (iteration_index, trace_id) order.

    At most 200 recursions are kept whole; `older_recursions` counts the others.
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
    older_recursions: int = Field(default=0, ge=0, description="Number of recursions before those.")
