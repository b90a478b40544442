"""Another platform's shape for all of our records: a mapping of it, and its inverse."""

import json
from pathlib import Path
from typing import Any

from schemas.time import parse_time
from streams.record_kinds import MODELS

WRAPPED = {"occurred_at": "epoch_us", "recorded_at": "epoch_us"}
"""Fields that the other platform has as microseconds."""


def write_mapping(file: Path, topic: str, **more: Any) -> Path:
    """A mapping of every field of every type of record from where `foreign` puts it."""
    records = []
    for kind, model in MODELS.items():
        fields: dict[str, Any] = {}
        for name in model.model_fields.keys() - {"type", "schema_version"}:
            path = f"payload.{name}.value"
            fields[name] = {"from": path, "time": WRAPPED[name]} if name in WRAPPED else path
        records.append({"type": kind, "when": f"kind == 'x-{kind}'", "fields": fields})
    source = {"records": records, **more}
    file.write_text(json.dumps({"version": 1, "sources": {topic: source}}))
    return file


def shaped(record: dict[str, Any]) -> dict[str, Any]:
    """The record in the shape of the other platform: the inverse of the mapping."""
    payload = {
        name: {"value": parse_time(value) if name in WRAPPED else value, "noise": [name]}
        for name, value in record.items()
        if name not in ("type", "schema_version") and value is not None
    }
    return {"kind": f"x-{record['type']}", "payload": payload, "v": 3}


def foreign(record: dict[str, Any]) -> bytes:
    """The same as a message's value."""
    return json.dumps(shaped(record)).encode()
