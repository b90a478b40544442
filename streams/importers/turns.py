"""Converts messages of OpenAI's chat API to turns with recursions and tool results.

A user message opens a turn and its task; messages of assistant and tools before the next one belong
to it. `openai_chat` uses it for whole conversations, `session_messages` for the messages of one
request.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from schemas.base import SECOND, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical
from streams.importers.base import ImportFault, Skipped, is_identifier, micros, shaped
from streams.importers.content import Content, read_content, starts_with_error

TIME_FIELDS = ("created", "created_at", "create_time", "timestamp")
MAX_CONSTRAINTS = 100
MAX_IMAGES = 5
MIN_ITERATIONS = 10
NO_CONTENT = Content()
ANY = ("any",)
"""What every call goes by."""

Name = Callable[[str, int], str]
"""The id of an `event`, `task` or `trace` that the message of that index makes."""


class Made(NamedTuple):
    """A record, and the index of its message."""

    place: int
    record: JsonObject


class Call:
    """A recursion with calls, and the answered ones among them."""

    def __init__(self, step: JsonObject) -> None:
        self.step = step
        self.calls: list[JsonObject] = step["action"]["output"]["tool_calls"]
        self.answered: set[int] = set()
        self._places: dict[Any, list[int]] = {ANY: list(range(len(self.calls)))}
        self._passed: Counter[Any] = Counter()
        for at, call in enumerate(self.calls):
            for key in _keys(call):
                self._places.setdefault(key, []).append(at)

    def names(self) -> Iterable[Any]:
        """Ids or names of its calls."""
        return self._places if self.calls else ()

    def is_unique(self, at: int) -> bool:
        """Whether the id of this call is unique in the recursion."""
        return len(self._places[_key("id", self.calls[at].get("id"))]) == 1

    def match(self, message: JsonObject) -> int | None:
        """Returns the index of the call that this tool message answers, or None: the first
        unanswered of several, otherwise the first."""
        key = asked(message)
        places = self._places.get(key)
        if not places:
            return None
        while (passed := self._passed[key]) < len(places):
            if places[passed] not in self.answered:
                return places[passed]
            self._passed[key] += 1  # an answer is not taken back
        return places[0]


class Calls:
    """The calls of a session so far, with an index of the newest by name."""

    def __init__(self, calls: Iterable[Call] = ()) -> None:
        self._newest: dict[Any, Call] = {}
        for call in calls:
            self.append(call)

    def append(self, call: Call) -> None:
        """Adds calls after the present ones."""
        self._newest.update(dict.fromkeys(call.names(), call))

    def put_before(self, calls: Iterable[Call]) -> None:
        """Adds calls before the present ones."""
        self._newest = Calls(calls)._newest | self._newest

    def match(self, message: JsonObject) -> tuple[Call, int] | None:
        """Returns the newest call that a tool message answers, and its index."""
        call = self._newest.get(asked(message))
        at = None if call is None else call.match(message)
        return None if call is None or at is None else (call, at)


class Turn:
    """A turn under construction: its record and the records that follow from it."""

    def __init__(self, record: JsonObject, index: int, iteration: int = 0) -> None:
        self.record = record
        self.index = index
        self.iteration = iteration
        self.following: list[Made] = []
        self.answer: JsonObject | None = None

    def answer_with(self, step: JsonObject, text: str) -> None:
        """Replaces the answer by a later one; the earlier one becomes a reflection."""
        if self.answer is not None:
            self.answer["action"]["action_type"] = "REFLECT"
        self.answer = step
        self.record["agent_answer"] = text


def other_speakers(messages: Iterable[JsonObject], user_id: str | None) -> frozenset[str]:
    """Returns the `name`s in user messages that share no word with the user's id. An id with a
    digit is not a name: then a single speaker is the user, and of several speakers none is."""
    names = frozenset(
        name
        for message in messages
        if message.get("role") == "user"
        and isinstance(name := message.get("name"), str)
        and name.strip()
    )
    if user_id is None or (len(names) == 1 and any(map(str.isdigit, user_id))):
        return frozenset()
    user_words = _words(user_id)
    return frozenset(name for name in names if user_words.isdisjoint(_words(name)))


def _words(name: str) -> set[str]:
    return {name.casefold(), *_WORDS.findall(name.casefold())}


_WORDS = re.compile(r"[^\W\d_]{2,}")


class TurnMaker:
    """Takes the messages of one session in their order.

    `others`: names of who speaks in user's messages and is not the user.

    `pace`: microseconds from a message to the next one, where that has no time. `limit`: the
    `max_iteration` of its tasks. `number`: the item that an ImportFault names.
    """

    def __init__(
        self,
        session_id: str,
        user_id: str | None,
        name: Name,
        skipped: Skipped,
        *,
        pace: int = SECOND,
        limit: int = MIN_ITERATIONS,
        number: int = 0,
    ) -> None:
        self.session_id = session_id
        self.user_id = user_id
        self.now = 0
        self.constraints: list[str] = []
        self.calls = Calls()
        self.others: frozenset[str] = frozenset()
        self.turn: Turn | None = None
        self.opened = False
        self.skipped = skipped
        self._name = name
        self._pace = pace
        self._limit = limit
        self._number = number

    def take(self, index: int, message: JsonObject) -> Iterator[Made]:
        """Takes a message; returns the records of the turn before, if this message opens the next
        one."""
        self.now = self._time(message, index)
        role = message.get("role")
        if role == "user":
            yield from self.flush()
            turn = self._open(index, self._content(message))
            name = message.get("name")
            if isinstance(name, str) and name in self.others:
                turn.record.pop("user_id", None)  # their own words are not the user's
                self._skip("message of another speaker, kept without a user")
        elif role in ("system", "developer"):
            self.constrain(index, self._content(message).text)
        elif role == "assistant":
            self._step(index, message)
        elif role in ("tool", "function"):
            self._result(index, message)
        else:
            reason = f"{role!r} is none of system, developer, user, assistant, tool, function"
            raise self._fault(reason, f"messages[{index}].role")

    def flush(self) -> Iterator[Made]:
        """Returns the records of the open turn: the turn, its recursions and tool results."""
        turn, self.turn = self.turn, None
        if turn:
            yield Made(turn.index, turn.record)
            yield from turn.following

    def constrain(self, index: int, text: str) -> None:
        """Takes a system message, which applies to later tasks."""
        if text:
            self.constraints.append(text)
            self._skip("system message beyond a hundred", len(self.constraints) - MAX_CONSTRAINTS)
            self.constraints = self.constraints[-MAX_CONSTRAINTS:]

    def given_time(self, message: JsonObject, index: int) -> int | None:
        """Returns the message's time in microseconds. Raises ImportFault."""
        for name in TIME_FIELDS:
            if message.get(name) is not None:
                field = f"messages[{index}].{name}"
                return micros(message[name], item=self._number, field=field)
        return None

    def _open(self, index: int, content: Content) -> Turn:
        record = self._record("turn", event_id=self._name("event", index))
        if self.user_id is not None:
            record["user_id"] = self.user_id
        record |= {
            "task_id": self._name("task", index),
            "source": "chat",
            "user_input": content.text,
            "agent_answer": "",
            "status": "done",
        }
        if content.images:
            record["image_summaries"] = list(content.images[:MAX_IMAGES])
            self._skip("image description beyond five", len(content.images) - MAX_IMAGES)
        self.turn, self.opened = Turn(record, index), True
        return self.turn

    def _step(self, index: int, message: JsonObject) -> None:
        content = self._content(message)
        text = content.with_images or _spoken(message)
        thought = "\n".join(filter(None, (_reasoning(message), content.thought)))
        calls = self._tool_calls(message, index)
        if not (calls or text or thought):
            self._skip("empty assistant message")
            return
        turn = self.turn or self._open(index, NO_CONTENT)
        if calls:
            thought = "\n".join(filter(None, (thought, text)))
            output: JsonObject = {"tool_calls": calls}
            step = self._recursion(turn, index, thought, "CALL_TOOL", output)
            self.calls.append(Call(step))
        elif text:
            step = self._recursion(turn, index, thought, "ANSWER", {"answer": text})
            turn.answer_with(step, text)
        else:
            self._recursion(turn, index, thought, "REFLECT", {})

    def _recursion(
        self, turn: Turn, index: int, thought: str, action_type: str, output: JsonObject
    ) -> JsonObject:
        turn.iteration += 1
        step = self._record(
            "recursion",
            task_id=turn.record["task_id"],
            trace_id=self._name("trace", index),
            iteration_index=turn.iteration,
            status="done",
            observe="",
            thought=thought,
            action={"action_type": action_type, "output": output},
            max_iteration=self._limit,
        )
        if turn.iteration == 1:
            if turn.record["user_input"]:
                step["objective"] = turn.record["user_input"]
            if self.constraints:
                step["constraints"] = list(self.constraints)
        turn.following.append(Made(index, step))
        return step

    def _result(self, index: int, message: JsonObject) -> None:
        match = self.calls.match(message)
        if match is None:
            self._skip("tool message without its call")
            return
        call, at = match
        call.answered.add(at)
        self.result(Made(index, self._answered(call, at, index, message)))

    def result(self, output: Made) -> None:
        """Adds a tool's result to the turn."""
        if self.turn:  # always: the call itself is in a turn
            self.turn.following.append(output)

    def _answered(self, call: Call, at: int, index: int, message: JsonObject) -> JsonObject:
        text = self._content(message).with_images
        failed = message.get("status") == "error" or starts_with_error(text)
        result = self._record(
            "tool_result", task_id=call.step["task_id"], trace_id=call.step["trace_id"]
        )
        call_id = call.calls[at].get("id")
        if isinstance(call_id, str) and is_identifier(call_id) and call.is_unique(at):
            result["tool_call_id"] = call_id
        else:
            result["call_index"] = at
        return result | {"result": text, "success": not failed}

    def _tool_calls(self, message: JsonObject, index: int) -> list[JsonObject]:
        """Returns the calls as sent; the older `function_call` as a call without an id."""
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise self._fault("expected an array of objects", f"messages[{index}].tool_calls")
        legacy = message.get("function_call")
        if not calls and isinstance(legacy, dict):
            return [{"type": "function", "function": legacy}]
        return [dict(call) for call in calls]

    def _record(self, kind: str, **fields: Any) -> JsonObject:
        head = {"type": kind, "schema_version": SCHEMA_VERSION, "session_id": self.session_id}
        return head | {"occurred_at": format_time(self.now)} | fields

    def _time(self, message: JsonObject, index: int) -> int:
        time = self.given_time(message, index)
        if time is None:
            return self.now + self._pace
        return max(time, self.now + 1) if index else time

    def _content(self, message: JsonObject) -> Content:
        return read_content(message.get("content"), self.skipped)

    def _skip(self, content: str, count: int = 1) -> None:
        if count > 0:
            self.skipped[content] += count

    def _fault(self, reason: str, field: str) -> ImportFault:
        return ImportFault(reason, item=self._number, field=field)


class Place(NamedTuple):
    """Position of a message: the number of its item, if there are several, and its index."""

    number: int | None
    at: int


def as_message(item: JsonObject, place: Place) -> JsonObject:
    """Converts an item of OpenAI's Responses API to a message of its chat API; returns a message
    unchanged. Raises ImportFault."""
    kind, call_id = item.get("type"), item.get("call_id")
    fields = {name: item[name] for name in ("id", "created_at", "status") if name in item}
    if kind == "function_call":
        function = {"name": item.get("name"), "arguments": item.get("arguments")}
        call = {"id": call_id, "type": "function", "function": function}
        return fields | {"role": "assistant", "content": None, "tool_calls": [call]}
    if kind == "function_call_output":
        output = item.get("output")
        text = output if isinstance(output, str | list) else canonical(output)
        return fields | {"role": "tool", "tool_call_id": call_id, "content": text}
    if kind == "reasoning":
        thoughts = [
            text for name in ("summary", "content") for text in _thoughts(item, name, place)
        ]
        return fields | {"role": "assistant", "reasoning_content": "\n".join(thoughts)}
    return item


def _thoughts(item: JsonObject, name: str, place: Place) -> Iterator[str]:
    value = item.get(name)
    if isinstance(value, str):
        yield value
        return
    field = f"messages[{place.at}].{name}"
    for part in shaped(value, list, item=place.number, field=field):
        if isinstance(part, dict) and part.get("text"):
            yield str(part["text"])


def asked(message: JsonObject) -> Any:
    """Id of the call that a tool message answers; without one (the older `function` role) the
    function's name."""
    if call_id := message.get("tool_call_id"):
        return _key("id", call_id)
    name = message.get("name")
    return ANY if name is None else _key("name", name)


def _keys(call: JsonObject) -> tuple[Any, Any]:
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else call.get("name")
    return _key("id", call.get("id")), _key("name", name)


def _key(kind: str, value: Any) -> Any:
    """Key that is equal for equal JSON values."""
    return kind, canonical(value) if isinstance(value, dict | list) else value


def _spoken(message: JsonObject) -> str:
    """Text of an assistant outside of `content`: a refusal, or its voice's transcript."""
    audio = message.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    return str(message.get("refusal") or transcript or "")


def _reasoning(message: JsonObject) -> str:
    return str(message.get("reasoning_content") or message.get("reasoning") or "")
