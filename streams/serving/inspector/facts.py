"""View: all facts and preferences of a user, in force and ended, with filters."""

import time
from collections import Counter
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request

from schemas.base import Id
from schemas.validation_text import one_of
from streams.point_in_time import facts as chronicle
from streams.serving.http import paging
from streams.serving.http.route import AsOf, KnownAt, UserInPath, ask_history
from streams.serving.http.routes_reading import OffsetCursor
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.view import View, clocks

SHOWN = 50
STATUSES = ("in_force", "ended")
Status = Annotated[
    str | None, Query(pattern=one_of(STATUSES), description="Only facts with this status.")
]
Kind = Annotated[Id | None, Query(description="Only facts of this kind.")]
Extractor = Annotated[Id | None, Query(description="Only facts that this extractor found.")]


async def facts(
    request: Request,
    user_id: UserInPath,
    status: Status = None,
    kind: Kind = None,
    extractor: Extractor = None,
    cursor: OffsetCursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """A user's facts that match the filters, the latest first; `counts`: how many of all facts have
    each value of a filter."""
    at = time.time_ns() // 1000 if as_of is None else as_of
    history = await ask_history(
        request, "user", [("users", user_id)], chronicle.facts, user_id, at, known_at
    )
    every = [
        {**fact, "status": "ended" if fact["ended_at"] else "in_force"} for fact in history["facts"]
    ]
    filters = {"status": status, "kind": kind, "extractor": extractor}
    values = {name: value for name, value in filters.items() if value is not None}
    matches = [fact for fact in every if all(fact[name] == values[name] for name in values)]
    page, following = paging.window(matches, SHOWN, cursor)
    return {
        **clocks(as_of, known_at),
        "user_id": user_id,
        **filters,
        "counts": {name: _counts(every, name) for name in filters},
        "facts": page,
        "fact_count": len(matches),
        "next": following,
        "steps": history["steps"],
        "missing": [],
    }


def _counts(every: list[Json], name: str) -> dict[str, int]:
    values: list[Any] = [fact[name] for fact in every if fact[name] is not None]
    return dict(sorted(Counter(values).items()))


VIEW = View("/users/{user_id}/facts", facts, "facts.html", "facts.title", "facts.about")
