"""Revisions replayed: they have to end at the documents.

`replay` goes through the revisions of each owner by `seq`. Each `before` has to be what the ones
before it said; what they say at the end is compared with the reference's documents.
"""

import json
from collections.abc import Iterable
from typing import Any, NamedTuple

from tests.reference.compared import Flat, differences

Json = dict[str, Any]
Said = dict[tuple[Any, ...], Json]
ACTIVE = {"status": "active", "closed_reason": None}
OF_SESSIONS = ("session", "session_memory")


class Replayed(NamedTuple):
    """What stands after all revisions, what they ever spoke of, and where one of them does not go
    on from the ones before it."""

    said: Said
    met: set[tuple[Any, ...]]
    broken: list[str]


def replay(revisions: Iterable[Json]) -> Replayed:
    """`revisions` are rows of the table, `before` and `after` JSON text."""
    said: Said = {}
    met: set[tuple[Any, ...]] = set()
    ids: set[str] = set()
    broken = []
    for row in sorted(revisions, key=lambda one: (one["tenant"], one["owner_id"], one["seq"])):
        before, after = (None if row[name] is None else json.loads(row[name])
                         for name in ("before", "after"))  # fmt: skip
        if row["revision_id"] in ids:
            broken.append(f"a second revision of this id: {row}")
        ids.add(row["revision_id"])
        if _text(before) == _text(after):
            broken.append(f"a revision without a change: {row}")
        if before is not None:
            key = _key(row, before)
            stood = said.get(key, None if key in met else _at_first(key, before))
            met.add(key)
            if _text(stood) != _text(before):
                broken.append(f"{key}\n  stood  {_text(stood)}\n  before {_text(before)}")
            if after is None:
                said.pop(key, None)
        if after is not None:
            said[_key(row, after)] = after
            met.add(_key(row, after))
    return Replayed(said, met, broken)


def _key(row: Json, document: Json) -> tuple[Any, ...]:
    kind, owner = row["entity_type"], (row["tenant"], row["owner_id"])
    session_id = document.get("session_id")
    if kind == "session":
        return kind, *owner, row["kind"]
    if kind == "state":
        return kind, *owner, row["entity_id"], document["valid_from"]
    if kind == "thread":
        return kind, *owner, document["thread_key"], document["event_id"], session_id
    if kind == "link" and row["plan_id"] is None:
        return "reply", *owner, document["from_event_id"]
    if kind == "link":
        ends = (document["from_event_id"], document["to_event_id"], document["label"])
        return kind, *owner, *ends, session_id
    if kind == "affect":
        return kind, *owner, row["entity_id"], row["kind"]
    return kind, *owner, row["entity_id"]


def _at_first(key: tuple[Any, ...], before: Json) -> Json | None:
    """What holds before any revision; an event's first link and first moment have none."""
    if key[0] in ("reply", "affect"):
        return before
    return ACTIVE if key[0] == "session" and key[-1] == "status" else None


def told(replayed: Replayed, wanted: Flat) -> list[str]:
    """Where the end of the revisions is not what the documents say."""
    said = replayed.said
    flat: Flat = {}
    shown: Flat = {}
    for key, document in said.items():
        if key[0] in ("thread", "link"):
            flat[key] = _text(document["confidence"])
        elif key[0] == "reply":
            flat[key] = _text(document["to_event_id"])
        elif key[0] != "affect":
            flat[key] = _text(document)
    for key, text in wanted.items():
        if key[0] == "session":
            shown |= _of_session(key, json.loads(text))
        elif key[0] == "reply":
            shown[key] = _text(json.loads(text)[0])
        elif key[0] in ("state", "preference", "thread", "link"):
            shown[key] = text
    replies = {key for key in shown if key[0] == "reply"} - replayed.met  # first links
    flat = {key: text for key, text in flat.items() if text not in (_text(ACTIVE), "null")}
    kept = {key: text for key, text in shown.items() if key not in replies}
    return differences(kept, flat) + _moments(said, wanted)


def _of_session(key: tuple[Any, ...], document: Json) -> Flat:
    owner = key[1:]
    status = {name: document[name] for name in ("status", "closed_reason")}
    shown: Flat = {
        ("session", *owner, "subject"): _text(document["subject"]),
        ("session", *owner, "object"): _text(document["object"]),
        ("session", *owner, "status"): _text(status),
    }
    for item in document["session_memory"]:
        given = {name: value for name, value in item.items() if value is not None}
        shown["session_memory", *owner, item["id"]] = _text(given)
    return {name: text for name, text in shown.items() if text not in ("null", _text(ACTIVE))}


def _moments(said: Said, wanted: Flat) -> list[str]:
    """Moments that revisions end at and that do not stand."""
    standing = {
        (*key[1:4], _text(_moment(json.loads(text))))
        for key, text in wanted.items()
        if key[0] == "affect"
    }
    return [
        f"{key}\n  told   {_text(document)}, which does not stand"
        for key, document in said.items()
        if key[0] == "affect" and (*key[1:4], _text(document)) not in standing
    ]


def _moment(document: Json) -> Json:
    told = {name: document[name] for name in ("text", "labels", "confidence")}
    return told | {"vad": {axis: document[axis] for axis in "vad"}}


def _text(document: Any) -> str:
    if isinstance(document, dict) and "id" in document:  # an item: what is null is not given
        document = {name: value for name, value in document.items() if value is not None}
    return json.dumps(document, sort_keys=True, ensure_ascii=False)
