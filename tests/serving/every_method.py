"""A call of each method of the clients, made from the API's document: its body is the document's
example, and its path names what a server has, where it takes bodies."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

from schemas.base import JsonObject
from tests.building import ROOT

IDS = {"erasure_id": "0" * 32}
PLAN = {
    "type": "write_plan", "plan_id": "every", "user_id": "every", "extractor": {"name": "test"},
    "occurred_at": "2025-03-01T09:00:00Z",
    "state_updates": [{"kind": "fact", "state_id": "fact", "body_text": "Lives in Ghent."}],
    "preference_updates": [
        {"op": "confirm", "domain": "food", "polarity": "like", "subject": "tea"}
    ],
}  # fmt: skip
"""What a server has to have before."""
IMPOSSIBLE = {400, 405, 406, 413, 415, 422}
"""Statuses of a request that no server would take: never one's that a client made."""
QUERY = {"reason": "r", "q": "tea", "session_id": "none"}
"""Of required parameters."""


class Method(NamedTuple):
    """A method by its name in Python. `query`: required parameters."""

    name: str
    path: dict[str, str]
    query: dict[str, str]
    body: Any

    @property
    def in_typescript(self) -> str:
        return re.sub(r"_([a-z])", lambda match: match[1].upper(), self.name)


def methods(ids: Mapping[str, str]) -> list[Method]:
    """One of each operation; what ends and erases comes last. `ids`: of what the server has, by
    the name of a parameter."""
    document = json.loads((ROOT / "schemas/generated/openapi.json").read_text("utf-8"))
    calls = [
        (verb == "delete", _method(operation, ids))
        for operations in document["paths"].values()
        for verb, operation in operations.items()
        if isinstance(operation, dict) and "operationId" in operation
    ]
    # Others wait for an erasure, and are answered 503 meanwhile.
    calls.sort(key=lambda call: (call[0], call[1].name.startswith("forget")))
    return [method for _, method in calls]


def _method(operation: JsonObject, ids: Mapping[str, str]) -> Method:
    parameters = operation.get("parameters", [])
    names = {one["name"] for one in parameters if one["in"] == "path"}
    required = {one["name"] for one in parameters if one["in"] == "query" and one.get("required")}
    return Method(
        operation["operationId"],
        {name: {**IDS, **ids}.get(name, "none") for name in sorted(names)},
        {name: QUERY[name] for name in sorted(required & QUERY.keys())},
        _body(operation),
    )


def _body(operation: JsonObject) -> Any:
    contents = operation.get("requestBody", {}).get("content", {})
    for content in contents.values():
        if "example" in content:
            return content["example"]
        for example in content.get("examples", {}).values():
            return example["value"]
    return None
