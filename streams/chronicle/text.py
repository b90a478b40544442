"""What memory says, in a line."""

from typing import Any

import msgspec


def text_of(entity_type: str, document: Any) -> str | None:
    """What a document of memory says; None for what is gone."""
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
