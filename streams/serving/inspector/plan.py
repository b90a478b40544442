"""View: a write plan as the history keeps it: its extractor, the turn it was made from, what it
changed, and all that it said."""

from typing import Annotated

import msgspec
from fastapi import Path
from starlette.requests import Request

from schemas.base import Id
from schemas.time import format_time, parse_time
from streams.point_in_time import plans as chronicle
from streams.serving.http.route import AsOf, KnownAt, UserInPath, serving, tenant_of
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.view import View

MOST_TEXT, MOST_CHANGES = 20_000, 500
"""Characters of the record, and changes, that a page shows; the twin has all of the record."""
PlanInPath = Annotated[Id, Path(description="Id of the write plan; a slash in it is `%2F`.")]


async def plan(
    request: Request,
    user_id: UserInPath,
    plan_id: PlanInPath,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """A plan of a user; null as of a time before it was made or recorded."""
    here, tenant = serving(request), tenant_of(request)
    found = await here.past.ask(
        "plan", tenant, lambda root: chronicle.plan(root, tenant, user_id, plan_id)
    )
    changes = found.pop("changes")
    there = (as_of is None or parse_time(found["occurred_at"]) <= as_of) and (
        known_at is None or parse_time(found["recorded_at"]) <= known_at
    )
    text = msgspec.json.format(msgspec.json.encode(found["doc"]), indent=2).decode()
    return {
        "as_of": None if as_of is None else format_time(as_of),
        "known_at": None if known_at is None else format_time(known_at),
        "user_id": user_id,
        "plan_id": plan_id,
        "plan": found if there else None,
        "shown": text[:MOST_TEXT] if there else None,
        "cut": there and len(text) > MOST_TEXT,
        "changes": changes[:MOST_CHANGES] if there else [],
        "change_count": len(changes) if there else 0,
        "steps": {"as_of": [found["occurred_at"]], "known_at": [found["recorded_at"]]},
        "missing": [],
    }


VIEW = View("/users/{user_id}/plans/{plan_id}", plan, "plan.html", "plan.title", "plan.about")
