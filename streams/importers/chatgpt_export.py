"""`chatgpt-export`: the conversations.json of a ChatGPT data export, or the export's .zip itself.

A conversation is a tree (`mapping`: node id -> parent, children, message). The path from its root
to `current_node` is the session; messages on branches not taken, and hidden ones, are left out and
counted. A message to a tool (its `recipient`) becomes a call, the tool's message its result. Then
openai_chat does the rest.
"""

import io
import json
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, cast

from schemas.base import JsonObject
from streams.importers import json_stream, openai_chat
from streams.importers.base import (
    NOTHING,
    STDIN,
    ImportFault,
    Shape,
    Skipped,
    Told,
    shaped,
    spoken,
    whole,
)

CONVERSATIONS = "conversations*.json"  # newer exports cut it into conversations-000.json, -001 …
USER = "user.json"
MAX_USER = 1 << 20
"""Bytes of it that are read."""


def read(path: Path, skipped: Skipped, told: Told = NOTHING) -> Iterator[JsonObject]:
    """The export's conversations as input records, one conversation at a time."""
    told = told.of(path)
    if str(path) != STDIN and zipfile.is_zipfile(path):
        yield from _read_zip(path, skipped, told)
        return
    with json_stream.open_text(path) as stream:
        yield from parse(_elements(json_stream.documents(stream)), skipped, told=told)


def parse(
    conversations: Iterable[Any],
    skipped: Skipped | None = None,
    *,
    user_id: str | None = None,
    told: Told = NOTHING,
) -> Iterator[JsonObject]:
    """Decoded conversations -> input records. Counts into `skipped`."""
    skipped = Skipped() if skipped is None else skipped
    for number, conversation in spoken(conversations, skipped):
        yield from whole(partial(_records, conversation, number, user_id, told), number, skipped)


def _records(
    conversation: Any, number: int, user_id: str | None, told: Told, skipped: Skipped
) -> Iterator[JsonObject]:
    item = _item(conversation, number, skipped) | {"user_id": user_id}
    return openai_chat.conversation(item, number, told, skipped)


def _read_zip(path: Path, skipped: Skipped, told: Told) -> Iterator[JsonObject]:
    with _opened(path) as export:
        names = [name for name in export.namelist() if fnmatch(Path(name).name, CONVERSATIONS)]
        if not names:
            raise ImportFault(f"no {CONVERSATIONS} in the archive: is it a ChatGPT export?")
        conversations = _zipped(export, sorted(names))
        yield from parse(conversations, skipped, user_id=_exporter(export), told=told)


@contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    """The archive. Raises ImportFault."""
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
    """The id of the person whose export it is, if the archive says so."""
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


def _item(conversation: Any, number: int, skipped: Skipped) -> JsonObject:
    """A conversation as an item of openai_chat."""
    if not isinstance(conversation, dict) or not isinstance(conversation.get("mapping"), dict):
        raise ImportFault("expected a conversation with `mapping`", item=number, field="mapping")
    path = _path(conversation, number)
    nodes = conversation["mapping"]
    aside = sum(1 for key, node in nodes.items() if key not in path and _spoken(node))
    if aside:
        skipped["message on a branch not taken"] += aside
    messages = [
        Said(nodes[key]["message"], number, f"mapping.{key}.message")
        for key in path
        if _spoken(nodes[key])
    ]
    return {
        "session_id": conversation.get("conversation_id") or conversation.get("id"),
        "created": conversation.get("create_time"),
        "title": conversation.get("title"),
        "messages": list(_messages(messages, skipped)),
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
    """Where the conversation stands if the export does not say: the last leaf written."""
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
    """Whether a node holds a message with content: roots and placeholders hold none."""
    message = node.get("message") if isinstance(node, dict) else None
    if not isinstance(message, dict):
        return False
    content = message.get("content")
    if not isinstance(content, dict):
        return False
    rest = {
        name: value for name, value in content.items() if name not in ("content_type", "language")
    }
    return any(value not in (None, "", [], [""]) for value in rest.values())


class Said:
    """A message of the path. `number` and `place` say where the export has it."""

    def __init__(self, message: JsonObject, number: int, place: str) -> None:
        """Raises ImportFault where a part of it is not what it has to be."""
        self.id = str(message.get("id"))
        self._number, self._place = number, place
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
        """A field of that type, or an empty one. Raises ImportFault."""
        return shaped(inside.get(name), kind, item=self._number, field=f"{self._place}: {name}")

    def thoughts(self) -> Iterator[str]:
        for thought in self.field(self.content, "thoughts", list):
            if isinstance(thought, dict):
                parts = (self.field(thought, name, str) for name in ("summary", "content"))
                yield ": ".join(filter(None, parts))

    def parts(self) -> list[Any]:
        """The content's parts; a drawn picture is described by what it was drawn from."""
        parts = self.content.get("parts")
        if not isinstance(parts, list):
            names = ("text", "result", "content")
            text = next((self.content[name] for name in names if self.content.get(name)), None)
            return [text] if isinstance(text, str) else [{"type": self.kind}]
        return [self._described(part) if isinstance(part, dict) else part for part in parts]

    def _described(self, part: JsonObject) -> JsonObject:
        drawn = self.field(self.field(part, "metadata", dict), "dalle", dict)
        return {**part, "description": drawn["prompt"]} if drawn.get("prompt") else part


def _messages(path: list[Said], skipped: Skipped) -> Iterator[JsonObject]:
    """Messages of the path as OpenAI's chat API writes them."""
    thoughts: list[str] = []
    calls: list[tuple[str, str]] = []  # recipient, call id
    for said in path:
        if said.kind == "thoughts":
            thoughts += said.thoughts()
            continue
        if said.kind == "reasoning_recap" or said.is_hidden:
            skipped["hidden message" if said.is_hidden else "reasoning recap"] += 1
            continue
        message: JsonObject = {"role": said.role, "created": said.time, "content": said.parts()}
        if said.role == "assistant":
            message["reasoning_content"] = "\n".join(thoughts)
            thoughts = []
            if said.recipient != "all":
                calls.append((said.recipient, said.id))
                message |= _call(said)
        elif said.role == "tool":
            message |= _result(said, calls)
        yield message


def _call(said: Said) -> JsonObject:
    arguments = "\n".join(part for part in said.parts() if isinstance(part, str))
    function = {"name": said.recipient, "arguments": arguments}
    return {
        "content": None,
        "tool_calls": [{"id": said.id, "type": "function", "function": function}],
    }


def _result(said: Said, calls: list[tuple[str, str]]) -> JsonObject:
    """Which call it answers: the nearest to a tool of that name, else the nearest of all."""
    nearest = [call_id for recipient, call_id in calls if recipient == said.name]
    ids = nearest or [call_id for _, call_id in calls]
    result: JsonObject = {"tool_call_id": ids[-1] if ids else "none"}
    if said.kind == "system_error":
        result["status"] = "error"
    return result
