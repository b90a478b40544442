"""A task: the state machine of an agent's loop, computed from all of its recursions.

Each part of the document is a function of the recursions in their order; none needs the others.
Assumed of the input: at most 200 recursions and 64 tool results a task.
"""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from schemas.events import Recursion, ToolResult
from schemas.task import TaskDocument
from tests.reference import constants
from tests.reference.plan import plan_after
from tests.reference.records import Given, has_ended, once, standing_recursions, times


def tasks(given: Sequence[Given], latest_turn: int | None) -> dict[str, dict[str, Any]]:
    """TaskDocument by task id, of one session. `latest_turn`: time of its latest standing turn.

    A task begins with a recursion, a tool result, or a running turn that names it, also where
    that turn has ended since. An ended turn alone begins none.
    """
    records = [*once(given, "recursion"), *once(given, "tool_result"), *running_turns(given)]
    ids = sorted({record.task_id for record in records if record.task_id is not None})
    documents = {}
    for id in ids:
        of_task = [item for item in given if getattr(item.record, "task_id", None) == id]
        documents[id] = task_document(id, of_task, latest_turn)
    return documents


def running_turns(given: Sequence[Given]) -> list[Any]:
    return [turn for turn in once(given, "turn") if not has_ended(turn)]


def task_document(task_id: str, given: Sequence[Given], latest_turn: int | None) -> dict[str, Any]:
    """The document of one task, from all records that name it."""
    standing, results = standing_recursions(given), once(given, "tool_result")
    count, end = end_of(standing, latest_turn)
    recursions = standing[:count]  # what comes after the end is not in the document
    entries = [history_entry(recursion, results) for recursion in recursions]
    steps = plan_after(recursions)
    for step in steps:
        step["recursion_history"] = [e for e in entries if e.get("step_id") == step["step_id"]]
    planned = [step["step_id"] for step in steps]
    current = {"trace_id", "iteration_index", "status"}
    document = {
        "global": {
            "task_id": task_id,
            "iteration": sum(has_ended(recursion) for recursion in recursions),
            "max_iteration": limit_after(recursions),
            **end._asdict(),
            **stalled(recursions),
            **times([*once(given, "recursion"), *running_turns(given)], otherwise=results),
        },
        "current_recursion": recursions[-1].model_dump(include=current) if recursions else {},
        "context": {
            "objective": latest_given(recursions, "objective"),
            "constraints": latest_given(recursions, "constraints") or [],
            "plan": steps,
            "memory": {"short_term": short_term(recursions)},
        },
        "recursion_history": [e for e in entries if e.get("step_id") not in planned],
    }
    return TaskDocument.model_validate(document).model_dump(mode="json")


class End(NamedTuple):
    status: str
    error: str | None = None
    forced: bool = False


def end_of(recursions: Sequence[Recursion], latest_turn: int | None) -> tuple[int, End]:
    """How many recursions the task has up to its end, or till now, and how it stands after them."""
    iteration, has_waited = 0, False
    for position, recursion in enumerate(recursions, start=1):
        if not has_ended(recursion):
            continue
        iteration += 1
        # who raises a limit that a CLARIFY has reached lets the task go on
        reached = iteration >= limit_after(recursions[:position])
        if recursion.status == "done" and recursion.action.action_type == "ANSWER":
            return position, End("completed")
        # a final error that also reaches the limit fails with its own error, not forced
        if recursion.status == "error" and recursion.final:
            return position, End("failed", recursion.error)
        if reached and (has_waited or not waits(recursion, latest_turn)):
            return position, End("failed", constants.LIMIT_ERROR, forced=True)
        has_waited = has_waited or reached  # once
    if not recursions:
        return 0, End("pending")
    waiting = waits(recursions[-1], latest_turn)
    return len(recursions), End("waiting_input" if waiting else "running")


def waits(recursion: Recursion, latest_turn: int | None) -> bool:
    """A CLARIFY that is done waits until a turn of the session is later than it."""
    asks = recursion.status == "done" and recursion.action.action_type == "CLARIFY"
    return asks and (latest_turn is None or latest_turn <= recursion.occurred_at)


def latest_given(recursions: Sequence[Recursion], field: str) -> Any:
    """What the last recursion that gives the field says; an empty text or list is given, too."""
    values = [getattr(recursion, field) for recursion in recursions]
    return next((value for value in reversed(values) if value is not None), None)


def limit_after(recursions: Sequence[Recursion]) -> int:
    return latest_given(recursions, "max_iteration") or constants.DEFAULT_LIMIT


def short_term(recursions: Sequence[Recursion]) -> list[dict[str, str]]:
    memories = []
    for recursion in recursions:
        memory = recursion.short_term_memory_append
        texts = [memory] if isinstance(memory, str) else memory or []
        memories += [{"trace_id": recursion.trace_id, "memory": text} for text in texts]
    return memories[-constants.MAX_SHORT_TERM :]


def stalled(recursions: Sequence[Recursion]) -> dict[str, Any]:
    """Whether the last recursions all did the same thing, and how many of them."""
    done = [what_it_did(recursion) for recursion in recursions]
    row = next((n for n, what in enumerate(reversed(done)) if what != done[-1]), len(done))
    is_stalled = row >= constants.STALLED_AFTER
    return {"stalled": is_stalled, "stalled_count": row if is_stalled else 0}


def what_it_did(recursion: Recursion) -> str:
    """Action type and output, call ids and results left aside."""
    action = recursion.action.model_dump(include={"action_type", "output"})
    for call in calls_of(action["output"]).values():
        for name in ("id", "result", "success"):
            call.pop(name, None)
    return json.dumps(action, sort_keys=True)


def history_entry(recursion: Recursion, results: Sequence[ToolResult]) -> dict[str, Any]:
    """The recursion whole, as it was sent, with the results of its calls; `results` in order."""
    known = {"type", "tenant", "session_id", "task_id", "recorded_at", "schema_version"}
    entry = recursion.model_dump(mode="json", exclude=known, exclude_defaults=True)
    entry |= recursion.model_dump(include={"observe", "thought", "status"})
    entry["action"].setdefault("output", {})
    answers = [result for result in results if result.trace_id == recursion.trace_id]
    for result in answers:
        call = call_answered(result, calls_of(entry["action"]["output"]))
        if call is not None:  # one that fits no call shows nowhere
            call |= {"result": as_text(result.result), "success": result.success}
    return entry


def calls_of(output: dict[str, Any]) -> dict[int, dict[str, Any]]:
    """The tool calls by their place."""
    # of an action of any type; an entry that is no object is no call
    calls = output.get("tool_calls")
    places = enumerate(calls) if isinstance(calls, list) else ()
    return {place: call for place, call in places if isinstance(call, dict)}


def call_answered(result: ToolResult, calls: dict[int, dict[str, Any]]) -> dict[str, Any] | None:
    """The first call of the result's `tool_call_id`, else the one at its `call_index`."""
    for call in calls.values():
        if result.tool_call_id is not None and call.get("id") == result.tool_call_id:
            return call
    return calls.get(result.call_index) if result.call_index is not None else None


def as_text(value: Any) -> str:
    """Text as it is, all else as compact JSON."""
    # with sorted keys, as the canonical text of the record has them
    if isinstance(value, str):
        return value
    return json.dumps(value, separators=(",", ":"), sort_keys=True, ensure_ascii=False)
