"""View: the life of a state, or of another thing that has revisions: its versions on two clocks,
each revision as a diff with its reason and evidence, and which turn each word comes from."""

import asyncio
import time
from typing import Any

from starlette.requests import Request

from schemas.time import format_time, parse_time
from streams.chronicle import text_of
from streams.serving.http import routes_reading
from streams.serving.http.problems import not_found
from streams.serving.http.route import AsOf, KnownAt
from streams.serving.http.routes_reading import EntityInPath
from streams.serving.inspector.asking import Json, told
from streams.serving.inspector.plane import plane
from streams.serving.inspector.view import View
from streams.serving.inspector.words import blame, diff

UNTOLD = frozenset({"evidence_event_ids", "updated_at", "last_confirmed_at", "body_text"})
"""Fields whose changes say nothing that is not said elsewhere."""


async def state(
    request: Request, state_id: EntityInPath, as_of: AsOf = None, known_at: KnownAt = None
) -> Json:
    """The revisions of one entity, as far as they were known; a citation stands for what it
    cites."""
    whole = await told(routes_reading.why(request, state_id))
    rows = [
        one
        for one in whole["revisions"]
        if (known_at is None or parse_time(one["recorded_at"]) <= known_at)
        and (as_of is None or parse_time(one["occurred_at"]) <= as_of)
    ]
    if not whole["revisions"]:
        raise not_found("state")
    revisions = await asyncio.to_thread(_grouped, rows)  # long texts take a while to compare
    first = whole["revisions"][0]
    texts = [
        (one["text"] or "", one["evidence"][-1]["event_id"] if one["evidence"] else None)
        for one in revisions
    ]
    origins = await asyncio.to_thread(blame, texts)
    sessions = {
        cited["event_id"]: cited["session_id"] for one in revisions for cited in one["evidence"]
    }
    drawn = plane(revisions, time.time_ns() // 1000) if first["entity_type"] == "state" else None
    return {
        "as_of": None if as_of is None else format_time(as_of),
        "known_at": None if known_at is None else format_time(known_at),
        "entity_id": first["entity_id"],
        "entity_type": first["entity_type"],
        "owner_id": first["owner_id"],
        "kind": first["kind"],
        "revisions": revisions[::-1],
        "blame": [{**one._asdict(), "session_id": sessions.get(one.event_id)} for one in origins],
        "plane": _plain(drawn),
        "steps": {
            "as_of": sorted({one["occurred_at"] for one in whole["revisions"]}),
            "known_at": sorted({one["recorded_at"] for one in whole["revisions"]}),
        },
        "missing": [],
    }


def _grouped(rows: list[Json]) -> list[Json]:
    """One object a revision, with all its evidence and how its text differs."""
    found: dict[str, Json] = {}
    for row in rows:
        evidence = {
            "event_id": row["evidence_event_id"],
            "session_id": row["evidence_session_id"],
            "occurred_at": row["evidence_occurred_at"],
            "user_input": row["user_input"],
            "agent_answer": row["agent_answer"],
        }
        one = found.get(row["revision_id"])
        if one is None:
            one = found[row["revision_id"]] = _revision(row)
        if evidence["event_id"]:
            one["evidence"].append(evidence)
    return list(found.values())


def _revision(row: Json) -> Json:
    before = text_of(row["entity_type"], row["before"])
    after = text_of(row["entity_type"], row["after"])
    named = ("revision_id", "op", "reason", "occurred_at", "recorded_at", "plan_id",
             "extractor_name", "extractor_version", "before", "after")  # fmt: skip
    return {
        **{name: row[name] for name in named},
        "text": after,
        "diff": [one._asdict() for one in diff(before or "", after or "")],
        "fields": _fields(row["before"], row["after"]),
        "evidence": [],
    }


def _fields(before: Any, after: Any) -> list[Json]:
    """Fields besides the text that changed."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    if not old or not new:
        return []
    return [
        {"name": name, "before": old.get(name), "after": new.get(name)}
        for name in sorted({*old, *new} - UNTOLD)
        if old.get(name) != new.get(name)
    ]


def _plain(drawn: Any) -> Json | None:
    if drawn is None:
        return None
    rows = [{**row._asdict(), "bars": [bar._asdict() for bar in row.bars]} for row in drawn.rows]
    return {**drawn._asdict(), "rows": rows}


VIEW = View("/states/{state_id}", state, "state.html", "state.title", "state.about")
