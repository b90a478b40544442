"""`langgraph`: a SQLite file of LangGraph checkpoints, read through the saver's own API.
`langgraph_postgres` reads a PostgreSQL database.

The `messages` channel of a thread's newest checkpoint is the conversation; earlier checkpoints only
give the time at which a message first appeared. The thread_id is the session_id, a `user_id` in the
checkpoint's metadata the user. Subgraphs' checkpoints (with a namespace) are not read. Needs the
`langgraph` extra; openai_chat does the rest.
"""

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from schemas.base import JsonObject
from sinks.scratch import scratch
from streams.folds.ids import canonical
from streams.importers import openai_chat
from streams.importers.base import (
    NOTHING,
    UNEXPECTED,
    ImportDefaults,
    ImportFault,
    Shape,
    Skipped,
    shaped,
)
from streams.pipeline import withheld

if TYPE_CHECKING:
    from langgraph.checkpoint.base import BaseCheckpointSaver, CheckpointTuple
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
    from langgraph.checkpoint.sqlite import SqliteSaver

    Saver = BaseCheckpointSaver[Any]

CHANNEL = "messages"
THREADS = "SELECT thread_id FROM checkpoints GROUP BY thread_id ORDER BY min(checkpoint_id)"
"""Oldest first: the ids of checkpoints start with their times."""
BROKEN = "a checkpoint cannot be read"
ROLES = {"human": "user", "ai": "assistant"}  # LangChain's names; the others are OpenAI's


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the file's threads as input records, oldest thread first, one thread at a time."""
    with _saver(path) as saver:
        yield from openai_chat.parse(items(saver, _threads(saver), skipped), skipped, defaults)


@contextmanager
def _saver(path: Path) -> "Iterator[SqliteSaver]":
    """Opens a saver on a copy of the file: opening one writes to its database."""
    try:
        from langgraph.checkpoint.sqlite import SqliteSaver
    except ImportError:
        reason = "LangGraph's SQLite saver is not installed: install turnfold[langgraph]"
        raise ImportFault(reason) from None
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such file")
    with scratch() as folder:
        copy = folder / "checkpoints.sqlite"
        _copy(path, copy)
        with closing(sqlite3.connect(copy, check_same_thread=False)) as connection:
            yield SqliteSaver(connection, serde=serializer())


def serializer() -> "JsonPlusSerializer":
    """Deserializes LangChain's and LangGraph's types only: a checkpoint must not construct other
    objects."""
    from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

    return JsonPlusSerializer(allowed_msgpack_modules=None)


def _copy(path: Path, copy: Path) -> None:
    try:
        with (
            closing(sqlite3.connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)) as source,
            closing(sqlite3.connect(copy)) as target,
        ):
            source.execute("SELECT 1 FROM checkpoints LIMIT 1")
            source.backup(target)
    except sqlite3.Error as error:
        raise ImportFault(
            f"not a SQLite file of LangGraph checkpoints ({error}); name the saver's own file"
        ) from None


def items(saver: "Saver", threads: Iterable[str], skipped: Skipped) -> Iterator[Any]:
    """Returns the threads as items of openai_chat, or an ImportFault for an unreadable thread;
    threads without messages are counted."""
    for thread_id in threads:
        try:
            item: Any = _item(saver, thread_id)
        except ImportFault as fault:
            item = ImportFault(fault.reason, field=f"thread {thread_id}: {fault.field}")
        except (*UNEXPECTED, sqlite3.Error) as error:
            item = ImportFault(
                f"{BROKEN}: {type(error).__name__}: {error}", field=f"thread {thread_id}"
            )
        if item is None:
            skipped[f"thread without a {CHANNEL} channel"] += 1
        else:
            yield item


def _threads(saver: "SqliteSaver") -> list[str]:
    """Thread ids, oldest first, up to the first unreadable one. Raises ImportFault."""
    try:
        return [str(thread_id) for (thread_id,) in saver.conn.execute(THREADS)]
    except sqlite3.Error as error:
        raise ImportFault(f"cannot be read: {error}") from None


def _item(saver: "Saver", thread_id: str) -> JsonObject | None:
    """A thread as an item of openai_chat, or None without messages."""
    config: Any = {"configurable": {"thread_id": thread_id, "checkpoint_ns": ""}}
    saved = saver.list(config)
    newest = next(saved, None)
    messages = _channel(newest) if newest else None
    if newest is None or messages is None:
        return None
    if withheld.says([newest.metadata, *map(_fields, messages)]):
        return withheld.ITEM
    times = dict.fromkeys(map(_key, messages), newest.checkpoint["ts"])
    for earlier in saved:
        for message in _channel(earlier) or []:
            if _key(message) in times:
                times[_key(message)] = earlier.checkpoint["ts"]
    user_id: Any = newest.metadata.get("user_id")
    converted = [
        _message(message, index) | {"created": times[_key(message)]}
        for index, message in enumerate(messages)
    ]
    return {"session_id": thread_id, "user_id": user_id, "messages": converted}


def _channel(saved: "CheckpointTuple") -> list[Any] | None:
    values: Any = saved.checkpoint.get("channel_values")
    messages = values.get(CHANNEL) if isinstance(values, dict) else None
    return messages if isinstance(messages, list) else None


def _key(message: Any) -> str:
    """Identity of a message within its thread: its id, or its content."""
    fields = _fields(message)
    return str(fields.get("id") or canonical([fields.get("type"), fields.get("content")]))


def _fields(message: Any) -> JsonObject:
    """Fields of a LangChain message, or of a message stored as a dictionary."""
    if isinstance(message, dict):
        return message
    return message.model_dump() if hasattr(message, "model_dump") else {"content": str(message)}


def _message(message: Any, index: int) -> JsonObject:
    """Converts a LangChain message to OpenAI's chat API."""
    fields = _fields(message)
    kind = str(fields.get("role") or fields.get("type"))

    def inside(name: str, kind: type[Shape]) -> Shape:
        return shaped(fields.get(name), kind, item=None, field=f"messages[{index}].{name}")

    extra = inside("additional_kwargs", dict)
    listed = inside("tool_calls", list) + inside("invalid_tool_calls", list)
    calls = [_call(call) for call in listed]
    values = {
        "role": ROLES.get(kind, kind),
        "content": fields.get("content"),
        "tool_calls": calls,
        "function_call": extra.get("function_call"),
        "refusal": extra.get("refusal"),
        "reasoning_content": extra.get("reasoning_content"),
        "tool_call_id": fields.get("tool_call_id"),
        "name": fields.get("name"),
        "status": fields.get("status"),
    }
    return {name: value for name, value in values.items() if value}


def _call(call: Any) -> Any:
    """LangChain's {name, args, id} -> OpenAI's {id, type, function}; others stay unchanged."""
    if not isinstance(call, dict) or "args" not in call:
        return call
    arguments = call["args"] if isinstance(call["args"], str) else canonical(call["args"])
    function = {"name": call.get("name"), "arguments": arguments}
    return {"id": call.get("id"), "type": "function", "function": function}
