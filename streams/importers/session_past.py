"""What a session's rows say to a request with messages: the turn that waits, its calls, and which
of the messages came before."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from schemas.base import JsonObject
from schemas.events import Record, Recursion
from schemas.time import parse_time
from streams.folds.index import find_id, find_turn, is_running, running, turn_hash
from streams.folds.rows import Rows
from streams.folds.session_state import HEADER, RUNNING, Facts, Session
from streams.folds.task import RESULTS, STEPS, TASKS, Result, Task
from streams.importers.turns import Call

SYSTEM = "system_messages"
"""A field of the running turns that messages began: the constraints of the task to come."""


MESSAGE = "message_id"
"""A field of tool results that messages made: the id of the message."""
EARLIER = "earlier_messages"
"""Another: which messages answered the call before, as {"message_id", "occurred_at"}, the oldest
first."""
MOST_EARLIER = 20


class AnsweredCall(Call):
    """Calls of a recursion that is there, and the results that are, by the call's index."""

    def __init__(self, step: JsonObject, results: Sequence[Result]) -> None:
        super().__init__(step)
        ids = [one.get("id") for one in self.calls]
        places = {id: at for at, id in reversed([*enumerate(ids)]) if isinstance(id, str)}
        self.results = {
            one.call_index if (at := places.get(one.tool_call_id or "")) is None else at: one
            for one in results
        }
        self.answered = {at for at in self.results if at is not None}


class Waiting(NamedTuple):
    """The turn that a request goes on with; its task has its id. `record`: as it ends without a
    further word; None: it has ended, and the request came before. `until`: the time of what is
    known of it, microseconds. `iteration`: the index of its last step before the request."""

    event_id: str
    user_input: str
    record: JsonObject | None
    system: list[str]
    until: int
    iteration: int
    calls: list[AnsweredCall]


class SessionPast:
    """The rows of a session, as a request with messages of these ids sees them."""

    def __init__(self, rows: Rows, ids: Sequence[str]) -> None:
        self._rows = rows
        self._ids = ids
        self._own = frozenset(ids)
        self._header = rows.get(HEADER) or Session()
        self._times = {event_id: at for at, event_id, _, _ in self._header.newest.entries}
        self._first = min((self._times[one] for one in ids if one in self._times), default=None)
        """When the first turn of the request was, if that came before."""

    def waiting(self, begins_with_user: bool) -> Waiting | None:
        """The turn that the messages go on with: that of which some came before, else the latest
        that waits for an answer."""
        turns = [self._rows[RUNNING.key(one)] for one in self._header.running]
        others = [one for one in turns if _is_ours(one) and one.event_id not in self._own]
        others.sort(key=lambda one: (one.occurred_at, one.event_id))
        if not begins_with_user:
            for turn in others:
                if self._has_own(turn.event_id):
                    return self._begun(turn)
            for _, event_id, _, check in reversed(self._header.newest.entries):
                is_other = event_id not in self._own and not is_running(check)
                if is_other and self._has_own(event_id):
                    return self._ended(event_id)
        if self.is_known:  # what began later is none of its business
            others = [one for one in others if one.occurred_at < (self._first or 0)]
        return self._begun(others[-1]) if others else None

    def constraints(self, waiting: Waiting | None) -> list[str]:
        """The system messages that bind what comes next."""
        if waiting is not None:
            task = self._task(waiting.event_id)
            return waiting.system if task is None else list(task.tip.constraints)
        for one in self._ids:  # as it was when the request first came
            turn = self._rows.get(RUNNING.key(one))
            task = self._task(one)
            if task is not None:
                return list(task.tip.constraints)
            if turn is not None and turn.doc is not None:
                return json.loads(turn.doc).get(SYSTEM) or []
        for at, event_id, _, _ in reversed(self._header.newest.entries):
            if event_id in self._own or (self._first is not None and at >= self._first):
                continue
            task = self._task(event_id)
            if task is not None:
                return list(task.tip.constraints)
        return []

    @property
    def is_known(self) -> bool:
        """Whether one of the messages opened a turn before."""
        return any(_check(self._rows, self._header, one) is not None for one in self._ids)

    def known_start(self, waiting: Waiting | None, pace: int) -> int | None:
        """The time of the request's first message, if one of them came before."""
        tasks = [one for one in self._ids if self._task(one) is not None]
        if waiting is not None:
            tasks.append(waiting.event_id)
        results = self._result_times
        for index, one in enumerate(self._ids):
            steps = (self._rows.get(STEPS.key(task_id, one)) for task_id in tasks)
            step = next((step for step in steps if step is not None), None)
            at = self._times.get(one) if step is None else step.occurred_at
            if one in results:
                at = results[one]
            if at is not None:
                return at - index * pace
        return None

    def answered_by(self, message_id: str) -> tuple[AnsweredCall, int, JsonObject] | None:
        """The call that a tool's message answered when it came before, its index, and the result
        that stands: of this message, or of a later one."""
        if message_id not in self._result_times:
            return None
        for call in self.recent_calls():
            for at, result in call.results.items():
                said: JsonObject = json.loads(result.doc)
                if at is not None and any(one[MESSAGE] == message_id for one in told_by(said)):
                    return call, at, said
        return None

    @cached_property
    def _result_times(self) -> dict[str, int]:
        """When those of the request's messages came that answered a call."""
        found = {}
        for _, event_id, _, _ in self._header.newest.entries:
            task = self._task(event_id)
            for _, trace_id in task.order if task else ():
                for result in self._rows.get(RESULTS.key(event_id, trace_id)) or ():
                    for one in told_by(json.loads(result.doc)):
                        if one[MESSAGE] in self._own:
                            found[one[MESSAGE]] = parse_time(one["occurred_at"])
        return found

    def recent_calls(self) -> Iterator[AnsweredCall]:
        """Calls of the newest turns' tasks, the oldest first."""
        for _, event_id, _, _ in self._header.newest.entries:
            yield from self._calls(self._task(event_id))

    def _task(self, task_id: str) -> Task | None:
        """The task, if it has a step."""
        task = self._rows.get(TASKS.key(task_id))
        return task if task is not None and task.order else None

    def _has_own(self, task_id: str) -> bool:
        task = self._task(task_id)
        return task is not None and any(trace_id in self._own for _, trace_id in task.order)

    def _begun(self, turn: Facts) -> Waiting:
        record: JsonObject = json.loads(turn.doc) if turn.doc else {}
        system = record.pop(SYSTEM, None) or []
        if turn.images:
            record["image_summaries"] = list(turn.images)
        record["status"] = "done"
        return self._at_work(turn.event_id, turn.user_input, turn.occurred_at, record, system)

    def _ended(self, event_id: str) -> Waiting:
        task = self._task(event_id)
        objective = task.tip.objective if task is not None else None
        return self._at_work(event_id, objective or "", self._times[event_id], None, [])

    def _at_work(
        self, event_id: str, said: str, at: int, record: JsonObject | None, system: list[str]
    ) -> Waiting:
        task = self._task(event_id)
        order = task.order if task else ()
        own = min((index for index, one in order if one in self._own), default=None)
        others = (index for index, one in order if one not in self._own)
        before = [index for index in others if own is None or index < own]
        iteration = max(before, default=task.older if task else 0)
        until = max(at, task.updated_at) if task else at
        calls = list(self._calls(task))
        return Waiting(event_id, said, record, system, until, iteration, calls)

    def _calls(self, task: Task | None) -> Iterator[AnsweredCall]:
        """The calls of a task, but for the request's own."""
        if task is None:
            return
        for _, trace_id in task.order:
            if trace_id in self._own:
                continue
            step = json.loads(self._rows[STEPS.key(task.task_id, trace_id)].doc)
            if step["action"].get("output", {}).get("tool_calls"):
                results = self._rows.get(RESULTS.key(task.task_id, trace_id)) or ()
                yield AnsweredCall(step, results)


def told_by(result: JsonObject) -> list[JsonObject]:
    """The messages that a call had as results, the oldest first: {"message_id", "occurred_at"}."""
    if not isinstance(result.get(MESSAGE), str):
        return []
    return [*result.get(EARLIER, ()), {name: result[name] for name in (MESSAGE, "occurred_at")}]


def _is_ours(turn: Facts) -> bool:
    """Whether messages began a running turn; others are ended by whoever began them."""
    return turn.doc is not None and SYSTEM in json.loads(turn.doc)


def conflicts(rows: Rows, record: Record, fingerprint: bytes) -> bool:
    """Whether a turn or recursion of that id is there and says something else. A turn that has not
    ended may end."""
    if isinstance(record, Recursion):
        step = rows.get(STEPS.key(record.task_id, record.trace_id))
        return step is not None and step.fingerprint != fingerprint
    check = _turn_check(rows, record)
    if check is None:
        return False
    begun = record.status == "running"  # type: ignore[attr-defined]
    if is_running(check):
        return begun and check != running(fingerprint)
    return not begun and check != fingerprint


def _turn_check(rows: Rows, record: Record) -> bytes | None:
    header = rows.get(HEADER)
    if header is None or record.type != "turn":
        return None
    return _check(rows, header, record.event_id)  # type: ignore[attr-defined]


def _check(rows: Rows, header: Session, event_id: str) -> bytes | None:
    check = find_turn(header.newest, event_id)
    return check if check is not None else find_id(rows, header.runs, turn_hash(event_id))[0]
