"""What became of a session and of a user, for a reader who looks back: turns with what each of them
changed, tasks, what has ended, moments of affect, levels of mastery.

Every question has two clocks, in microseconds since 1970-01-01 UTC: `as_of`, when something was
true, and `known_at`, by when it was recorded. Rows that were recorded later are not loaded, and the
views make the answer of the others. Answers are plain JSON-ready values.
"""

from typing import Any

import msgspec


def text_of(entity_type: str, document: Any) -> str | None:
    """What a document of memory says, in a line; None for what is gone."""
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
