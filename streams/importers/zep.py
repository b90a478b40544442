"""`zep`: threads and facts as Zep's API answers them, JSON or JSONL.

- A thread is `{thread_id, user_id, messages: [...]}`: the reply of `thread.get` with the thread's
  id. It becomes a session; openai_chat does the rest.
- Facts are `{user_id, edges: [...]}`: the reply of `graph.edge.get_by_user_id` with the user's id
  (or one fact per item). Each becomes a fact of the user with the edge's `uuid` as its id, valid
  from `valid_at` (otherwise `created_at`) to `invalid_at` (otherwise `expired_at`).
"""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from schemas.base import JsonObject
from streams.importers import json_stream, openai_chat
from streams.importers.base import NOTHING, ImportDefaults, ImportFault, Skipped, spoken, whole
from streams.importers.memories import Fields, Statement, plan, unwrapped

LEFT = {
    "nodes": "node of the graph",
    "episodes": "episode of the graph",
    "observations": "observation of the graph",
}
"""What a file may list besides, and how it is counted."""
KEPT = ("attributes", "source_node_uuid", "target_node_uuid", "scope")
NOBODY = "norole"


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the file's threads and facts as input records, one thread at a time."""
    defaults = defaults.of(path)
    with json_stream.open_text(path) as stream:
        items = _items(json_stream.documents(stream), skipped)
        for number, item in spoken(items, skipped):
            yield from whole(partial(_records, item, number, defaults), number, skipped)


def _items(documents: Iterable[Any], skipped: Skipped) -> Iterator[Any]:
    """Iterates over threads and facts; nested lists are separate items."""
    for item in unwrapped(documents, "threads"):
        if not isinstance(item, dict) or "fact" in item:
            yield item
            continue
        lists = {name for name in LEFT if isinstance(item.get(name), list)}
        for name in lists:
            skipped[LEFT[name]] += len(item[name])
        facts = item.get("edges", item.get("facts"))
        if isinstance(facts, list):
            for fact in facts:
                yield {"user_id": item.get("user_id"), **fact} if isinstance(fact, dict) else fact
        if "messages" in item or not (lists or isinstance(facts, list)):
            yield item


def _records(
    item: Any, number: int, defaults: ImportDefaults, skipped: Skipped
) -> Iterator[JsonObject]:
    fields = Fields(item, number)
    if "messages" in fields.item:
        yield from openai_chat.conversation(_thread(fields, skipped), number, defaults, skipped)
    elif "fact" in fields.item:
        yield _fact(fields, defaults, skipped)
    else:
        raise ImportFault("expected a thread with `messages` or a fact with `fact`", item=number)


def _thread(fields: Fields, skipped: Skipped) -> JsonObject:
    """Converts a thread to an item of openai_chat."""
    item, messages = fields.item, fields.item["messages"]
    if messages is None:  # the reply of an empty thread
        messages = []
    if not isinstance(messages, list):
        raise ImportFault("expected an array of messages", item=fields.number, field="messages")
    return {
        "session_id": item.get("thread_id", item.get("session_id")),
        "user_id": item.get("user_id"),
        "created": item.get("thread_created_at", item.get("created_at")),
        "messages": [
            message for document in messages if (message := _message(document, skipped)) is not None
        ],
    }


def _message(message: Any, skipped: Skipped) -> Any:
    """Converts a message to OpenAI's chat API. Its role is `role`; older replies have `role_type`,
    and a name in `role`."""
    if not isinstance(message, dict):
        return message
    role = message.get("role_type", message.get("role"))
    if role == NOBODY:
        skipped["message without a role"] += 1
        return None
    if message.get("metadata"):
        skipped["metadata of a message"] += 1
    return {"role": role, "content": message.get("content"), "created": message.get("created_at")}


def _fact(fields: Fields, defaults: ImportDefaults, skipped: Skipped) -> JsonObject:
    said_at = fields.said_at(defaults, skipped, "created_at")
    since = fields.time("valid_at")
    until = fields.time("invalid_at", "expired_at")
    since = said_at if since is None else since
    if until is not None and until < since:
        name = "expired_at" if fields.item.get("invalid_at") is None else "invalid_at"
        raise ImportFault("lies before `valid_at`", item=fields.number, field=name)
    id, user, text = fields.id("uuid", "uuid_"), fields.user(defaults), fields.text("fact")
    payload = fields.kept(*KEPT)
    if fields.item.get("name"):
        payload["relation"] = fields.item["name"]
    episodes = fields.item.get("episodes")
    if isinstance(episodes, list) and episodes:
        skipped["link from a fact to an episode"] += len(episodes)
    return plan("zep", Statement(id, user, text, said_at, since, until, payload))
