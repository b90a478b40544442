"""Old names to today's. Works on the decoded JSON, before validation (design 03, `schema_version`).

Version 1 knew several names for the same thing, seed 000's misspelt `angent_answer` among them;
version 2 writes one. The old names stay readable in both.
"""

from typing import Any

TURN_ALIASES = (
    ("angent_answer", "agent_answer"),
    ("final_answer", "agent_answer"),
    ("session_subject", "subject"),
    ("session_goal", "object"),
)

FREE = frozenset({"metadata", "payload", "output", "result"})
"""Fields of free form: a null in them says something."""


def _drop_nulls(value: Any) -> None:
    if isinstance(value, list):
        for one in value:
            _drop_nulls(one)
    elif isinstance(value, dict):
        for name, one in list(value.items()):
            if one is None:
                del value[name]
            elif name not in FREE:
                _drop_nulls(one)


def upcast(record: dict[str, Any]) -> dict[str, Any]:
    """The record under today's field names; a null field counts as absent. Changes `record`."""
    for name, value in list(record.items()):
        if value is None:
            del record[name]
        elif type(value) in (dict, list) and name not in FREE:
            _drop_nulls(value)
    if record.get("type") == "tool_result":
        record.setdefault("result", None)
    elif record.get("type") == "turn":
        for name in ("observations", "image_summaries"):
            if record.get(name) == []:
                del record[name]
        for old, new in TURN_ALIASES:
            if old in record and new not in record:
                record[new] = record.pop(old)
        summary = record.get("summary")
        if isinstance(summary, dict) and "narrative" in summary and "content" not in summary:
            summary["content"] = summary.pop("narrative")
    return record
