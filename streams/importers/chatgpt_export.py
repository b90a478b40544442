"""`chatgpt-export`: the conversations.json of a ChatGPT data export, or the export's .zip itself.

A conversation is a tree (`mapping`: node id -> parent, children, message). The path from its root
to `current_node` is the session; messages on branches not taken, and hidden ones, are left out and
counted. A message to a tool (its `recipient`) becomes a call, the tool's message its result. Then
openai_chat does the rest.

Ids are derived from the messages' ids, a turn's id from its last message's. So in a later export of
a conversation an edited message, or an answer that was generated again, makes another turn. At the
conversation's time, a write plan after the turns retracts the turns of branches not taken and
restores the current branch, as an earlier export may have retracted its turns.
"""

import io
import json
import zipfile
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, cast

from schemas.base import JsonObject, format_time, parse_time
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import canonical, make_id
from streams.importers import json_stream, openai_chat
from streams.importers.base import (
    NOTHING,
    STDIN,
    ImportDefaults,
    ImportFault,
    Shape,
    Skipped,
    shaped,
    spoken,
    whole,
)

CONVERSATIONS = "conversations*.json"  # newer exports cut it into conversations-000.json, -001 …
USER = "user.json"
MAX_USER = 1 << 20
"""Bytes of it that are read."""
MAX_UPDATES = 200
"""Maximum updates of one write plan."""
REASONS = {
    "retract": "the message was edited or answered again",
    "restore": "the conversation goes on from this message again",
}
"""Why a turn is retracted or restored."""


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the export's conversations as input records, one conversation at a time."""
    defaults = defaults.of(path)
    if str(path) != STDIN and zipfile.is_zipfile(path):
        yield from _read_zip(path, skipped, defaults)
        return
    with json_stream.open_text(path) as stream:
        yield from parse(_elements(json_stream.documents(stream)), skipped, defaults=defaults)


def parse(
    conversations: Iterable[Any],
    skipped: Skipped | None = None,
    *,
    user_id: str | None = None,
    defaults: ImportDefaults = NOTHING,
) -> Iterator[JsonObject]:
    """Decoded conversations -> input records. Counts into `skipped`."""
    skipped = Skipped() if skipped is None else skipped
    for number, conversation in spoken(conversations, skipped):
        yield from whole(
            partial(_records, conversation, number, user_id, defaults), number, skipped
        )


def _records(
    conversation: Any, number: int, user_id: str | None, defaults: ImportDefaults, skipped: Skipped
) -> Iterator[JsonObject]:
    tree = _Tree(conversation, number)
    item = tree.item(skipped) | {"user_id": user_id}
    ids = tree.ids()
    records = list(openai_chat.conversation(item, number, defaults, skipped, ids))
    yield from records
    yield from _retractions(tree, ids, records)


def _read_zip(path: Path, skipped: Skipped, defaults: ImportDefaults) -> Iterator[JsonObject]:
    with _opened(path) as export:
        names = [name for name in export.namelist() if fnmatch(Path(name).name, CONVERSATIONS)]
        if not names:
            raise ImportFault(f"no {CONVERSATIONS} in the archive: is it a ChatGPT export?")
        conversations = _zipped(export, sorted(names))
        yield from parse(conversations, skipped, user_id=_exporter(export), defaults=defaults)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """Opens the archive. Raises ImportFault."""
    try:
        export = zipfile.ZipFile(path)
    except json_stream.UNREADABLE as error:
        raise ImportFault(f"the archive cannot be read: {error}") from None
    with export:
        yield export


def _zipped(export: zipfile.ZipFile, names: list[str]) -> Iterator[Any]:
    for name in names:
        try:
            with export.open(name) as file:
                text = json_stream.text_of(cast(io.BufferedReader, file))
                yield from _elements(json_stream.documents(text))
        except json_stream.UNREADABLE as error:
            yield ImportFault(f"{name} in the archive cannot be read: {error}")
        except ImportFault as fault:  # the file is damaged; the others may be whole
            yield ImportFault(f"{name} in the archive {fault.reason}")


def _exporter(export: zipfile.ZipFile) -> str | None:
    """Returns the user id of the export, if the archive has it."""
    for name in export.namelist():
        if Path(name).name == USER:
            try:
                with export.open(name) as file:
                    user = json.loads(file.read(MAX_USER))
            except (ValueError, RecursionError) as error:
                raise ImportFault(f"{USER} in the archive is not JSON: {error}") from None
            except json_stream.UNREADABLE as error:
                raise ImportFault(f"{USER} in the archive cannot be read: {error}") from None
            return str(user["id"]) if isinstance(user, dict) and user.get("id") else None
    return None


def _elements(documents: Iterable[Any]) -> Iterator[Any]:
    for document in documents:
        if isinstance(document, Iterator):
            yield from document
        else:
            yield document


class _Tree:
    """A conversation with its branches. `path`: node ids of the current branch."""

    def __init__(self, conversation: Any, number: int) -> None:
        if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
            reason = "expected a conversation with `mapping`"
            raise ImportFault(reason, item=number, field="mapping")
        self.conversation = conversation
        self.number = number
        self.path = _path(conversation, number)
        self.nodes: JsonObject = conversation["mapping"]
        self._named = Counter(_message_id(node) for node in self.nodes.values())
        self._taken: list[Said] = []

    def item(self, skipped: Skipped) -> JsonObject:
        """Returns the current branch as an item of openai_chat. Counts omitted messages."""
        aside = len(self.aside())
        if aside:
            skipped["message on a branch not taken"] += aside
        messages = [self._said(key) for key in self.path if _spoken(self.nodes[key])]
        pairs = list(_messages(messages, skipped))
        self._taken = [part for part, _ in pairs]
        return {
            "session_id": self.conversation.get("conversation_id") or self.conversation.get("id"),
            "created": self.conversation.get("create_time"),
            "title": self.conversation.get("title"),
            "update_time": self.conversation.get("update_time"),
            "messages": [message for _, message in pairs],
        }

    def ids(self) -> openai_chat.Ids:
        """Returns the ids of the branch's messages. A turn ends before the next user message."""
        messages = [self.id(part.key) for part in self._taken]
        turns = list(messages)
        for at in range(len(turns) - 2, -1, -1):
            if self._taken[at + 1].role != "user":
                turns[at] = turns[at + 1]
        return openai_chat.Ids(messages, turns)

    def aside(self) -> list[str]:
        """Nodes with messages on other branches."""
        return [key for key, node in self.nodes.items() if key not in self.path and _spoken(node)]

    def forked(self) -> frozenset[str]:
        """Ids of the branch's messages from the first fork on."""
        named = (self.nodes[key].get("parent") for key in self.aside())
        parents = {parent for parent in named if parent is None or isinstance(parent, str)}
        path = iter(self.path)
        for key in path:
            if self.nodes[key].get("parent") in parents:
                return frozenset(map(self.id, (key, *path)))
        return frozenset()

    def id(self, key: str) -> str:
        """Returns a message's id, or the node's id if that is missing or not unique."""
        message_id = _message_id(self.nodes[key])
        return message_id if message_id and self._named[message_id] == 1 else key

    def _said(self, key: str) -> "Said":
        return Said(key, self.nodes[key]["message"], self.number)


def _message_id(node: Any) -> str | None:
    message = node.get("message") if isinstance(node, dict) else None
    message_id = message.get("id") if isinstance(message, dict) else None
    return message_id if isinstance(message_id, str) and message_id else None


def _retractions(
    tree: _Tree, ids: openai_chat.Ids, records: list[JsonObject]
) -> Iterator[JsonObject]:
    """Write plans that retract the turns of other branches. Each of their messages may have been
    the last one of a turn in an earlier export."""
    aside = tree.aside()
    if not aside or not records:
        return
    turn = records[0]
    session_id, forked = turn["session_id"], tree.forked()
    places = {
        "retract": map(tree.id, aside),
        "restore": (turn_id for turn_id in ids.turns if turn_id in forked),
    }
    updates = [
        {"op": op, "event_id": make_id("event", session_id, place), "reason": reason}
        for op, reason in REASONS.items()
        for place in dict.fromkeys(places[op])
    ]
    last = max(parse_time(record["occurred_at"]) for record in records)
    at = format_time(openai_chat.updated_at(tree.conversation, last, tree.number))
    for begin in range(0, len(updates), MAX_UPDATES):
        part = updates[begin : begin + MAX_UPDATES]
        yield {
            "type": "write_plan",
            "schema_version": SCHEMA_VERSION,
            "plan_id": make_id("plan", session_id, at, canonical(part)),
            "user_id": turn["user_id"],
            "session_id": session_id,
            "occurred_at": at,
            "extractor": {"name": "chatgpt-export"},
            "event_updates": part,
        }


def _path(conversation: JsonObject, number: int) -> dict[str, None]:
    """Node ids from the root to `current_node`, in order."""
    nodes = conversation["mapping"]
    key = conversation.get("current_node") or _newest_leaf(nodes)
    path: dict[str, None] = {}
    while key is not None:
        key = shaped(key, str, item=number, field="current_node or a parent")
        if not isinstance(nodes.get(key), dict) or key in path:
            reason = "a parent is missing or the tree has a loop: export the conversation again"
            raise ImportFault(reason, item=number, field=f"mapping.{key}")
        path[key] = None
        key = nodes[key].get("parent")
    return dict.fromkeys(reversed(path))


def _newest_leaf(nodes: JsonObject) -> str | None:
    """Returns the latest leaf, for exports without `current_node`."""
    leaves = [
        (_time(node), key)
        for key, node in nodes.items()
        if isinstance(node, dict) and not node.get("children")
    ]
    return max(leaves)[1] if leaves else None


def _time(node: JsonObject) -> float:
    message = node.get("message")
    time = message.get("create_time") if isinstance(message, dict) else None
    return float(time) if isinstance(time, int | float) else 0.0


def _spoken(node: Any) -> bool:
    """Whether a node has a message with content: roots and placeholders have none."""
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    if not isinstance(content, dict):
        return False
    parts = {
        name: value for name, value in content.items() if name not in ("content_type", "language")
    }
    return any(value not in (None, "", [], [""]) for value in parts.values())


class Said:
    """A message of the path. `number` and `key` (of its node) locate it in the export."""

    def __init__(self, key: str, message: JsonObject, number: int) -> None:
        """Raises ImportFault for a part of the wrong type."""
        self.key = key
        self.id = str(message.get("id"))
        self._number, self._place = number, f"mapping.{key}.message"
        self.time = message.get("create_time")
        self.content: JsonObject = message["content"]
        self.kind = self.content.get("content_type")
        self.metadata = self.field(message, "metadata", dict)
        self.is_hidden = bool(self.metadata.get("is_visually_hidden_from_conversation"))
        author = self.field(message, "author", dict)
        self.role = author.get("role")
        self.name = self.field(author, "name", str)
        self.recipient = self.field(message, "recipient", str) or "all"

    def field(self, inside: JsonObject, name: str, kind: type[Shape]) -> Shape:
        """Returns a field of that type, or an empty value. Raises ImportFault."""
        return shaped(inside.get(name), kind, item=self._number, field=f"{self._place}: {name}")

    def thoughts(self) -> Iterator[str]:
        for thought in self.field(self.content, "thoughts", list):
            if isinstance(thought, dict):
                parts = (self.field(thought, name, str) for name in ("summary", "content"))
                yield ": ".join(filter(None, parts))

    def parts(self) -> list[Any]:
        """Returns the content's parts; a generated picture is described by its prompt."""
        parts = self.content.get("parts")
        if not isinstance(parts, list):
            names = ("text", "result", "content")
            text = next((self.content[name] for name in names if self.content.get(name)), None)
            return [text] if isinstance(text, str) else [{"type": self.kind}]
        return [self._described(part) if isinstance(part, dict) else part for part in parts]

    def _described(self, part: JsonObject) -> JsonObject:
        drawn = self.field(self.field(part, "metadata", dict), "dalle", dict)
        return {**part, "description": drawn["prompt"]} if drawn.get("prompt") else part


def _messages(path: list[Said], skipped: Skipped) -> Iterator[tuple[Said, JsonObject]]:
    """Messages of the path, each with its form in OpenAI's chat API."""
    thoughts: list[str] = []
    calls: list[tuple[str, str]] = []  # recipient, call id
    for part in path:
        if part.kind == "thoughts":
            thoughts += part.thoughts()
            continue
        if part.kind == "reasoning_recap" or part.is_hidden:
            skipped["hidden message" if part.is_hidden else "reasoning recap"] += 1
            continue
        message: JsonObject = {"role": part.role, "created": part.time, "content": part.parts()}
        if part.role == "assistant":
            message["reasoning_content"] = "\n".join(thoughts)
            thoughts = []
            if part.recipient != "all":
                calls.append((part.recipient, part.id))
                message |= _call(part)
        elif part.role == "tool":
            message |= _result(part, calls)
        yield part, message


def _call(message: Said) -> JsonObject:
    arguments = "\n".join(part for part in message.parts() if isinstance(part, str))
    function = {"name": message.recipient, "arguments": arguments}
    return {
        "content": None,
        "tool_calls": [{"id": message.id, "type": "function", "function": function}],
    }


def _result(message: Said, calls: list[tuple[str, str]]) -> JsonObject:
    """Converts a tool result. It answers the nearest call to a tool of that name, or the nearest
    call of all."""
    nearest = [call_id for recipient, call_id in calls if recipient == message.name]
    ids = nearest or [call_id for _, call_id in calls]
    result: JsonObject = {"tool_call_id": ids[-1] if ids else "none"}
    if message.kind == "system_error":
        result["status"] = "error"
    return result
