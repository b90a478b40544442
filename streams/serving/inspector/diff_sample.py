"""A sample of how two generations differ (`sinks.diff`), as a reader takes it in."""

from typing import Any

from streams.point_in_time import text_of
from streams.serving.inspector.text_diff import diff

Json = dict[str, Any]
ENTITIES = ("state_id", "preference_id", "item_id")
"""Fields of a key that name what has a life of its own."""
OWNERS = ("owner_id", "user_id")
TEXTS = ("body_text", "decision", "content", "subject", "text")
"""Fields of a document that say what it is about, the first that there is."""


BONDS = ("link", "thread")
"""Kinds whose key says it all: which turns belong together."""


def sampled(one: Json) -> Json:
    """With `diff`, how the texts differ, `fields`, what else does, and whose it is."""
    key, before, after = one["key"], one["before"], one["after"]
    told = next((name for name in TEXTS if (before or after).get(name)), None)
    texts = [str((side or {}).get(told) or "") for side in (before, after)]
    family = one["kind"].partition("/")[0]
    if family in BONDS:
        texts = [text_of(family, side and key) or "" for side in (before, after)]
    return {
        **one,
        "entity_id": next((key[name] for name in ENTITIES if key.get(name)), None),
        "user_id": next((key[name] for name in OWNERS if key.get(name)), None),
        "session_id": key.get("session_id") or None,
        "diff": [piece._asdict() for piece in diff(*texts)],
        "fields": _fields(before or {}, after or {}, told),
    }


def _fields(before: Json, after: Json, told: str | None) -> list[Json]:
    """What differs besides the text and the evidence, which is quoted. Of what only one of them
    has, all that says something."""
    names = (name for name in {**before, **after} if name not in (told, "evidence_event_ids"))
    return [
        {"name": name, "before": before.get(name), "after": after.get(name)}
        for name in names
        if before.get(name) != after.get(name)
        and any(side.get(name) not in (None, "", [], {}) for side in (before, after))
    ]
