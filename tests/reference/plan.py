"""The plan of a task: its steps, and how each stands after a row of recursions."""

from collections.abc import Sequence
from typing import Any

from schemas.events import Recursion
from tests.reference.constants import MAX_PLAN_STEPS, STEP_ERRORS

STATUSES = ("pending", "running", "done", "error")
Step = dict[str, Any]  # step_id, description, status


def plan_after(recursions: Sequence[Recursion]) -> list[Step]:
    """The steps of the latest plan. Of one recursion the plan comes first, then the claim."""
    steps: dict[str, Step] = {}
    for position, recursion in enumerate(recursions):
        listed = plan_of(recursion)
        if listed is not None:
            before = recursions[:position]
            steps = {id: replaced(step, steps.get(id), before) for id, step in listed.items()}
        if recursion.step_id in steps:
            step = steps[recursion.step_id]
            if step["status"] == "pending":
                step["status"] = "running"
            if errors_in_a_row(recursion.step_id, recursions[: position + 1]) >= STEP_ERRORS:
                step["status"] = "error"
    return list(steps.values())


def replaced(step: Step, own: Step | None, before: Sequence[Recursion]) -> Step:
    """A step of a new plan; `own` is the same step in the plan before it."""
    # a step that the plan before did not list is new, whatever a still older one said
    own = own or {"status": "pending", "description": ""}
    status = step.get("status") or own["status"]
    if "status" not in step and errors_in_a_row(step["step_id"], before) >= STEP_ERRORS:
        status = "error"
    was_claimed = any(step["step_id"] == recursion.step_id for recursion in before)
    status = "running" if status == "pending" and was_claimed else status
    return step | {"status": status, "description": step["description"] or own["description"]}


def errors_in_a_row(step_id: str, recursions: Sequence[Recursion]) -> int:
    """Errors of recursions that claim the step, be it in the plan or not.

    Counted since the last that was done, and since a plan last said the step's status.
    """
    errors = 0
    for recursion in recursions:
        if "status" in (plan_of(recursion) or {}).get(step_id, {}):
            errors = 0
        if recursion.step_id == step_id:
            errors = {"done": 0, "error": errors + 1, "running": errors}[recursion.status]
    return errors


def plan_of(recursion: Recursion) -> dict[str, Step] | None:
    """The plan that a recursion gives, by step id, statuses only where given; None without one.

    That of a RE_PLAN's output, unless the recursion has failed; else its `plan`.
    """
    output = recursion.action.output.get("plan")
    is_new_plan = recursion.action.action_type == "RE_PLAN" and recursion.status != "error"
    # an output `plan` that is no list is none, and the recursion's `plan` counts
    if is_new_plan and isinstance(output, list):
        steps = [as_step(entry) for entry in output if isinstance(entry, dict)]
    elif recursion.plan is not None:
        steps = [as_step(entry.model_dump()) for entry in recursion.plan]
    else:
        return None
    # steps of one id count once towards the cap
    listed = {step["step_id"]: step for step in steps if "step_id" in step}  # in the first's place
    return dict(list(listed.items())[:MAX_PLAN_STEPS])


def as_step(entry: dict[str, Any]) -> Step:
    # a description that is no text is empty; a status that is none of the four is none
    texts = {name: value for name, value in entry.items() if isinstance(value, str)}
    step = {"description": texts.get("description", "")}
    step |= {name: text for name, text in texts.items() if name == "step_id"}
    return step | ({"status": texts["status"]} if texts.get("status") in STATUSES else {})
