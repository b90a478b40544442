"""View: who and what there is. People and sessions, the last active first, and a search over all
that was said and is held."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request

from schemas.faults import one_of
from schemas.time import format_time, parse_time
from streams import listing_then
from streams.listing_then import LAST, Then
from streams.serving.http import paging, routes_lists, routes_reading
from streams.serving.http.route import AsOf, KnownAt, serving, tenant_of
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
    if as_of is not None or known_at is not None:
        now = time.time_ns() // 1000
        then = Then(
            now if as_of is None else as_of, LAST if known_at is None else known_at,
            -LAST if since is None else since, LAST if until is None else until,
            limit=SHOWN + 1,
        )  # fmt: skip
        return answer | {
            "found": None,
            "people": await _listed(request, "users", listing_then.users, then, people),
            "sessions": await _listed(request, "sessions", listing_then.sessions, then, sessions),
        }
    users = routes_lists.users(request, since=since, until=until, limit=SHOWN, cursor=people)
    held = routes_lists.sessions(request, since=since, until=until, limit=SHOWN, cursor=sessions)
    return answer | {
        "found": None,
        "people": await told_if_there(users, missing),
        "sessions": await told_if_there(held, missing),
    }


async def _listed(
    request: Request,
    name: str,
    find: Callable[[Path, str, Then], list[Json]],
    then: Then,
    cursor: str | None,
) -> Json:
    """A page of a list, as the API has it."""
    here, tenant = serving(request), tenant_of(request)
    asked = then if cursor is None else then._replace(after=paging.after(cursor))
    found = await here.past.ask(name, tenant, lambda root: find(root, tenant, asked))
    last = found[SHOWN - 1] if len(found) > SHOWN else None
    following = last and paging.write(parse_time(last["last_active"]), last[f"{name[:-1]}_id"])
    return {name: found[:SHOWN], "next": following}


def _text(at: int | None) -> str | None:
    return None if at is None else format_time(at)


VIEW = View(START, start, "start.html", "start.title", "start.about", menu=True)
