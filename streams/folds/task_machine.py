"""The state machine of one task: a fold of its recursions in (iteration_index, trace_id) order.

`advance` takes the next recursion as its JSON object. Recursions after the end are ignored.
`latest` is the time of the session's latest turn: a later turn answers a CLARIFY (docs/rules.md,
Tasks).
"""

from typing import Any

from schemas.row import Row, replace
from streams.folds.constants import Rules
from streams.folds.ids import canonical, short_hash

MAX_CLAIMS = 200
FORCED_ERROR = "max_iteration reached"

Key = tuple[int, str]  # iteration_index, trace_id


class PlannedStep(Row, frozen=True):
    """A step of the current plan."""

    step_id: str
    description: str
    status: str


class Machine(Row, frozen=True):
    """State of a task without its recursions."""

    iteration: int = 0
    max_iteration: int | None = None  # None: none was said
    last: tuple[int, str, str] | None = None  # iteration_index, trace_id, status
    end: Key | None = None
    outcome: str | None = None  # completed, failed
    forced: bool = False
    error: str | None = None
    asked: int | None = None  # time of the last recursion's question, if any
    held: tuple[int, int, str] | None = None  # a CLARIFY at the limit: when, and its key
    objective: str | None = None
    constraints: tuple[str, ...] = ()
    plan: tuple[PlannedStep, ...] = ()
    claims: tuple[tuple[str, int], ...] = ()  # step ids recursions named, their errors in a row
    short_term: tuple[tuple[str, str], ...] = ()  # trace_id, memory
    action: bytes = b""
    repeated: int = 0


def advance(machine: Machine, step: dict[str, Any], latest: int | None, rules: Rules) -> Machine:
    """Returns the machine after one more recursion."""
    machine = settle(machine, latest)
    if machine.end is not None:
        return machine
    machine = _context(machine, step, rules)
    machine = _repeats(machine, step)
    return _count(machine, step, rules)


def settle(machine: Machine, latest: int | None) -> Machine:
    """Stops the task at a question at the limit, once a turn has answered it."""
    limit_question = machine.held
    if machine.end is None and limit_question and latest is not None and latest > limit_question[0]:
        return replace(
            machine,
            end=limit_question[1:],
            outcome="failed",
            forced=True,
            error=FORCED_ERROR,
            asked=None,
        )
    return machine


def status_of(machine: Machine, latest: int | None) -> str:
    """Status of a settled machine: pending, running, completed, failed or waiting_input."""
    if machine.outcome:
        return machine.outcome
    if machine.last is None:
        return "pending"
    if machine.asked is not None and (latest is None or latest <= machine.asked):
        return "waiting_input"
    return "running"


def limit_of(machine: Machine, rules: Rules) -> int:
    """Returns the iteration limit of the task."""
    return machine.max_iteration or rules.max_iteration


def _context(machine: Machine, step: dict[str, Any], rules: Rules) -> Machine:
    action = step["action"]
    appended = step.get("short_term_memory_append") or ()
    appended = (appended,) if isinstance(appended, str) else appended
    short_term = (*machine.short_term, *((step["trace_id"], text) for text in appended))
    constraints = step.get("constraints")
    machine = replace(
        machine,
        max_iteration=step.get("max_iteration") or machine.max_iteration,
        objective=step.get("objective", machine.objective),
        constraints=machine.constraints if constraints is None else tuple(constraints),
        short_term=short_term[-rules.max_short_term :],
    )
    plan = step.get("plan")
    if action["action_type"] == "RE_PLAN" and step.get("status") != "error":
        planned = action.get("output", {}).get("plan")
        plan = planned if isinstance(planned, list) else plan
    if plan is not None:
        machine = _replan(machine, plan, rules)
    return _claim(machine, step.get("step_id"), step.get("status", "done"), rules)


def _replan(machine: Machine, plan: list[Any], rules: Rules) -> Machine:
    """Replaces the plan. A step without a status keeps its current one."""
    current_steps = {step.step_id: step for step in machine.plan}
    claims = dict(machine.claims)
    steps: dict[str, PlannedStep] = {}
    for entry in plan:
        step_id = entry.get("step_id") if isinstance(entry, dict) else None
        if not isinstance(step_id, str):
            continue
        if step_id not in steps and len(steps) == rules.max_plan_steps:
            continue
        current = current_steps.get(step_id, PlannedStep(step_id, "", "pending"))
        status = entry.get("status")
        if status in ("pending", "running", "done", "error"):
            if step_id in claims:
                claims[step_id] = 0  # the status of the plan overrides earlier errors
        else:
            status = "error" if claims.get(step_id, 0) >= rules.step_errors else current.status
        if status == "pending" and step_id in claims:
            status = "running"
        description = entry.get("description")
        text = description if isinstance(description, str) and description else current.description
        steps[step_id] = PlannedStep(step_id, text, status)
    return replace(machine, plan=tuple(steps.values()), claims=tuple(claims.items()))


def _claim(machine: Machine, step_id: str | None, status: str, rules: Rules) -> Machine:
    if step_id is None:
        return machine
    claims = dict(machine.claims)
    errors = claims.pop(step_id, 0)
    errors = errors + 1 if status == "error" else 0 if status == "done" else errors
    claims[step_id] = errors
    plan = machine.plan
    for at, step in enumerate(plan):
        if step.step_id == step_id:
            step_status = "running" if step.status == "pending" else step.status
            step_status = (
                "error" if status == "error" and errors >= rules.step_errors else step_status
            )
            if step_status != step.status:
                plan = (*plan[:at], replace(step, status=step_status), *plan[at + 1 :])
    return replace(machine, plan=plan, claims=tuple(claims.items())[-MAX_CLAIMS:])


def _repeats(machine: Machine, step: dict[str, Any]) -> Machine:
    action = action_hash(step["action"])
    same = action == machine.action
    return replace(machine, action=action, repeated=machine.repeated + 1 if same else 1)


def action_hash(action: dict[str, Any]) -> bytes:
    """Returns an 8-byte hash of an action without its calls' ids and results."""
    output = dict(action.get("output") or {})
    calls = output.get("tool_calls")
    if isinstance(calls, list):
        omitted = ("id", "result", "success")
        output["tool_calls"] = [
            {name: value for name, value in call.items() if name not in omitted}
            if isinstance(call, dict)
            else call
            for call in calls
        ]
    return short_hash(canonical([action["action_type"], output]))


def _count(machine: Machine, step: dict[str, Any], rules: Rules) -> Machine:
    key = (step["iteration_index"], step["trace_id"])
    status, kind = step.get("status", "done"), step["action"]["action_type"]
    is_question = kind == "CLARIFY" and status == "done"
    machine = replace(
        machine,
        last=(*key, status),
        iteration=machine.iteration + (status != "running"),
        asked=step["occurred_at"] if is_question else None,
    )
    if status == "running":
        return machine
    if kind == "ANSWER" and status == "done":
        return replace(machine, end=key, outcome="completed")
    if status == "error" and step.get("final"):
        return replace(machine, end=key, outcome="failed", error=step.get("error"))
    if machine.iteration < limit_of(machine, rules):
        return machine
    if is_question and machine.held is None:
        return replace(machine, held=(step["occurred_at"], *key))
    return replace(machine, end=key, outcome="failed", forced=True, error=FORCED_ERROR, asked=None)
