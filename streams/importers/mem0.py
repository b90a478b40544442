"""`mem0`: replies of mem0's `get_all`, from its platform or its library, JSON or JSONL.

A memory becomes a fact of its user with mem0's id: importing a later reply applies the changes. It
is valid from the last change of its text (`updated_at`, otherwise `created_at`) up to its
`expiration_date`, if it has one: mem0's reply has no earlier text. If it has several categories,
`health` counts, otherwise the first. Memories of an agent or a run alone have no user.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

from schemas.base import JsonObject
from streams.importers import json_stream
from streams.importers.base import NOTHING, ImportDefaults, ImportFault, Skipped, spoken, whole
from streams.importers.memories import Fields, Statement, plan, unwrapped

KEPT = ("metadata", "categories", "agent_id", "run_id", "app_id", "actor_id", "role")
"""Other fields of a memory that are stored, in the state's payload."""
BINDING = "health"
"""The category of mem0's that a context pack puts first."""


def read(path: Path, skipped: Skipped, defaults: ImportDefaults = NOTHING) -> Iterator[JsonObject]:
    """Reads the file's memories as write plans."""
    defaults = defaults.of(path)
    with json_stream.open_text(path) as stream:
        replies = _counted(json_stream.documents(stream), skipped)
        items = unwrapped(replies, "results", "memories")
        for number, item in spoken(items, skipped):
            yield from whole(partial(_records, item, number, defaults), number, skipped)


def _counted(documents: Iterator[Any], skipped: Skipped) -> Iterator[Any]:
    """Counts the `relations` of a graph memory's reply; they have no ids or times."""
    for document in documents:
        relations = document.get("relations") if isinstance(document, dict) else None
        if isinstance(relations, list) and relations:
            skipped["relation of the graph memory"] += len(relations)
        yield document


def _records(
    item: Any, number: int, defaults: ImportDefaults, skipped: Skipped
) -> Iterator[JsonObject]:
    fields = Fields(item, number)
    if "memory" not in fields.item:
        reason = (
            "is missing: export with get_all(); an export by a schema of your own has lost ids, "
            "users and times"
        )
        raise ImportFault(reason, item=number, field="memory")
    if fields.item["memory"] in (None, ""):
        skipped["memory without text"] += 1
        return
    at = fields.said_at(defaults, skipped, "updated_at", "created_at")
    ends = fields.last_day("expiration_date")
    if ends is not None and ends < at:
        raise ImportFault("lies before the memory's time", item=number, field="expiration_date")
    text, id, user = fields.text("memory"), fields.id("id"), fields.user(defaults)
    payload = fields.kept(*KEPT)
    listed = payload.get("categories")
    categories = (
        [category for category in listed if isinstance(category, str)]
        if isinstance(listed, list)
        else []
    )
    if categories:
        payload["category"] = BINDING if BINDING in categories else categories[0]
    yield plan("mem0", Statement(id, user, text, at, at, ends, payload))
