"""Session rows for a request with messages: the waiting turn, its calls, and messages that were
stored before."""

import json
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import NamedTuple

from schemas.base import JsonObject
from schemas.events import Record, Recursion
from schemas.time import parse_time
from streams.folds.effects import Rows
from streams.folds.seen_ids import find_id, find_turn, is_running, running, turn_hash
from streams.folds.session_state import HEADER, RUNNING, Facts, Session
from streams.folds.task import RESULTS, STEPS, TASKS, Result, Task
from streams.importers.turns import Call

SYSTEM = "system_messages"
"""A field of the running turns that messages started: the constraints of the next task."""


MESSAGE = "message_id"
"""A field of tool results that messages made: the id of the message."""
EARLIER = "earlier_messages"
"""Another: which messages answered the call before, as {"message_id", "occurred_at"}, the oldest
first."""
MOST_EARLIER = 20


class AnsweredCall(Call):
    """Calls of a stored recursion, and their stored results by the call's index."""

    def __init__(self, step: JsonObject, results: Sequence[Result]) -> None:
        super().__init__(step)
        ids = [entry.get("id") for entry in self.calls]
        places = {id: at for at, id in reversed([*enumerate(ids)]) if isinstance(id, str)}
        self.results = {
            entry.call_index if (at := places.get(entry.tool_call_id or "")) is None else at: entry
            for entry in results
        }
        self.answered = {at for at in self.results if at is not None}


class Waiting(NamedTuple):
    """The turn that a request continues; its task has the same id.

    `record`: the turn's record if it ends without another message; if it has ended after the
    request, None. `until`: time of its latest record, microseconds. `iteration`: index of its last
    step before the request.
    """

    event_id: str
    user_input: str
    record: JsonObject | None
    system: list[str]
    until: int
    iteration: int
    calls: list[AnsweredCall]


class SessionPast:
    """The rows of a session, for a request with messages of these ids."""

    def __init__(self, rows: Rows, ids: Sequence[str]) -> None:
        self._rows = rows
        self._ids = ids
        self._own = frozenset(ids)
        self._header = rows.get(HEADER) or Session()
        self._times = {event_id: at for at, event_id, _, _ in self._header.newest.entries}
        self._first = min((self._times[id] for id in ids if id in self._times), default=None)
        """When the first turn of the request was, if that came before."""

    def waiting(self, begins_with_user: bool) -> Waiting | None:
        """Returns the turn that the messages continue: the turn of stored ones among them,
        otherwise the latest turn that waits for an answer."""
        turns = [self._rows[RUNNING.key(event_id)] for event_id in self._header.running]
        other_turns = [turn for turn in turns if _is_ours(turn) and turn.event_id not in self._own]
        other_turns.sort(key=lambda turn: (turn.occurred_at, turn.event_id))
        if not begins_with_user:
            for turn in other_turns:
                if self._has_own(turn.event_id):
                    return self._begun(turn)
            for _, event_id, _, check in reversed(self._header.newest.entries):
                is_other = event_id not in self._own and not is_running(check)
                if is_other and self._has_own(event_id):
                    return self._ended(event_id)
        if self.is_known:  # turns that started later are ignored
            other_turns = [turn for turn in other_turns if turn.occurred_at < (self._first or 0)]
        return self._begun(other_turns[-1]) if other_turns else None

    def constraints(self, waiting: Waiting | None) -> list[str]:
        """Returns the system messages that apply to the next messages."""
        if waiting is not None:
            task = self._task(waiting.event_id)
            return waiting.system if task is None else list(task.tip.constraints)
        for id in self._ids:  # as it was when the request first came
            turn = self._rows.get(RUNNING.key(id))
            task = self._task(id)
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
        """Whether one of the messages opened a stored turn."""
        return any(_check(self._rows, self._header, event_id) is not None for event_id in self._ids)

    def known_start(self, waiting: Waiting | None, pace: int) -> int | None:
        """Returns the time of the request's first message, if one of the messages is stored."""
        tasks = [event_id for event_id in self._ids if self._task(event_id) is not None]
        if waiting is not None:
            tasks.append(waiting.event_id)
        results = self._result_times
        for index, event_id in enumerate(self._ids):
            steps = (self._rows.get(STEPS.key(task_id, event_id)) for task_id in tasks)
            step = next((step for step in steps if step is not None), None)
            at = self._times.get(event_id) if step is None else step.occurred_at
            if event_id in results:
                at = results[event_id]
            if at is not None:
                return at - index * pace
        return None

    def answered_by(self, message_id: str) -> tuple[AnsweredCall, int, JsonObject] | None:
        """Returns the call that a stored tool message answered, its index, and the effective
        result: of this message or of a later one."""
        if message_id not in self._result_times:
            return None
        for call in self.recent_calls():
            for at, result in call.results.items():
                record: JsonObject = json.loads(result.doc)
                if at is not None and any(
                    answer[MESSAGE] == message_id for answer in told_by(record)
                ):
                    return call, at, record
        return None

    @cached_property
    def _result_times(self) -> dict[str, int]:
        """Returns the times of the request's messages that answered a call."""
        times = {}
        for _, event_id, _, _ in self._header.newest.entries:
            task = self._task(event_id)
            for _, trace_id in task.order if task else ():
                for result in self._rows.get(RESULTS.key(event_id, trace_id)) or ():
                    for answer in told_by(json.loads(result.doc)):
                        if answer[MESSAGE] in self._own:
                            times[answer[MESSAGE]] = parse_time(answer["occurred_at"])
        return times

    def recent_calls(self) -> Iterator[AnsweredCall]:
        """Returns the calls of the newest turns' tasks, oldest first."""
        for _, event_id, _, _ in self._header.newest.entries:
            yield from self._calls(self._task(event_id))

    def _task(self, task_id: str) -> Task | None:
        """Returns the task, if it has a step."""
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
        self, event_id: str, text: str, at: int, record: JsonObject | None, system: list[str]
    ) -> Waiting:
        task = self._task(event_id)
        order = task.order if task else ()
        own_index = min((index for index, trace_id in order if trace_id in self._own), default=None)
        other_indexes = (index for index, trace_id in order if trace_id not in self._own)
        before = [index for index in other_indexes if own_index is None or index < own_index]
        iteration = max(before, default=task.older if task else 0)
        until = max(at, task.updated_at) if task else at
        calls = list(self._calls(task))
        return Waiting(event_id, text, record, system, until, iteration, calls)

    def _calls(self, task: Task | None) -> Iterator[AnsweredCall]:
        """Returns the calls of a task except the request's own."""
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
    """Returns the messages that were results of a call, oldest first: {"message_id",
    "occurred_at"}."""
    if not isinstance(result.get(MESSAGE), str):
        return []
    return [*result.get(EARLIER, ()), {name: result[name] for name in (MESSAGE, "occurred_at")}]


def _is_ours(turn: Facts) -> bool:
    """Whether a running turn was started by messages; other turns are ended by their senders."""
    return turn.doc is not None and SYSTEM in json.loads(turn.doc)


def conflicts(rows: Rows, record: Record, fingerprint: bytes) -> bool:
    """Whether a stored turn or recursion with that id differs. An unfinished turn may end."""
    if isinstance(record, Recursion):
        step = rows.get(STEPS.key(record.task_id, record.trace_id))
        return step is not None and step.fingerprint != fingerprint
    check = _turn_check(rows, record)
    if check is None:
        return False
    starts_turn = record.status == "running"  # type: ignore[attr-defined]
    if is_running(check):
        return starts_turn and check != running(fingerprint)
    return not starts_turn and check != fingerprint


def _turn_check(rows: Rows, record: Record) -> bytes | None:
    header = rows.get(HEADER)
    if header is None or record.type != "turn":
        return None
    return _check(rows, header, record.event_id)  # type: ignore[attr-defined]


def _check(rows: Rows, header: Session, event_id: str) -> bytes | None:
    check = find_turn(header.newest, event_id)
    return check if check is not None else find_id(rows, header.runs, turn_hash(event_id))[0]
