"""View: the life of a state, or of another thing that has revisions: its versions on two clocks,
each revision as a diff with its reason and evidence, and which turn each word comes from."""

import asyncio
import time
from typing import Any

from starlette.requests import Request

from schemas.time import format_time, parse_time
from streams import history_lists
from streams.point_in_time import text_of
from streams.serving.http.problems import not_found
from streams.serving.http.route import AsOf, KnownAt, serving, tenant_of
from streams.serving.http.routes_reading import EntityInPath
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.bitemporal_chart import plane
from streams.serving.inspector.text_diff import blame, diff
from streams.serving.inspector.view import View

SHOWN = 100
"""The newest revisions that a page shows."""
UNTOLD = frozenset({"evidence_event_ids", "updated_at", "last_confirmed_at", "body_text"})
"""Fields whose changes say nothing that is not said elsewhere."""


async def state(
    request: Request, state_id: EntityInPath, as_of: AsOf = None, known_at: KnownAt = None
) -> Json:
    """The revisions of one entity, as far as they were known; a citation stands for what it
    cites."""
    here, tenant = serving(request), tenant_of(request)
    whole = await here.past.ask(
        "state", tenant, lambda root: history_lists.revisions(root, tenant, state_id)
    )
    rows = [
        one
        for one in whole
        if (known_at is None or parse_time(one["recorded_at"]) <= known_at)
        and (as_of is None or parse_time(one["occurred_at"]) <= as_of)
    ]
    if not whole:
        raise not_found("state")
    every = _grouped(rows)
    shown = every[-SHOWN:]
    # long texts take a while to compare
    revisions = await asyncio.to_thread(lambda: list(map(_revision, shown)))
    first = whole[0]
    texts = [(one["text"] or "", _newest_evidence(one)) for one in revisions]
    if len(every) > SHOWN:  # its words come from revisions that are not shown
        texts[0] = texts[0][0], None
    origins = await asyncio.to_thread(blame, texts)
    sessions = {
        cited["event_id"]: cited["session_id"] for one in revisions for cited in one["evidence"]
    }
    drawn = plane(every, time.time_ns() // 1000) if first["entity_type"] == "state" else None
    return {
        "as_of": None if as_of is None else format_time(as_of),
        "known_at": None if known_at is None else format_time(known_at),
        "entity_id": first["entity_id"],
        "entity_type": first["entity_type"],
        "owner_id": first["owner_id"],
        "kind": first["kind"],
        "revisions": revisions[::-1],
        "revision_count": len(every),
        "blame": [{**one._asdict(), "session_id": sessions.get(one.event_id)} for one in origins],
        "plane": _plain(drawn),
        "steps": {
            "as_of": sorted({one["occurred_at"] for one in whole}),
            "known_at": sorted({one["recorded_at"] for one in whole}),
        },
        "missing": [],
    }


def _grouped(rows: list[Json]) -> list[Json]:
    """One row a revision, with all its evidence."""
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
            one = found[row["revision_id"]] = {**row, "evidence": []}
        if evidence["event_id"]:
            one["evidence"].append(evidence)
    return list(found.values())


def _newest_evidence(one: Json) -> str | None:
    event_id: str | None = one["evidence"][-1]["event_id"] if one["evidence"] else None
    return event_id


def _revision(row: Json) -> Json:
    """With how its text differs."""
    before = text_of(row["entity_type"], row["before"])
    after = text_of(row["entity_type"], row["after"])
    named = ("revision_id", "evidence", "op", "reason", "occurred_at", "recorded_at", "plan_id",
             "extractor_name", "extractor_version", "before", "after")  # fmt: skip
    return {
        **{name: row[name] for name in named},
        "text": after,
        "diff": [one._asdict() for one in diff(before or "", after or "")],
        "fields": _fields(row["before"], row["after"]),
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
