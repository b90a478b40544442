"""View: the revisions of a state or another entity: versions on two clocks, each revision as a diff
with its reason and evidence, and the source turn of each word."""

import asyncio
import time
from typing import Any

from starlette.requests import Request

from schemas.time import parse_time
from streams import history_lists
from streams.extractors.registry import OWN_WORDS
from streams.point_in_time import text_of
from streams.serving.http.problems import not_found
from streams.serving.http.route import AsOf, KnownAt, ask_history
from streams.serving.http.routes_reading import EntityInPath
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.bitemporal_chart import plane
from streams.serving.inspector.text_diff import blame, diff
from streams.serving.inspector.view import View, clocks

SHOWN = 100
"""The newest revisions that a page shows."""
UNTOLD = frozenset({"evidence_event_ids", "updated_at", "last_confirmed_at", "body_text"})
"""Fields with changes that are shown elsewhere."""


async def state(
    request: Request, state_id: EntityInPath, as_of: AsOf = None, known_at: KnownAt = None
) -> Json:
    """The known revisions of one entity, by its id or citation."""
    whole = await ask_history(request, "state", [], history_lists.revisions, state_id)
    rows = [
        row
        for row in whole
        if (known_at is None or parse_time(row["recorded_at"]) <= known_at)
        and (as_of is None or parse_time(row["occurred_at"]) <= as_of)
    ]
    if not whole:
        raise not_found("state")
    every = _grouped(rows)
    newest = every[-SHOWN:]
    # long texts take a while to compare
    revisions = await asyncio.to_thread(lambda: list(map(_revision, newest)))
    first = whole[0]
    texts = [(revision["text"] or "", _newest_evidence(revision)) for revision in revisions]
    if len(every) > SHOWN:  # its words come from revisions that are not shown
        texts[0] = texts[0][0], None
    origins = await asyncio.to_thread(blame, texts)
    sessions = {
        cited["event_id"]: cited["session_id"]
        for revision in revisions
        for cited in revision["evidence"]
    }
    authors, behind = _authors_and_evidence(every)
    tools = await ask_history(request, "state", [], history_lists.tools_behind, behind)
    drawn = plane(every, time.time_ns() // 1000) if first["entity_type"] == "state" else None
    return {
        **clocks(as_of, known_at),
        "entity_id": first["entity_id"],
        "entity_type": first["entity_type"],
        "owner_id": first["owner_id"],
        "kind": first["kind"],
        "revisions": revisions[::-1],
        "revision_count": len(every),
        "blame": [
            {**origin._asdict(), "session_id": sessions.get(origin.event_id)} for origin in origins
        ],
        "plane": drawn,
        "trust": "user" if authors <= {*OWN_WORDS} else "tool" if tools else "agent",
        "tools": tools,
        "steps": {
            "as_of": sorted({row["occurred_at"] for row in whole}),
            "known_at": sorted({row["recorded_at"] for row in whole}),
        },
        "missing": [],
    }


def _grouped(rows: list[Json]) -> list[Json]:
    """One row per revision, with all its evidence."""
    revisions: dict[str, Json] = {}
    for row in rows:
        evidence = {
            "event_id": row["evidence_event_id"],
            "session_id": row["evidence_session_id"],
            "occurred_at": row["evidence_occurred_at"],
            "user_input": row["user_input"],
            "agent_answer": row["agent_answer"],
        }
        revision = revisions.get(row["revision_id"])
        if revision is None:
            revision = revisions[row["revision_id"]] = {**row, "evidence": []}
        if evidence["event_id"]:
            revision["evidence"].append(evidence)
    return list(revisions.values())


def _authors_and_evidence(revisions: list[Json]) -> tuple[set[str], set[tuple[str, str]]]:
    """Authors of the plans behind revisions, and session and event ids of their evidence. A
    revision without plan is made by a turn, which the agent's program has written."""
    authors = {revision["extractor_name"] or "turn" for revision in revisions}
    evidence = (cited for revision in revisions for cited in revision["evidence"])
    return authors, {
        (cited["session_id"], cited["event_id"]) for cited in evidence if cited["session_id"]
    }


def _newest_evidence(revision: Json) -> str | None:
    event_id: str | None = revision["evidence"][-1]["event_id"] if revision["evidence"] else None
    return event_id


def _revision(row: Json) -> Json:
    """A revision with the diff of its text."""
    before = text_of(row["entity_type"], row["before"])
    after = text_of(row["entity_type"], row["after"])
    named = ("revision_id", "evidence", "op", "reason", "occurred_at", "recorded_at", "plan_id",
             "extractor_name", "extractor_version", "before", "after")  # fmt: skip
    return {
        **{name: row[name] for name in named},
        "text": after,
        "diff": diff(before or "", after or ""),
        "fields": _fields(row["before"], row["after"]),
    }


def _fields(before: Any, after: Any) -> list[Json]:
    """Changed fields besides the text."""
    old = before if isinstance(before, dict) else {}
    new = after if isinstance(after, dict) else {}
    if not old or not new:
        return []
    return [
        {"name": name, "before": old.get(name), "after": new.get(name)}
        for name in sorted({*old, *new} - UNTOLD)
        if old.get(name) != new.get(name)
    ]


VIEW = View("/states/{state_id}", state, "state.html", "state.title", "state.about")
