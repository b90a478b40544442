"""View: who and what there is. People and sessions, the last active first, and a search over all
that was said and is held."""

import time
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request

from schemas.faults import one_of
from schemas.time import format_time
from streams.serving.http import routes_lists, routes_reading
from streams.serving.http.route import AsOf, KnownAt
from streams.serving.http.routes_reading import (
    FromTime,
    PlaceCursor,
    SearchCursor,
    SearchKinds,
    SearchText,
    ToTime,
)
from streams.serving.inspector.asking import Json, told_if_there
from streams.serving.inspector.view import START, View

SHOWN, HITS = 20, 20
"""People and sessions of a page; hits of a search."""
STATUSES = ("all", "now")
Status = Annotated[
    str, Query(pattern=one_of(STATUSES), description="`now`: of what is held only what still is.")
]
PeopleCursor = Annotated[PlaceCursor, Query(description="Where the list of people goes on.")]
SessionsCursor = Annotated[PlaceCursor, Query(description="Where the list of sessions goes on.")]


async def start(
    request: Request,
    q: SearchText | None = None,
    kind: SearchKinds = None,
    since: FromTime = None,
    until: ToTime = None,
    status: Status = "all",
    cursor: SearchCursor = None,
    people: PeopleCursor = None,
    sessions: SessionsCursor = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """What a search has found; without one, people and sessions."""
    missing: list[str] = []
    answer: dict[str, Any] = {
        "as_of": _text(as_of), "known_at": _text(known_at), "q": q, "kind": kind,
        "from": _text(since), "to": _text(until), "status": status, "missing": missing,
    }  # fmt: skip
    if q:
        at = time.time_ns() // 1000 if status == "now" and as_of is None else as_of
        asked = routes_reading.search(
            request, q, kind=kind, since=since, until=until, as_of=at, limit=HITS, cursor=cursor
        )
        return answer | {"found": await told_if_there(asked, missing)}
    users = routes_lists.users(request, since=since, until=until, limit=SHOWN, cursor=people)
    held = routes_lists.sessions(request, since=since, until=until, limit=SHOWN, cursor=sessions)
    return answer | {
        "found": None,
        "people": await told_if_there(users, missing),
        "sessions": await told_if_there(held, missing),
    }


def _text(at: int | None) -> str | None:
    return None if at is None else format_time(at)


VIEW = View(START, start, "start.html", "start.title", "start.about", menu=True)
