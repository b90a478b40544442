"""The task's fold: versions of recursions, their order, and their tools' results.

Rows of a session: `t/{task_id}` the task, `q/{task_id}␟{trace_id}` its recursions,
`w/{task_id}␟{trace_id}` the results of a recursion's calls. At most 200 recursions are stored; a
checkpoint replaces earlier ones.
"""

import json
from bisect import bisect_left
from functools import reduce
from typing import Any, NamedTuple

from schemas.base import format_time, parse_time
from schemas.events import Recursion, ToolResult
from schemas.row import Row, asdict, replace
from streams.folds import history_rows
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Late, Refused, RowKey, RowKind, Rows
from streams.folds.ids import canonical, short_hash
from streams.folds.outcome import APPLIED, DUPLICATE, WAITS, Outcome
from streams.folds.seen_ids import find_id, put_id
from streams.folds.task_machine import Key, Machine, advance, limit_of, settle, status_of
from streams.folds.timestamps import dated


class Task(Row, frozen=True):
    """A task: `before` is the machine before the last recursion, `tip` after it, `checkpoint`
    before the oldest stored recursion."""

    task_id: str
    created_at: int
    updated_at: int
    order: tuple[Key, ...] = ()
    older: int = 0
    checkpoint: Machine = Machine()
    before: Machine = Machine()
    tip: Machine = Machine()
    pending: int = 0  # results before the end of their recursion
    undated: bool = False  # tool results alone have come (dating.dated)
    unfit: int = 0  # results that fit no call of their recursion, as it stands


class Step(Row, frozen=True):
    """The effective version of a recursion."""

    iteration_index: int
    ended: bool
    occurred_at: int
    fingerprint: bytes
    doc: str

    @property
    def rank(self) -> tuple[bool, int, str]:
        """Ended beats running, then the latest, then the greater canonical JSON."""
        return self.ended, self.occurred_at, self.doc


class Result(NamedTuple):
    """The effective version of a tool result with one name: (tool_call_id, call_index).

    A result without a call in its ended recursion is a dead letter (`is_dead`), but stays until a
    version of the recursion has its call. `is_logged`: the history has it."""

    tool_call_id: str | None
    call_index: int | None
    occurred_at: int
    fingerprint: bytes
    doc: str
    text: str
    success: bool
    source: tuple[str, int, int]
    is_dead: bool = False
    is_logged: bool = True


Results = tuple[Result, ...]

TASKS = RowKind("t", Task)
STEPS = RowKind("q", Step)
"""By task_id and trace_id, as RESULTS."""
RESULTS = RowKind("w", Results)


def begin(rows: Rows, task_id: str, at: int) -> bool:
    """Starts the task of a running turn. Returns whether the task's row is new or changed."""
    task = rows.get(TASKS.key(task_id))
    if task is not None and not task.undated and task.created_at <= at <= task.updated_at:
        return False
    rows.put(TASKS.key(task_id), dated(task or Task(task_id, at, at), at))
    return True


def fold(
    rows: Rows,
    record: Recursion | ToolResult,
    input: Input,
    runs: int,
    latest: int | None,
    out: Effects,
) -> tuple[Outcome, int]:
    """Folds a recursion or tool result; `latest` is the time of the session's latest turn."""
    at = record.occurred_at
    task = rows.get(TASKS.key(record.task_id)) or Task(record.task_id, at, at, undated=True)
    if isinstance(record, ToolResult):
        return _tool_result(rows, task, record, input, runs, out)
    return _recursion(rows, task, record, input, runs, latest, out)


def questions(rows: Rows, task_id: str) -> tuple[tuple[int, bool], ...]:
    """Returns the times of the task's questions, and whether it waits for the answer: the question
    of its last recursion, and an earlier one that stopped it at its limit."""
    tip = rows[TASKS.key(task_id)].tip
    open_question = () if tip.asked is None else ((tip.asked, True),)
    if tip.held is None or (tip.asked is not None and tip.last and tip.held[1:] == tip.last[:2]):
        return open_question
    return ((tip.held[0], False), *open_question)


def refold(rows: Rows, task_id: str, latest: int | None, rules: Rules) -> None:
    """Folds the stored recursions again after a later turn of the session."""
    task = rows[TASKS.key(task_id)]
    rows.put(TASKS.key(task_id), _refolded(rows, task, latest, rules))


def _touched(rows: Rows, task: Task, record: Recursion | ToolResult, out: Effects) -> Task:
    """Extends the task's timestamps by the record's time, even if another version of the record is
    effective: the order of arrival must not matter."""
    touched = dated(task, record.occurred_at, isinstance(record, ToolResult))
    if touched != task and rows.get(TASKS.key(task.task_id)) is not None:
        rows.put(TASKS.key(task.task_id), touched)
        out.tasks[task.task_id] = None
    return touched


# --- recursions -------------------------------------------------------------------------------


def _recursion(
    rows: Rows,
    task: Task,
    record: Recursion,
    input: Input,
    runs: int,
    latest: int | None,
    out: Effects,
) -> tuple[Outcome, int]:
    rules = out.rules
    key = (record.iteration_index, record.trace_id)
    ended = record.status != "running"
    step = Step(key[0], ended, record.occurred_at, input.fingerprint, input.doc)
    step_key = STEPS.key(task.task_id, record.trace_id)
    old = rows.get(step_key)
    if old is None and task.older:
        stored_check, place = find_id(rows, runs, _older_hash(task, record.trace_id))
        if stored_check == input.fingerprint:
            return DUPLICATE, runs
        if (
            stored_check is not None or key < task.order[0]
        ):  # before the window: in the history alone
            out.warnings.append("recursion_before_window")
            return APPLIED, put_id(rows, runs, place, input.fingerprint)
    task = _touched(rows, task, record, out)
    if old is not None and old.rank >= step.rank:
        return DUPLICATE, runs
    rows.put(step_key, step)
    if old is None and (not task.order or key > task.order[-1]):
        tip = advance(task.tip, body(step), latest, rules)
        task = replace(task, order=(*task.order, key), before=task.tip, tip=tip)
    elif old is not None and key == task.order[-1] and old.iteration_index == key[0]:
        task = replace(task, tip=advance(task.before, body(step), latest, rules))
    else:
        order = [place for place in task.order if place[1] != key[1]]
        order.insert(bisect_left(order, key), key)
        task = _refolded(rows, replace(task, order=tuple(order)), latest, rules)
    if record.step_id and record.step_id not in {step.step_id for step in task.tip.plan}:
        out.warnings.append("unknown_step")
    if task.tip.end is not None and key > task.tip.end:
        out.warnings.append("recursion_after_end")
    if ended:
        task = _settle_results(rows, task, record, old is None or not old.ended, out)
    if len(task.order) > rules.max_recursions:
        task, runs = _evict(rows, task, runs, latest, rules)
    rows.put(TASKS.key(task.task_id), task)
    return APPLIED, runs


def body(step: Step) -> dict[str, Any]:
    """Returns the recursion's JSON object, with its time in microseconds."""
    content: dict[str, Any] = json.loads(step.doc)
    content["occurred_at"] = parse_time(content["occurred_at"])
    return content


def _refolded(rows: Rows, task: Task, latest: int | None, rules: Rules) -> Task:
    steps = [rows[STEPS.key(task.task_id, trace_id)] for _, trace_id in task.order]
    before = reduce(
        lambda machine, step: advance(machine, body(step), latest, rules),
        steps[:-1],
        task.checkpoint,
    )
    tip = advance(before, body(steps[-1]), latest, rules) if steps else before
    return replace(task, before=before, tip=tip)


def _older_hash(task: Task, trace_id: str, call: str = "") -> bytes:
    return short_hash(f"q{task.task_id}\x1f{trace_id}\x1f{call}")


def _remember(rows: Rows, runs: int, id_hash: bytes, content: bytes) -> int:
    _, place = find_id(rows, runs, id_hash)
    return put_id(rows, runs, place, content)


def _evict(rows: Rows, task: Task, runs: int, latest: int | None, rules: Rules) -> tuple[Task, int]:
    """Moves the oldest recursion into the checkpoint; its ids stay in the index."""
    trace_id = task.order[0][1]
    step = rows[STEPS.key(task.task_id, trace_id)]
    runs = _remember(rows, runs, _older_hash(task, trace_id), step.fingerprint)
    results = rows.get(RESULTS.key(task.task_id, trace_id)) or ()
    for result in results:
        if not result.is_dead:
            runs = _remember(
                rows, runs, _older_hash(task, trace_id, _call(result)), result.fingerprint
            )
    rows.delete(STEPS.key(task.task_id, trace_id))
    rows.delete(RESULTS.key(task.task_id, trace_id))
    return replace(
        task,
        order=task.order[1:],
        older=task.older + 1,
        checkpoint=advance(task.checkpoint, body(step), latest, rules),
        pending=task.pending if step.ended else max(0, task.pending - len(results)),
        unfit=task.unfit - sum(result.is_dead for result in results),
    ), runs


# --- tool results -----------------------------------------------------------------------------


def _call(result: Result | ToolResult) -> str:
    """Returns the name of a result's call; the recursion decides which call it is."""
    by_id, index = result.tool_call_id, result.call_index
    return f"{'' if by_id is None else f'id:{by_id}'}{'' if index is None else f'#{index}'}"


def _tool_result(
    rows: Rows, task: Task, record: ToolResult, input: Input, runs: int, out: Effects
) -> tuple[Outcome, int]:
    result = Result(
        record.tool_call_id,
        record.call_index,
        record.occurred_at,
        input.fingerprint,
        input.doc,
        record.result if isinstance(record.result, str) else canonical(record.result),
        record.success,
        input.source,
    )
    step = rows.get(STEPS.key(task.task_id, record.trace_id))
    if step is None and task.older:
        stored_check, place = find_id(rows, runs, _older_hash(task, record.trace_id, _call(result)))
        if stored_check is not None:
            return DUPLICATE, runs
        if find_id(rows, runs, _older_hash(task, record.trace_id))[0] is not None:
            out.warnings.append("result_before_window")  # in the history alone, as its recursion
            return APPLIED, put_id(rows, runs, place, input.fingerprint)
    key = RESULTS.key(task.task_id, record.trace_id)
    results = rows.get(key) or ()
    same = next((stored for stored in results if _call(stored) == _call(result)), None)
    calls = _calls(step) if step is not None and step.ended else None
    if calls is not None and _fitting(calls, result) is None:
        _wait_in_vain(rows, task, key, results, same, result, out.rules)
        raise Refused("unmatched_tool_result", _unmatched(result, record.trace_id), keeps=True)
    task = _touched(rows, task, record, out)
    if same is not None and _rank(same) >= _rank(result):
        return DUPLICATE, runs
    if same is None and calls is None:
        if task.pending >= out.rules.max_waiting_results:
            raise Refused(
                "too_many_waiting_results",
                f"{task.pending} results of task {task.task_id} wait for their recursions",
            )
        task = replace(task, pending=task.pending + 1)
    elif calls is None:
        out.settled += 1  # the version before it waits no more
    rest = tuple(stored for stored in results if stored is not same)
    rows.put(key, _bounded(calls, (*rest, result)))
    rows.put(TASKS.key(task.task_id), task)
    out.waits = calls is None
    return (WAITS if out.waits else APPLIED), runs


def _wait_in_vain(
    rows: Rows,
    task: Task,
    key: RowKey[Results],
    results: Results,
    same: Result | None,
    result: Result,
    rules: Rules,
) -> None:
    """Stores a result without a call, up to a limit: a later version of its recursion may have the
    call, and the order of arrival must not matter."""
    if same is None and task.unfit >= rules.max_waiting_results:
        return
    if same is not None and _rank(same) >= _rank(result):
        return
    rest = tuple(stored for stored in results if stored is not same)
    rows.put(key, (*rest, result._replace(is_dead=True, is_logged=False)))
    if same is None:
        rows.put(TASKS.key(task.task_id), replace(task, unfit=task.unfit + 1))


MAX_NAMES = 4
"""Stored results per call with different names: the latest."""


def _bounded(calls: list[Any] | None, results: Results) -> Results:
    """Drops the oldest results of a call with more than `MAX_NAMES` names."""
    if calls is None or len(results) <= MAX_NAMES:
        return results
    of_call: dict[int | None, list[Result]] = {}
    for result in results:
        of_call.setdefault(_fitting(calls, result), []).append(result)
    excess = [
        result
        for at, call_results in of_call.items()
        if at is not None
        for result in sorted(call_results, key=_rank)[:-MAX_NAMES]
    ]
    return tuple(result for result in results if result not in excess) if excess else results


def _rank(result: Result) -> tuple[int, str]:
    """Sort key: the latest, then the greater canonical JSON."""
    return result.occurred_at, result.doc


def _calls(step: Step) -> list[Any]:
    calls = json.loads(step.doc)["action"].get("output", {}).get("tool_calls")
    return calls if isinstance(calls, list) else []


def _fitting(calls: list[Any], result: Result) -> int | None:
    """Returns the position of a result's call, by tool_call_id or by index, or None without one."""
    if result.tool_call_id is not None:
        for at, call in enumerate(calls):
            if isinstance(call, dict) and call.get("id") == result.tool_call_id:
                return at
    index = result.call_index
    return index if index is not None and index < len(calls) else None


def _unmatched(result: Result, trace_id: str) -> str:
    return f"recursion {trace_id} has no call {_call(result)}"


def _settle_results(rows: Rows, task: Task, record: Recursion, first: bool, out: Effects) -> Task:
    """Matches results with an ended version of their recursion. Results without a call become dead
    letters; dead ones with a call are applied. Results had waited if this is the `first` ended
    version."""
    key = RESULTS.key(task.task_id, record.trace_id)
    results = rows.get(key) or ()
    if not results:
        return task
    calls = (record.action.output or {}).get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    remaining: list[Result] = []
    unfit = task.unfit - sum(result.is_dead for result in results)
    for result in results:
        is_dead = _fitting(calls, result) is None
        if is_dead and not result.is_dead:
            detail = _unmatched(result, record.trace_id)
            out.late.append(
                Late("unmatched_tool_result", detail, result.doc, result.occurred_at, result.source)
            )
        if not is_dead and (result.is_dead or first):
            out.settled += 1
        if result.is_dead and not is_dead and not result.is_logged:
            out.history.append(history_rows.tool_result(record, result, result.doc))
        if not is_dead or unfit < out.rules.max_waiting_results:
            unfit += is_dead
            remaining.append(
                result._replace(is_dead=is_dead, is_logged=result.is_logged or not is_dead)
            )
    rows.put(key, _bounded(calls, tuple(remaining)))
    pending = max(0, task.pending - len(results)) if first else task.pending
    return replace(task, unfit=unfit, pending=pending)


# --- the document -----------------------------------------------------------------------------


def document(rows: Rows, rules: Rules, task_id: str, latest: int | None) -> dict[str, Any]:
    """Returns the task's document (schemas.task.TaskDocument)."""
    task = rows[TASKS.key(task_id)]
    machine = settle(task.tip, latest)
    steps: dict[str, list[Any]] = {step.step_id: [] for step in machine.plan}
    top: list[Any] = []
    for key in task.order:
        if machine.end is None or key <= machine.end:
            content = _with_results(rows, task, key[1])
            step_id = content.get("step_id")
            (top if step_id is None else steps.get(step_id, top)).append(content)
    last = machine.last
    stalled = machine.repeated >= rules.stalled_after
    return {
        "global": {
            "task_id": task_id,
            "iteration": machine.iteration,
            "max_iteration": limit_of(machine, rules),
            "status": status_of(machine, latest),
            "error": machine.error,
            "forced": machine.forced,
            "stalled": stalled,
            "stalled_count": machine.repeated if stalled else 0,
            "created_at": format_time(task.created_at),
            "updated_at": format_time(task.updated_at),
        },
        "current_recursion": {}
        if last is None
        else {"trace_id": last[1], "iteration_index": last[0], "status": last[2]},
        "context": {
            "objective": machine.objective,
            "constraints": list(machine.constraints),
            "plan": [
                {**asdict(step), "recursion_history": steps[step.step_id]} for step in machine.plan
            ],
            "memory": {
                "short_term": [
                    {"trace_id": trace_id, "memory": text} for trace_id, text in machine.short_term
                ]
            },
        },
        "recursion_history": top,
        "older_recursions": task.older,
    }


def _with_results(rows: Rows, task: Task, trace_id: str) -> dict[str, Any]:
    step = rows[STEPS.key(task.task_id, trace_id)]
    whole = {"observe": "", "thought": "", "status": "done"}  # the document leaves defaults out
    content: dict[str, Any] = whole | json.loads(step.doc)
    for name in ("type", "tenant", "session_id", "task_id"):
        content.pop(name, None)
    content["action"].setdefault("output", {})
    results = rows.get(RESULTS.key(task.task_id, trace_id)) or ()
    calls = content["action"]["output"].get("tool_calls")
    for result in sorted(results, key=_rank):
        at = _fitting(calls, result) if isinstance(calls, list) else None
        if at is not None and isinstance(calls[at], dict):
            calls[at] |= {"result": result.text, "success": result.success}
    return content
