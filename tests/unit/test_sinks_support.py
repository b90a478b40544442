"""Rows for the tests of the history: what a test leaves out gets a plain value."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.base import DAY, format_time, parse_time
from sinks.delta import History
from sinks.tables import SCHEMAS, to_arrow

Row = dict[str, Any]
PLAIN = {pa.string(): "", pa.int64(): 0, pa.float64(): 0.5, pa.bool_(): False, pa.binary(): b""}
NULLABLE = {
    "session_id", "user_id", "client_id", "task_id", "error", "intent", "topic", "artifact",
    "difficulty",
    "correct_rate", "metadata", "extra", "step_id", "kind", "before", "after", "plan_id",
    "closed_reason", "key", "headers", "tool_call_id", "call_index",
}  # fmt: skip
T0 = "2026-03-01T09:00:00Z"


def at(text: str) -> int:
    """2026-03-01 or a full time -> microseconds."""
    return parse_time(text if "T" in text else f"{text}T00:00:00Z")


def row(table: str, **given: Any) -> tuple[Any, ...]:
    """A row of the table; `occurred_at`, `updated_at` and `recorded_at` may be text."""
    time = given.get("occurred_at", given.get("updated_at", T0))
    moment = at(time) if isinstance(time, str) else time
    values = {
        "tenant": "default", "recorded_at": moment, "doc": "{}", "date": moment // DAY, **given,
    }  # fmt: skip
    made = []
    for field in SCHEMAS[table]:
        value = values.get(field.name)
        if pa.types.is_timestamp(field.type) and field.name != "settled_at":
            value = moment if value is None else at(value) if isinstance(value, str) else value
        elif value is None and field.name not in NULLABLE:
            value = [] if pa.types.is_list(field.type) else PLAIN.get(field.type)
        made.append(value)
    assert not set(values) - set(SCHEMAS[table].names) - {"doc"}
    return tuple(made)


def write(root: Path | str, version: int = 0, /, **tables: list[tuple[Any, ...]]) -> None:
    """One batch of rows a table, by the project's own writer."""
    with History(root) as history:
        for table, rows in tables.items():
            assert history.append(table, to_arrow(table, rows), "test", version)


def state(state_id: str, seq: int, valid_from: str, **given: Any) -> tuple[Any, ...]:
    """A revision of a state of user u1 whose `after` holds these fields; `gone` takes it away."""
    after = {
        "state_id": state_id, "kind": "fact", "body_text": "", "payload": {}, "confidence": 0.5,
        "entities": [], "valid_from": format_time(at(valid_from)), "valid_to": None,
        "last_confirmed_at": T0, "status": "active", "evidence_event_ids": [], "updated_at": T0,
    }  # fmt: skip
    learnt = given.pop("recorded_at", valid_from)
    before, reason = given.pop("before", None), given.pop("reason", "")
    return row(
        "revisions", revision_id=f"{state_id}-{seq}", owner_id=given.pop("owner_id", "u1"),
        entity_type="state", entity_id=state_id, op=given.pop("op", "insert"),
        evidence_event_ids=given.pop("evidence", []), occurred_at=valid_from, recorded_at=learnt,
        seq=seq, before=before, reason=reason, after=json.dumps(after | given),
    )  # fmt: skip
