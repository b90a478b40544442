"""`openai-chat`: conversations as OpenAI's chat API takes them, JSON or JSONL.

An item is `{session_id?, user_id?, created?, title?, messages: [...]}` or a bare array of
messages; tau-bench's `traj` counts as `messages`. Without a session_id the session's id is made of
the whole item, so that equal items are one session.

- A user message opens a turn and its task. An assistant message before any user message opens a
  turn without user input: the agent spoke first.
- An assistant message with calls is a CALL_TOOL recursion (`output.tool_calls` as given). The last
  one without calls is the ANSWER and the turn's answer; of several before the next user message
  the earlier ones are REFLECT recursions that keep their text, as is one that only thinks.
- `iteration_index` counts from 1 within a task: the last one's index is the task's `iteration`
  (recursions that were executed).
- The user is the item's `user_id` (or `user`), else the one who imports says; without either the
  conversation is refused, for memory is a user's.
- Times: a message's own `created` (also `created_at`, `create_time`, `timestamp`), else one second
  after the message before; a time not after the one before is moved 1 µs past it, because the
  order of the messages is what the file is sure of. The first message has its own, else the
  item's `created`, else so many seconds before the first message that has one; without any time
  in the conversation what who imports says, else the file's modification time. Ids depend on no
  time. So a copy of the file with another modification time has the same ids and other times: its
  turns are refused as conflicting duplicates, and the first import stands. `--created` gives the
  copy the first one's times.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from schemas.base import SECOND, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical, make_id
from streams.importers import json_stream
from streams.importers.base import (
    MAX_ID,
    NOTHING,
    ImportFault,
    NoUser,
    Skipped,
    Told,
    identifier,
    micros,
    spoken,
    whole,
)
from streams.importers.content import Content, read_content, starts_with_error

TIME_FIELDS = ("created", "created_at", "create_time", "timestamp")
MAX_CONSTRAINTS = 100
MAX_IMAGES = 5
MIN_ITERATIONS = 10


def read(path: Path, skipped: Skipped, told: Told = NOTHING) -> Iterator[JsonObject]:
    """The file's conversations as input records, one conversation at a time."""
    with json_stream.open_text(path) as stream:
        yield from parse(items(json_stream.documents(stream)), skipped, told.of(path))


def items(documents: Iterable[Any]) -> Iterator[Any]:
    """The items of a file: objects, arrays of objects, and bare arrays of messages."""
    for document in documents:
        if not isinstance(document, Iterator):
            yield document
            continue
        first = next(document, None)
        if isinstance(first, dict) and "role" in first:
            yield [first, *document]
        elif first is not None:
            yield first
            yield from document


def parse(
    items: Iterable[Any], skipped: Skipped | None = None, told: Told = NOTHING
) -> Iterator[JsonObject]:
    """Decoded items -> input records in the order of the messages. Counts into `skipped`."""
    skipped = Skipped() if skipped is None else skipped
    for number, item in spoken(items, skipped):
        yield from whole(partial(conversation, item, number, told), skipped)


def conversation(item: Any, number: int, told: Told, skipped: Skipped) -> Iterator[JsonObject]:
    """One item's records, of the turns in their order. Raises ImportFault."""
    item = {"messages": item} if isinstance(item, list) else item
    if not isinstance(item, dict):
        raise ImportFault("expected an object or an array of messages", item=number)
    return _Conversation(item, number, told, skipped).records()


class _Call:
    """An assistant message with calls, and which of them have been answered."""

    def __init__(self, step: JsonObject) -> None:
        self.step = step
        self.calls: list[JsonObject] = step["action"]["output"]["tool_calls"]
        self.answered: set[int] = set()

    def match(self, message: JsonObject) -> int | None:
        """The index of the call that this tool message answers, if it is one of these."""
        call_id = message.get("tool_call_id")
        found = [at for at, call in enumerate(self.calls) if _answers(message, call, call_id)]
        return next((at for at in found if at not in self.answered), found[0] if found else None)


class _Turn:
    """One turn in the making: its record and what follows from it."""

    def __init__(self, record: JsonObject, at: int) -> None:
        self.record = record
        self.at = at
        self.following: list[JsonObject] = []
        self.iteration = 0
        self.answer: JsonObject | None = None

    def answer_with(self, step: JsonObject, text: str) -> None:
        """Takes a later answer over an earlier one, which stays as a reflection."""
        if self.answer is not None:
            self.answer["action"]["action_type"] = "REFLECT"
        self.answer = step
        self.record["agent_answer"] = text

    def records(self) -> list[JsonObject]:
        """The turn, then its recursions and tool results."""
        return [self.record, *self.following]


class _Conversation:
    """One item on its way to records."""

    def __init__(self, item: JsonObject, number: int, told: Told, skipped: Skipped) -> None:
        self._number = number
        self._skipped = skipped
        self._messages = _messages(item, number)
        self._session_id = identifier(item.get("session_id"), item=number, field="session_id")
        self._session_id = self._session_id or make_id("session", canonical(item))
        self._user_id = self._user(item, told)
        self._title = item.get("title")
        self._now = self._start(item, told) - SECOND
        self._constraints: list[str] = []
        self._calls: list[_Call] = []
        self._turn: _Turn | None = None
        self._opened = False

    def _user(self, item: JsonObject, told: Told) -> str | None:
        """Whose conversation it is; nobody's only where nobody says anything. Raises NoUser."""
        said = item.get("user_id")
        if said is None:
            said = _named_elsewhere(item)
        if isinstance(said, str) and not said.strip():
            said = None
        user = identifier(said, item=self._number, field="user_id") or told.user
        if user is None and self._messages:
            raise NoUser(self._number)
        return user

    def _start(self, item: JsonObject, told: Told) -> int:
        """When its first message was written."""
        if item.get("created") is not None:
            return micros(item["created"], item=self._number, field="created")
        for index, message in enumerate(self._messages):
            at = self._given_time(message, index)
            if at is not None:
                return at - index * SECOND
        if told.created is None:
            if not self._messages:
                return 0
            reason = "says not when it was, nor does the file: give --created TIME"
            raise ImportFault(reason, item=self._number, field="created")
        if self._messages:
            self._skipped.date(told)
        return told.created

    def records(self) -> Iterator[JsonObject]:
        """The records of each turn as soon as the next turn begins."""
        if not self._messages:
            self._skip("conversation without messages")
        for index, message in enumerate(self._messages):
            self._now = self._time(message, index)
            role = message.get("role")
            if role == "user":
                yield from self._flush()
                self._open(index, self._content(message))
            elif role in ("system", "developer"):
                self._constrain(self._content(message).text)
            elif role == "assistant":
                self._step(index, message)
            elif role in ("tool", "function"):
                self._result(message)
            else:
                reason = f"{role!r} is none of system, developer, user, assistant, tool, function"
                raise self._fault(reason, f"messages[{index}].role")
        yield from self._flush()
        if self._messages and not self._opened:
            self._skip("conversation in which nobody speaks")

    def _flush(self) -> list[JsonObject]:
        turn, self._turn = self._turn, None
        return turn.records() if turn else []

    def _open(self, index: int, content: Content) -> _Turn:
        record = self._record("turn", event_id=self._id("event", index))
        if self._user_id is not None:
            record["user_id"] = self._user_id
        record |= {
            "task_id": self._id("task", index),
            "source": "chat",
            "user_input": content.text,
            "agent_answer": "",
            "status": "done",
        }
        if content.images:
            record["image_summaries"] = list(content.images[:MAX_IMAGES])
            self._skip("image description beyond five", len(content.images) - MAX_IMAGES)
        if isinstance(self._title, str) and self._title.strip():
            record["subject"] = {"content": self._title, "source": "agent", "confidence": 0.5}
            self._title = None
        self._turn, self._opened = _Turn(record, index), True
        return self._turn

    def _constrain(self, text: str) -> None:
        if text:
            self._constraints.append(text)
            self._skip("system message beyond a hundred", len(self._constraints) - MAX_CONSTRAINTS)
            self._constraints = self._constraints[-MAX_CONSTRAINTS:]

    def _step(self, index: int, message: JsonObject) -> None:
        content = self._content(message)
        text = content.with_images or _spoken(message)
        thought = "\n".join(filter(None, (_reasoning(message), content.thought)))
        calls = self._tool_calls(message, index)
        if not (calls or text or thought):
            self._skip("empty assistant message")
            return
        turn = self._turn or self._open(index, Content())
        if calls:
            thought = "\n".join(filter(None, (thought, text)))
            output: JsonObject = {"tool_calls": calls}
            step = self._recursion(turn, index, thought, "CALL_TOOL", output)
            self._calls.append(_Call(step))
        elif text:
            step = self._recursion(turn, index, thought, "ANSWER", {"answer": text})
            turn.answer_with(step, text)
        else:
            self._recursion(turn, index, thought, "REFLECT", {})

    def _recursion(
        self, turn: _Turn, index: int, thought: str, action_type: str, output: JsonObject
    ) -> JsonObject:
        turn.iteration += 1
        step = self._record(
            "recursion",
            task_id=turn.record["task_id"],
            trace_id=self._id("trace", index),
            iteration_index=turn.iteration,
            status="done",
            observe="",
            thought=thought,
            action={"action_type": action_type, "output": output},
            max_iteration=max(MIN_ITERATIONS, len(self._messages)),
        )
        if turn.iteration == 1:
            if turn.record["user_input"]:
                step["objective"] = turn.record["user_input"]
            if self._constraints:
                step["constraints"] = list(self._constraints)
        turn.following.append(step)
        return step

    def _result(self, message: JsonObject) -> None:
        for call in reversed(self._calls):
            at = call.match(message)
            if at is not None:
                call.answered.add(at)
                self._answered(call, at, message)
                return
        self._skip("tool message without its call")

    def _answered(self, call: _Call, at: int, message: JsonObject) -> None:
        text = self._content(message).with_images
        failed = message.get("status") == "error" or starts_with_error(text)
        result = self._record(
            "tool_result", task_id=call.step["task_id"], trace_id=call.step["trace_id"]
        )
        call_id = call.calls[at].get("id")
        unique = [one.get("id") for one in call.calls].count(call_id) == 1
        if unique and isinstance(call_id, str) and 1 <= len(call_id) <= MAX_ID:
            result["tool_call_id"] = call_id
        else:
            result["call_index"] = at
        result |= {"result": text, "success": not failed}
        if self._turn:  # always: the call itself stands in a turn
            self._turn.following.append(result)

    def _tool_calls(self, message: JsonObject, index: int) -> list[JsonObject]:
        """The calls as given; the older `function_call` as a call without an id."""
        calls = message.get("tool_calls") or []
        if not isinstance(calls, list) or not all(isinstance(call, dict) for call in calls):
            raise self._fault("expected an array of objects", f"messages[{index}].tool_calls")
        legacy = message.get("function_call")
        if not calls and isinstance(legacy, dict):
            return [{"type": "function", "function": legacy}]
        return [dict(call) for call in calls]

    def _record(self, kind: str, **fields: Any) -> JsonObject:
        head = {"type": kind, "schema_version": SCHEMA_VERSION, "session_id": self._session_id}
        return head | {"occurred_at": format_time(self._now)} | fields

    def _time(self, message: JsonObject, index: int) -> int:
        given = self._given_time(message, index)
        if given is None:
            return self._now + SECOND
        return max(given, self._now + 1) if index else given

    def _given_time(self, message: JsonObject, index: int) -> int | None:
        for name in TIME_FIELDS:
            if message.get(name) is not None:
                field = f"messages[{index}].{name}"
                return micros(message[name], item=self._number, field=field)
        return None

    def _content(self, message: JsonObject) -> Content:
        return read_content(message.get("content"), self._skipped)

    def _id(self, kind: str, index: int) -> str:
        return make_id(kind, str(self._session_id), index)

    def _skip(self, what: str, count: int = 1) -> None:
        if count > 0:
            self._skipped[what] += count

    def _fault(self, reason: str, field: str) -> ImportFault:
        return ImportFault(reason, item=self._number, field=field)


def _named_elsewhere(item: JsonObject) -> Any:
    """The user by the name that OpenAI's API gives it, or where tau-bench has it."""
    if isinstance(item.get("user"), str | int):
        return item["user"]
    found: Any = item
    for name in ("info", "task", "user_id"):
        found = found.get(name) if isinstance(found, dict) else None
    return found


def _messages(item: JsonObject, number: int) -> list[JsonObject]:
    messages = item.get("messages", item.get("traj"))
    if not isinstance(messages, list):
        raise ImportFault("expected an array of messages", item=number, field="messages")
    for index, message in enumerate(messages):
        if not isinstance(message, dict):
            field = f"messages[{index}]"
            raise ImportFault("expected an object with `role`", item=number, field=field)
    return messages


def _answers(message: JsonObject, call: JsonObject, call_id: Any) -> bool:
    """By id; a message without one (the older `function` role) by the function's name."""
    if call_id:
        return bool(call.get("id") == call_id)
    function = call.get("function")
    name = function.get("name") if isinstance(function, dict) else call.get("name")
    return message.get("name") in (None, name)


def _spoken(message: JsonObject) -> str:
    """What an assistant said outside of `content`: a refusal, or its voice's transcript."""
    audio = message.get("audio")
    transcript = audio.get("transcript") if isinstance(audio, dict) else None
    return str(message.get("refusal") or transcript or "")


def _reasoning(message: JsonObject) -> str:
    return str(message.get("reasoning_content") or message.get("reasoning") or "")
