"""Messages of one request as records that continue their session (docs/http.md, Messages).

The session's rows decide how messages are read: an answer belongs to the turn that waits for it. A
repeated request gives the same records, so they are duplicates: ids are derived from the messages'
ids, and times of stored records are reused.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from schemas.base import JsonObject
from streams.folds.effects import Rows
from streams.importers.base import Skipped
from streams.importers.content import Content
from streams.importers.session_lookup import (
    EARLIER,
    MESSAGE,
    MOST_EARLIER,
    SYSTEM,
    AnsweredCall,
    SessionPast,
    Waiting,
    told_by,
)
from streams.importers.turns import Call, Calls, Made, Turn, TurnMaker, other_speakers

PACE = 1
"""Microseconds from a message without a time to the next."""
LIMIT = 1_000
"""`max_iteration` of a task: who sends messages counts its own steps."""


class Request(NamedTuple):
    """Messages of one session and user. `ids`: one per message, unique in the session. `fields`:
    fields of the turns that the request starts or answers, such as `topic`."""

    session_id: str
    user_id: str
    ids: Sequence[str]
    messages: Sequence[JsonObject]
    fields: JsonObject


class Records(NamedTuple):
    """Records of a request. `left_out` counts content that records cannot represent, by reason."""

    made: list[Made]
    left_out: Skipped
    open_turn: str | None
    """The turn that waits for its answer."""
    is_old: bool
    """Whether the request came so long ago that its times are not at hand: all are duplicates."""
    unanswering: list[int]
    """Indexes of results without a call: without them the request may have another meaning, so that
    it is read again."""


def records(rows: Rows, request: Request, clock: Callable[[], int]) -> Records:
    """Converts a request, given the session's rows. `clock` returns microseconds for messages
    without a time. Raises ImportFault."""
    left_out = Skipped()
    maker = _RequestMaker(SessionPast(rows, request.ids), request, left_out)
    maker.start(clock)
    outputs = [
        output for at, message in enumerate(request.messages) for output in maker.take(at, message)
    ]
    outputs += maker.finish()
    return Records(outputs, left_out, maker.open_turn, maker.is_old, maker.unanswering)


def goes_on(rows: Rows, request: Request) -> bool:
    """Whether the session has some of the messages, or a turn that they answer."""
    past = SessionPast(rows, request.ids)
    if past.is_known or past.known_start(None, PACE) is not None:
        return True
    return not _begins_with_user(request.messages) and past.waiting(False) is not None


def first_time(messages: Sequence[JsonObject]) -> int | None:
    """Time of the first message, if any message has one. Raises ImportFault."""
    times = enumerate(given_times(messages))
    return next((at - index * PACE for index, at in times if at is not None), None)


def given_times(messages: Sequence[JsonObject]) -> list[int | None]:
    """Returns the time of each message. Raises ImportFault."""
    maker = TurnMaker("", None, lambda kind, index: "", Skipped())
    return [maker.given_time(message, index) for index, message in enumerate(messages)]


class _RequestMaker(TurnMaker):
    """Converts a request's messages after the earlier ones of the session."""

    def __init__(self, past: SessionPast, request: Request, left_out: Skipped) -> None:
        super().__init__(
            request.session_id,
            request.user_id,
            lambda kind, index: request.ids[index],  # a task's id is its turn's
            left_out,
            pace=PACE,
            limit=LIMIT,
        )
        self._past = past
        self._request = request
        self._waiting = past.waiting(_begins_with_user(request.messages))
        self._system_at = -2  # the newest system message
        self._results: list[Made] = []  # while no turn is open
        self._sought = False
        self._standing: dict[tuple[str, int], JsonObject] = {}  # results made here, by their call
        self.is_old = False
        self.unanswering: list[int] = []
        self.open_turn: str | None = None
        self.others = other_speakers(request.messages, request.user_id)
        self.constraints = past.constraints(self._waiting)
        if self._waiting is not None:
            self._resume(self._waiting)

    def start(self, clock: Callable[[], int]) -> None:
        """Sets the time before the first message."""
        at = first_time(self._request.messages)
        if at is None:
            at = self._past.known_start(self._waiting, PACE)
        if at is None:
            self.is_old = self._past.is_known
            at = max(clock(), 0 if self._waiting is None else self._waiting.until + PACE)
        self.now = at - PACE

    def take(self, index: int, message: JsonObject) -> Iterator[Made]:
        if message.get("role") == "assistant" and message.get("status") == "in_progress":
            return  # it is sent again when it has ended
        yield from super().take(index, message)

    def constrain(self, index: int, text: str) -> None:
        """Consecutive system messages replace earlier ones: most programs send them each time."""
        if text and self._system_at != index - 1:
            self.constraints = []
        self._system_at = index
        super().constrain(index, text)

    def flush(self) -> Iterator[Made]:
        """Ends the turn. Its record follows its recursions, so that a client that retries after a
        partial failure finds it unchanged."""
        turn, waiting = self.turn, self._waiting
        self.turn = self._waiting = None
        yield from self._take_results()
        if turn is None:
            return
        yield from turn.following
        if waiting is not None and waiting.record is None:  # the session has its end
            return
        index = turn.index if waiting is None else turn.following[-1].place if turn.following else 0
        is_told = waiting is None or turn.answer is not None
        yield Made(index, _without_task(turn) | (self._request.fields if is_told else {}))

    def finish(self) -> Iterator[Made]:
        """Returns the rest at the end. A turn without an answer stays open."""
        turn = self.turn
        if turn is None or turn.answer is not None:
            yield from self.flush()
            return
        yield from self._take_results()
        if self._waiting is None or self._waiting.record is not None:
            self.open_turn = turn.record["task_id"]
        if self._waiting is None:
            running = {"status": "running", SYSTEM: list(self.constraints)}
            yield Made(turn.index, _without_task(turn) | self._request.fields | running)
        yield from turn.following

    def result(self, output: Made) -> None:
        if self.turn is None:
            self._results.append(output)
        super().result(output)

    def _resume(self, waiting: Waiting) -> None:
        self.calls = Calls(waiting.calls)
        fields = {"task_id": waiting.event_id, "user_input": waiting.user_input}
        self.turn = Turn((waiting.record or {}) | fields, 0, waiting.iteration)

    def _open(self, index: int, content: Content) -> Turn:
        self._waiting = None
        return super()._open(index, content)

    def _take_results(self) -> Iterator[Made]:
        results, self._results = self._results, []
        yield from results

    def _result(self, index: int, message: JsonObject) -> None:
        before = self._past.answered_by(self._request.ids[index])
        if before is not None:
            call, at, standing = before
            is_it = standing[MESSAGE] == self._request.ids[index]
            again = self._answered(call, at, index, message) if is_it else standing
            self.result(Made(index, again))
            return
        if not self._sought and self.calls.match(message) is None:
            self._sought = True  # a result may come after the answer
            self.calls.put_before(self._past.recent_calls())
        if self.calls.match(message) is None:
            self.unanswering.append(index)
            return
        super()._result(index, message)

    def _answered(self, call: Call, at: int, index: int, message: JsonObject) -> JsonObject:
        """Returns a tool result with the messages that it replaces: they may be sent again."""
        key = call.step["trace_id"], at
        before = self._standing.get(key)
        if before is None and isinstance(call, AnsweredCall) and at in call.results:
            before = json.loads(call.results[at].doc)
        message_id = self._request.ids[index]
        earlier = [answer for answer in told_by(before or {}) if answer[MESSAGE] != message_id][
            -MOST_EARLIER:
        ]
        result = super()._answered(call, at, index, message) | {MESSAGE: message_id}
        self._standing[key] = result | ({EARLIER: earlier} if earlier else {})
        return self._standing[key]


def _without_task(turn: Turn) -> JsonObject:
    """Returns the turn's record without its task, which has the turn's id and starts with its first
    step."""
    return {name: value for name, value in turn.record.items() if name != "task_id"}


def _begins_with_user(messages: Sequence[JsonObject]) -> bool:
    """Whether the first speaker other than system is the user."""
    roles = (role.get("role") for role in messages)
    return next((role for role in roles if role not in ("system", "developer")), None) == "user"
