"""`openai-chat`: conversations as OpenAI's chat API takes them, JSON or JSONL.

An item is `{session_id?, user_id?, created?, update_time?, title?, messages: [...]}` or a bare
array of messages; tau-bench's `traj` counts as `messages`. If session_id is missing, the id is
derived from the whole item, so that equal items are one session.

- A user message opens a turn and its task. An assistant message before any user message opens a
  turn without user input: the agent spoke first.
- An assistant message with calls is a CALL_TOOL recursion (`output.tool_calls` as given). The last
  one without calls is the ANSWER and the turn's answer; if several precede the next user message,
  the earlier ones are REFLECT recursions that keep their text, as is one that only thinks.
- `iteration_index` counts from 1 within a task: the last one's index is the task's `iteration`
  (recursions that were executed).
- The user is the item's `user_id` (or `user`), otherwise the importer's default; without either the
  conversation is rejected, as memory belongs to a user.
- The title is a signal at `update_time`, otherwise at the last message's time: the latest title
  counts.
- Times: a message's own `created` (also `created_at`, `create_time`, `timestamp`), otherwise one
  second after the previous message; a time not after the previous one is moved 1 µs past it,
  because the order of the messages is more reliable than their times. The first message has its own
  time, otherwise the item's `created`, otherwise as many seconds before the first message with a
  time; in a conversation without times the importer's default, otherwise the file's modification
  time. Ids are independent of times. So a copy of the file with another modification time has the
  same ids and other times: its turns are rejected as conflicting duplicates, and the first import
  remains. `--created` gives the copy the first one's times.
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from schemas.base import SECOND, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical, make_id
from streams.importers import json_stream
from streams.importers.base import (
    NOTHING,
    ImportDefaults,
    ImportFault,
    NoUser,
    Skipped,
    identifier,
    micros,
    spoken,
    whole,
)
from streams.importers.turns import MIN_ITERATIONS, Place, TurnMaker, as_message, other_speakers


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the file's conversations as input records, one conversation at a time."""
    with json_stream.open_text(path) as stream:
        yield from parse(items(json_stream.documents(stream)), skipped, defaults.of(path))


def items(documents: Iterable[Any]) -> Iterator[Any]:
    """Iterates over the items of a file: objects, arrays of objects, bare arrays of messages."""
    for document in documents:
        if not isinstance(document, Iterator):
            yield document
            continue
        for first in document:
            if isinstance(first, dict) and "role" in first:
                yield [first, *document]
            else:
                yield first
                yield from document


def parse(
    items: Iterable[Any], skipped: Skipped | None = None, defaults: ImportDefaults = NOTHING
) -> Iterator[JsonObject]:
    """Decoded items -> input records in the order of the messages. Counts into `skipped`."""
    skipped = Skipped() if skipped is None else skipped
    for number, item in spoken(items, skipped):
        yield from whole(partial(conversation, item, number, defaults), number, skipped)


class Ids(NamedTuple):
    """Ids of a conversation's messages, and per message the id of the turn that it would open."""

    messages: Sequence[str]
    turns: Sequence[str]


def conversation(
    item: Any, number: int, defaults: ImportDefaults, skipped: Skipped, ids: Ids | None = None
) -> Iterator[JsonObject]:
    """Returns one item's records by turn, in order. Raises ImportFault."""
    item = {"messages": item} if isinstance(item, list) else item
    if not isinstance(item, dict):
        raise ImportFault("expected an object or an array of messages", item=number)
    return _Conversation(item, number, defaults, skipped, ids).records()


class _Conversation:
    """Converts one item to records."""

    def __init__(
        self,
        item: JsonObject,
        number: int,
        defaults: ImportDefaults,
        skipped: Skipped,
        ids: "Ids | None",
    ) -> None:
        self._number = number
        self._skipped = skipped
        self._messages = _messages(item, number)
        self._ids = ids
        session_id = identifier(item.get("session_id"), item=number, field="session_id")
        session_id = session_id or make_id("session", canonical(item))
        self._maker = TurnMaker(
            session_id,
            self._user(item, defaults),
            lambda kind, index: make_id(kind, session_id, self._id(kind, index)),
            skipped,
            limit=max(MIN_ITERATIONS, len(self._messages)),
            number=number,
        )
        self._maker.others = other_speakers(self._messages, self._maker.user_id)
        self._item = item
        self._maker.now = self._start(item, defaults) - SECOND

    def _id(self, kind: str, index: int) -> int | str:
        """Source of a record's id: its message's id if the importer has it (`Ids`), otherwise the
        index."""
        if self._ids is None:
            return index
        return self._ids.messages[index] if kind == "trace" else self._ids.turns[index]

    def _user(self, item: JsonObject, defaults: ImportDefaults) -> str | None:
        """Returns the user of the conversation. Raises NoUser if the file and the defaults lack
        one."""
        named_user = item.get("user_id")
        if named_user is None:
            named_user = _named_elsewhere(item)
        if isinstance(named_user, str) and not named_user.strip():
            named_user = None
        user = identifier(named_user, item=self._number, field="user_id") or defaults.user
        if user is None and self._messages:
            raise NoUser(self._number)
        return user

    def _start(self, item: JsonObject, defaults: ImportDefaults) -> int:
        """Time of the first message."""
        if item.get("created") is not None:
            return micros(item["created"], item=self._number, field="created")
        for index, message in enumerate(self._messages):
            at = self._maker.given_time(message, index)
            if at is not None:
                return at - index * SECOND
        if defaults.created is None:
            if not self._messages:
                return 0
            reason = "has no time, and the file's own cannot be used: give --created TIME"
            raise ImportFault(reason, item=self._number, field="created")
        if self._messages:
            self._skipped.date(defaults)
        return defaults.created

    def records(self) -> Iterator[JsonObject]:
        """Yields the records of each turn as soon as the next turn starts."""
        if not self._messages:
            self._skipped["conversation without messages"] += 1
        for index, message in enumerate(self._messages):
            yield from (output.record for output in self._maker.take(index, message))
        yield from (output.record for output in self._maker.flush())
        if self._maker.opened:
            yield from self._titled()
        elif self._messages:
            self._skipped["conversation in which nobody speaks"] += 1

    def _titled(self) -> Iterator[JsonObject]:
        """Returns the title as a separate record, as a conversation may be renamed."""
        title, session_id = self._item.get("title"), self._maker.session_id
        if isinstance(title, str) and title.strip():
            at = format_time(updated_at(self._item, self._maker.now, self._number))
            yield {
                "type": "signal",
                "schema_version": SCHEMA_VERSION,
                "signal_id": make_id("title", session_id, title, at),
                "scope": "session",
                "session_id": session_id,
                "occurred_at": at,
                "subject": {"content": title, "source": "agent", "confidence": 0.5},
            }


def updated_at(item: JsonObject, last: int, number: int) -> int:
    """Time of a conversation's last change in microseconds, not before its last record."""
    if item.get("update_time") is None:
        return last
    return max(last, micros(item["update_time"], item=number, field="update_time"))


def _named_elsewhere(item: JsonObject) -> Any:
    """Returns the user from OpenAI's `user`, or from tau-bench's field."""
    if isinstance(item.get("user"), str | int):
        return item["user"]
    field: Any = item
    for name in ("info", "task", "user_id"):
        field = field.get(name) if isinstance(field, dict) else None
    return field


def _messages(item: JsonObject, number: int) -> list[JsonObject]:
    messages = item.get("messages", item.get("traj"))
    if not isinstance(messages, list):
        raise ImportFault("expected an array of messages", item=number, field="messages")
    for index, message in enumerate(messages):
        if isinstance(message, ImportFault):
            raise message
        if not isinstance(message, dict):
            field = f"messages[{index}]"
            raise ImportFault("expected an object with `role`", item=number, field=field)
    return [as_message(entry, Place(number, index)) for index, entry in enumerate(messages)]
