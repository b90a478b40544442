"""View: a write plan from the history: its extractor, source turn, changes, and contents."""

from typing import Annotated

import msgspec
from fastapi import Path
from starlette.requests import Request

from schemas.base import Id
from schemas.time import parse_time
from streams.point_in_time import plans as chronicle
from streams.serving.http.route import AsOf, KnownAt, UserInPath, ask_history
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.view import View, clocks

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
    """A plan of a user; null before it was created or recorded."""
    document = await ask_history(request, "plan", [], chronicle.plan, user_id, plan_id)
    changes = document.pop("changes")
    there = (as_of is None or parse_time(document["occurred_at"]) <= as_of) and (
        known_at is None or parse_time(document["recorded_at"]) <= known_at
    )
    text = msgspec.json.format(msgspec.json.encode(document["doc"]), indent=2).decode()
    return {
        **clocks(as_of, known_at),
        "user_id": user_id,
        "plan_id": plan_id,
        "plan": document if there else None,
        "shown": text[:MOST_TEXT] if there else None,
        "cut": there and len(text) > MOST_TEXT,
        "changes": changes[:MOST_CHANGES] if there else [],
        "change_count": len(changes) if there else 0,
        "steps": {"as_of": [document["occurred_at"]], "known_at": [document["recorded_at"]]},
        "missing": [],
    }


VIEW = View("/users/{user_id}/plans/{plan_id}", plan, "plan.html", "plan.title", "plan.about")
