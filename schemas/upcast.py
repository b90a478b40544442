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


def upcast(record: dict[str, Any]) -> dict[str, Any]:
    """The record under today's field names; a null field counts as absent. Changes `record`."""
    nulls = [name for name, value in record.items() if value is None]
    if nulls and record.get("type") == "tool_result":
        nulls = [name for name in nulls if name != "result"]  # a tool may well answer null
    for name in nulls:
        del record[name]
    if record.get("type") == "turn":
        for old, new in TURN_ALIASES:
            if old in record and new not in record:
                record[new] = record.pop(old)
        summary = record.get("summary")
        if isinstance(summary, dict) and "narrative" in summary and "content" not in summary:
            summary["content"] = summary.pop("narrative")
    return record
