"""A sample of the differences between two generations (`sinks.diff`), for display."""

from typing import Any

from streams.point_in_time import text_of
from streams.serving.inspector.text_diff import diff

Json = dict[str, Any]
ENTITIES = ("state_id", "preference_id", "item_id")
"""Fields of a key that name an independent entity."""
OWNERS = ("owner_id", "user_id")
TEXTS = ("body_text", "decision", "content", "subject", "text")
"""Fields that describe a document; the first present one counts."""


BONDS = ("link", "thread")
"""Kinds described by their key alone: which turns belong together."""


def sampled(sample: Json) -> Json:
    """Adds `diff` (of the texts), `fields` (other differences) and the owner."""
    key, before, after = sample["key"], sample["before"], sample["after"]
    text_field = next((name for name in TEXTS if (before or after).get(name)), None)
    texts = [str((side or {}).get(text_field) or "") for side in (before, after)]
    family = sample["kind"].partition("/")[0]
    if family in BONDS:
        texts = [text_of(family, side and key) or "" for side in (before, after)]
    return {
        **sample,
        "entity_id": next((key[name] for name in ENTITIES if key.get(name)), None),
        "user_id": next((key[name] for name in OWNERS if key.get(name)), None),
        "session_id": key.get("session_id") or None,
        "diff": [piece._asdict() for piece in diff(*texts)],
        "fields": _fields(before or {}, after or {}, text_field),
    }


def _fields(before: Json, after: Json, text_field: str | None) -> list[Json]:
    """Differences besides the text and the evidence, which is quoted; without empty values."""
    names = (name for name in {**before, **after} if name not in (text_field, "evidence_event_ids"))
    return [
        {"name": name, "before": before.get(name), "after": after.get(name)}
        for name in names
        if before.get(name) != after.get(name)
        and any(side.get(name) not in (None, "", [], {}) for side in (before, after))
    ]
