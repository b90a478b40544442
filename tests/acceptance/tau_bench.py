"""tau-bench runs as items of the openai-chat importer, and what the raw file says of them.

The file: a JSON array of {task_id, trial, reward, info, traj: [OpenAI messages]}, gzipped.
"""

import gzip
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from schemas.base import DAY, JsonObject, format_time, parse_time
from streams.importers import openai_chat
from streams.importers.base import Skipped

START = parse_time("2026-01-05T09:00:00Z")


class Counts(NamedTuple):
    """What a run holds, counted over its messages."""

    turns: int
    answers: int
    calls: int
    results: int
    failed: int


def runs(path: Path) -> list[dict[str, Any]]:
    """The raw runs."""
    with gzip.open(path) as file:
        made: list[dict[str, Any]] = msgspec.json.decode(file.read())
    return made


def items(path: Path) -> Iterator[JsonObject]:
    """Each run as an item: a session per task and trial, a day per run."""
    for number, run in enumerate(runs(path)):
        yield {
            "session_id": session_id(run),
            "user_id": run["info"]["task"]["user_id"],
            "created": format_time(START + number * DAY),
            "messages": run["traj"],
        }


def session_id(run: dict[str, Any]) -> str:
    """tau-{task}-{trial}."""
    return f"tau-{run['task_id']}-{run['trial']}"


def records(path: Path, skipped: Skipped | None = None) -> Iterator[JsonObject]:
    """The runs as input records, through the importer."""
    yield from openai_chat.parse(items(path), skipped)


def counts(run: dict[str, Any]) -> Counts:
    """Counted over the messages alone, without the importer."""
    messages = run["traj"]
    tools = [message["content"] for message in messages if message["role"] == "tool"]
    calls = [message for message in messages if message.get("tool_calls")]
    assistants = sum(message["role"] == "assistant" for message in messages)
    return Counts(
        turns=sum(message["role"] == "user" for message in messages),
        answers=assistants - len(calls),
        calls=len(calls),
        results=len(tools),
        failed=sum(text.startswith("Error") for text in tools),
    )
