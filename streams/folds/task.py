"""The task's fold: versions of recursions, their order, and their tools' results.

Rows, beside the session's: `t/{task_id}` the task, `q/{task_id}␟{trace_id}` its recursions,
`w/{task_id}␟{trace_id}` the results of a recursion's calls. At most 200 recursions are kept
whole; a checkpoint stands for those before them.
"""

import json
from bisect import bisect_left
from functools import reduce
from typing import Any, NamedTuple

from schemas.base import format_time, parse_time
from schemas.events import Recursion, ToolResult
from schemas.row import Row, asdict, replace
from streams.folds import log
from streams.folds.dating import dated
from streams.folds.ids import canonical, short_hash
from streams.folds.index import find_id, put_id
from streams.folds.machine import Key, Machine, advance, limit_of, settle, status_of
from streams.folds.outcome import APPLIED, DUPLICATE, WAITS, Outcome
from streams.folds.rows import Effects, Input, Late, Refused, RowKey, RowKind, Rows
from streams.folds.rules import Rules


class Task(Row, frozen=True):
    """`before` is the machine before the last recursion, `tip` after it, `checkpoint` before
    the oldest one that is kept."""

    task_id: str
    created_at: int
    updated_at: int
    order: tuple[Key, ...] = ()
    older: int = 0
    checkpoint: Machine = Machine()
    before: Machine = Machine()
    tip: Machine = Machine()
    pending: int = 0  # results whose recursion has not ended
    undated: bool = False  # tool results alone have come (dating.dated)
    unfit: int = 0  # results that fit no call of their recursion, as it stands


class Step(Row, frozen=True):
    """The standing version of a recursion."""

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
    """The standing version of what a tool answered under one name: (tool_call_id, call_index).

    One that fits no call of its ended recursion is a dead letter (`is_dead`), and waits all the
    same for a version of the recursion that has its call. `is_logged`: the history has it."""

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
    """A running turn begins its task. Returns whether the task's row is new or changed."""
    task = rows.get(TASKS.key(task_id))
    if task is not None and not task.undated and task.created_at <= at <= task.updated_at:
        return False
    rows.put(TASKS.key(task_id), dated(task or Task(task_id, at, at), at))
    return True


def fold(
    rows: Rows,
    record: Recursion | ToolResult,
    given: Input,
    runs: int,
    latest: int | None,
    out: Effects,
) -> tuple[Outcome, int]:
    """One recursion or tool result; `latest` is the time of the session's latest turn."""
    at = record.occurred_at
    task = rows.get(TASKS.key(record.task_id)) or Task(record.task_id, at, at, undated=True)
    if isinstance(record, ToolResult):
        return _tool_result(rows, task, record, given, runs, out)
    return _recursion(rows, task, record, given, runs, latest, out)


def questions(rows: Rows, task_id: str) -> tuple[tuple[int, bool], ...]:
    """When the task asked what a later turn would answer, and whether it waits for it now: its last
    recursion, and one that stopped it at its limit, where that is another."""
    tip = rows[TASKS.key(task_id)].tip
    asked = () if tip.asked is None else ((tip.asked, True),)
    if tip.held is None or (tip.asked is not None and tip.last and tip.held[1:] == tip.last[:2]):
        return asked
    return ((tip.held[0], False), *asked)


def refold(rows: Rows, task_id: str, latest: int | None, rules: Rules) -> None:
    """Folds the kept recursions again, because the session's latest turn is a later one."""
    task = rows[TASKS.key(task_id)]
    rows.put(TASKS.key(task_id), _refolded(rows, task, latest, rules))


def _touched(rows: Rows, task: Task, record: Recursion | ToolResult, out: Effects) -> Task:
    """The task with the record's time. A version that loses leaves its time too: whether it came
    before or after the one that stands must not show."""
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
    given: Input,
    runs: int,
    latest: int | None,
    out: Effects,
) -> tuple[Outcome, int]:
    rules = out.rules
    key = (record.iteration_index, record.trace_id)
    ended = record.status != "running"
    step = Step(key[0], ended, record.occurred_at, given.fingerprint, given.doc)
    own = STEPS.key(task.task_id, record.trace_id)
    old = rows.get(own)
    if old is None and task.older:
        known, place = find_id(rows, runs, _older_hash(task, record.trace_id))
        if known == given.fingerprint:
            return DUPLICATE, runs
        if known is not None or key < task.order[0]:  # before the window: in the history alone
            out.warnings.append("recursion_before_window")
            return APPLIED, put_id(rows, runs, place, given.fingerprint)
    task = _touched(rows, task, record, out)
    if old is not None and old.rank >= step.rank:
        return DUPLICATE, runs
    rows.put(own, step)
    if old is None and (not task.order or key > task.order[-1]):
        tip = advance(task.tip, body(step), latest, rules)
        task = replace(task, order=(*task.order, key), before=task.tip, tip=tip)
    elif old is not None and key == task.order[-1] and old.iteration_index == key[0]:
        task = replace(task, tip=advance(task.before, body(step), latest, rules))
    else:
        order = [one for one in task.order if one[1] != key[1]]
        order.insert(bisect_left(order, key), key)
        task = _refolded(rows, replace(task, order=tuple(order)), latest, rules)
    if record.step_id and record.step_id not in {one.step_id for one in task.tip.plan}:
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
    """The recursion's JSON object, its time in microseconds."""
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
    """The oldest recursion goes into the checkpoint; its ids are remembered."""
    trace_id = task.order[0][1]
    step = rows[STEPS.key(task.task_id, trace_id)]
    runs = _remember(rows, runs, _older_hash(task, trace_id), step.fingerprint)
    results = rows.get(RESULTS.key(task.task_id, trace_id)) or ()
    for one in results:
        if not one.is_dead:
            runs = _remember(rows, runs, _older_hash(task, trace_id, _call(one)), one.fingerprint)
    rows.delete(STEPS.key(task.task_id, trace_id))
    rows.delete(RESULTS.key(task.task_id, trace_id))
    return replace(
        task,
        order=task.order[1:],
        older=task.older + 1,
        checkpoint=advance(task.checkpoint, body(step), latest, rules),
        pending=task.pending if step.ended else max(0, task.pending - len(results)),
        unfit=task.unfit - sum(one.is_dead for one in results),
    ), runs


# --- tool results -----------------------------------------------------------------------------


def _call(result: Result | ToolResult) -> str:
    """What a result calls its call; which of a recursion's calls that is, its version tells."""
    by_id, index = result.tool_call_id, result.call_index
    return f"{'' if by_id is None else f'id:{by_id}'}{'' if index is None else f'#{index}'}"


def _tool_result(
    rows: Rows, task: Task, record: ToolResult, given: Input, runs: int, out: Effects
) -> tuple[Outcome, int]:
    result = Result(
        record.tool_call_id,
        record.call_index,
        record.occurred_at,
        given.fingerprint,
        given.doc,
        record.result if isinstance(record.result, str) else canonical(record.result),
        record.success,
        given.source,
    )
    step = rows.get(STEPS.key(task.task_id, record.trace_id))
    if step is None and task.older:
        known, place = find_id(rows, runs, _older_hash(task, record.trace_id, _call(result)))
        if known is not None:
            return DUPLICATE, runs
        if find_id(rows, runs, _older_hash(task, record.trace_id))[0] is not None:
            out.warnings.append("result_before_window")  # in the history alone, as its recursion
            return APPLIED, put_id(rows, runs, place, given.fingerprint)
    key = RESULTS.key(task.task_id, record.trace_id)
    results = rows.get(key) or ()
    same = next((one for one in results if _call(one) == _call(result)), None)
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
    others = tuple(one for one in results if one is not same)
    rows.put(key, _bounded(calls, (*others, result)))
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
    """Remembers a result that fits no call, while there is room: a later version of its recursion
    may have the call, and what came first must not show."""
    if same is None and task.unfit >= rules.max_waiting_results:
        return
    if same is not None and _rank(same) >= _rank(result):
        return
    others = tuple(one for one in results if one is not same)
    rows.put(key, (*others, result._replace(is_dead=True, is_logged=False)))
    if same is None:
        rows.put(TASKS.key(task.task_id), replace(task, unfit=task.unfit + 1))


MOST_NAMES = 4
"""Under so many names a call keeps results, the latest."""


def _bounded(calls: list[Any] | None, results: Results) -> Results:
    """Results less those that a call, under many names, has too many of."""
    if calls is None or len(results) <= MOST_NAMES:
        return results
    of_call: dict[int | None, list[Result]] = {}
    for one in results:
        of_call.setdefault(_fitting(calls, one), []).append(one)
    over = [
        one
        for at, some in of_call.items()
        if at is not None
        for one in sorted(some, key=_rank)[:-MOST_NAMES]
    ]
    return tuple(one for one in results if one not in over) if over else results


def _rank(result: Result) -> tuple[int, str]:
    """The latest, then the greater canonical JSON."""
    return result.occurred_at, result.doc


def _calls(step: Step) -> list[Any]:
    calls = json.loads(step.doc)["action"].get("output", {}).get("tool_calls")
    return calls if isinstance(calls, list) else []


def _fitting(calls: list[Any], result: Result) -> int | None:
    """Which call a result answers: by tool_call_id, else by index."""
    if result.tool_call_id is not None:
        for at, call in enumerate(calls):
            if isinstance(call, dict) and call.get("id") == result.tool_call_id:
                return at
    index = result.call_index
    return index if index is not None and index < len(calls) else None


def _unmatched(result: Result, trace_id: str) -> str:
    return f"recursion {trace_id} has no call {_call(result)}"


def _settle_results(rows: Rows, task: Task, record: Recursion, first: bool, out: Effects) -> Task:
    """A version of the recursion stands that has ended: of its results, those that fit no call of
    it become dead letters, and dead ones that do are applied. Those that came before its `first`
    ended version had waited."""
    key = RESULTS.key(task.task_id, record.trace_id)
    results = rows.get(key) or ()
    if not results:
        return task
    calls = (record.action.output or {}).get("tool_calls")
    calls = calls if isinstance(calls, list) else []
    kept: list[Result] = []
    unfit = task.unfit - sum(one.is_dead for one in results)
    for one in results:
        is_dead = _fitting(calls, one) is None
        if is_dead and not one.is_dead:
            detail = _unmatched(one, record.trace_id)
            out.late.append(
                Late("unmatched_tool_result", detail, one.doc, one.occurred_at, one.source)
            )
        if not is_dead and (one.is_dead or first):
            out.settled += 1
        if one.is_dead and not is_dead and not one.is_logged:
            out.history.append(log.tool_result(record, one, one.doc))
        if not is_dead or unfit < out.rules.max_waiting_results:
            unfit += is_dead
            kept.append(one._replace(is_dead=is_dead, is_logged=one.is_logged or not is_dead))
    rows.put(key, _bounded(calls, tuple(kept)))
    pending = max(0, task.pending - len(results)) if first else task.pending
    return replace(task, unfit=unfit, pending=pending)


# --- the document -----------------------------------------------------------------------------


def document(rows: Rows, rules: Rules, task_id: str, latest: int | None) -> dict[str, Any]:
    """The machine (schemas.task.TaskDocument)."""
    task = rows[TASKS.key(task_id)]
    machine = settle(task.tip, latest)
    steps: dict[str, list[Any]] = {one.step_id: [] for one in machine.plan}
    top: list[Any] = []
    for key in task.order:
        if machine.end is None or key <= machine.end:
            content = _with_results(rows, task, key[1])
            claimed = content.get("step_id")
            (top if claimed is None else steps.get(claimed, top)).append(content)
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
                {**asdict(one), "recursion_history": steps[one.step_id]} for one in machine.plan
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
    for one in sorted(results, key=_rank):
        at = _fitting(calls, one) if isinstance(calls, list) else None
        if at is not None and isinstance(calls[at], dict):
            calls[at] |= {"result": one.text, "success": one.success}
    return content
