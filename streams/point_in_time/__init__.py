"""Bitemporal views of a session and of a user: turns with their changes, tasks, ended facts,
moments of affect, levels of mastery.

Queries have two times, in microseconds since 1970-01-01 UTC: `as_of`, when facts were true, and
`known_at`, by when they were recorded. Only rows recorded by then are loaded. Functions return
JSON-compatible values.
"""

from typing import Any

import msgspec


def text_of(entity_type: str, document: Any) -> str | None:
    """A memory document's text in one line, or None for a deleted one."""
    if not isinstance(document, dict):
        return None if document is None else str(document)
    if entity_type == "preference":
        return f"{document['polarity']}: {document['subject']}"
    if entity_type == "thread":
        return f"{document['event_id']} → {document['thread_key']}"
    if entity_type == "link":
        return f"{document['from_event_id']} → {document['to_event_id']} ({document['label']})"
    for name in ("body_text", "decision", "content", "text", "status"):
        if document.get(name):
            return str(document[name])
    return msgspec.json.encode(document).decode()
