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
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any, cast

from schemas.base import JsonObject
from streams.importers import json_stream, openai_chat
from streams.importers.base import NOTHING, STDIN, ImportFault, Skipped, Told, spoken, whole

CONVERSATIONS = "conversations*.json"  # newer exports cut it into conversations-000.json, -001 …
USER = "user.json"


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
        yield from whole(partial(_records, conversation, number, user_id, told), skipped)


def _records(
    conversation: Any, number: int, user_id: str | None, told: Told, skipped: Skipped
) -> Iterator[JsonObject]:
    item = _item(conversation, number, skipped) | {"user_id": user_id}
    return openai_chat.conversation(item, number, told, skipped)


def _read_zip(path: Path, skipped: Skipped, told: Told) -> Iterator[JsonObject]:
    with zipfile.ZipFile(path) as export:
        names = [name for name in export.namelist() if fnmatch(Path(name).name, CONVERSATIONS)]
        if not names:
            raise ImportFault(f"no {CONVERSATIONS} in the archive: is it a ChatGPT export?")
        conversations = _zipped(export, sorted(names))
        yield from parse(conversations, skipped, user_id=_exporter(export), told=told)


def _zipped(export: zipfile.ZipFile, names: list[str]) -> Iterator[Any]:
    for name in names:
        with export.open(name) as file:
            text = json_stream.text_of(cast(io.BufferedReader, file))
            yield from _elements(json_stream.documents(text))


def _exporter(export: zipfile.ZipFile) -> str | None:
    """The id of the person whose export it is, if the archive says so."""
    for name in export.namelist():
        if Path(name).name == USER:
            try:
                user = json.loads(export.read(name))
            except ValueError as error:
                raise ImportFault(f"{USER} in the archive is not JSON: {error}") from None
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
    messages = [nodes[key]["message"] for key in path if _spoken(nodes[key])]
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


def _messages(path: list[JsonObject], skipped: Skipped) -> Iterator[JsonObject]:
    """Messages of the path as OpenAI's chat API writes them."""
    thoughts: list[str] = []
    calls: list[tuple[str, str]] = []  # recipient, call id
    for message in path:
        content, author = message["content"], message.get("author") or {}
        kind = content.get("content_type")
        if kind == "thoughts":
            thoughts += _thoughts(content)
            continue
        if kind == "reasoning_recap" or _hidden(message):
            skipped["hidden message" if _hidden(message) else "reasoning recap"] += 1
            continue
        role, recipient = author.get("role"), message.get("recipient") or "all"
        made: JsonObject = {"role": role, "created": message.get("create_time")}
        made["content"] = _parts(message)
        if role == "assistant":
            made["reasoning_content"] = "\n".join(thoughts)
            thoughts = []
            if recipient != "all":
                calls.append((recipient, str(message.get("id"))))
                made |= _call(message, recipient)
        elif role == "tool":
            made |= _result(content, str(author.get("name") or ""), calls)
        yield made


def _hidden(message: JsonObject) -> bool:
    metadata = message.get("metadata") or {}
    return bool(metadata.get("is_visually_hidden_from_conversation"))


def _thoughts(content: JsonObject) -> list[str]:
    return [
        ": ".join(filter(None, (thought.get("summary"), thought.get("content"))))
        for thought in content.get("thoughts") or []
        if isinstance(thought, dict)
    ]


def _parts(message: JsonObject) -> list[Any]:
    """The content's parts; a drawn picture is described by what it was drawn from."""
    content = message["content"]
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text") or content.get("result") or content.get("content")
        return [text] if isinstance(text, str) else [{"type": content.get("content_type")}]
    return [_described(part) if isinstance(part, dict) else part for part in parts]


def _described(part: JsonObject) -> JsonObject:
    drawn = (part.get("metadata") or {}).get("dalle") or {}
    return {**part, "description": drawn["prompt"]} if drawn.get("prompt") else part


def _call(message: JsonObject, recipient: str) -> JsonObject:
    arguments = "\n".join(part for part in _parts(message) if isinstance(part, str))
    function = {"name": recipient, "arguments": arguments}
    call = {"id": str(message.get("id")), "type": "function", "function": function}
    return {"content": None, "tool_calls": [call]}


def _result(content: JsonObject, name: str, calls: list[tuple[str, str]]) -> JsonObject:
    """Which call it answers: the nearest to a tool of that name, else the nearest of all."""
    nearest = [call_id for recipient, call_id in calls if recipient == name]
    found = nearest or [call_id for _, call_id in calls]
    made: JsonObject = {"tool_call_id": found[-1] if found else "none"}
    if content.get("content_type") == "system_error":
        made["status"] = "error"
    return made
