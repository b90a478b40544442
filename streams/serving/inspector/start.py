"""View: who and what there is. People and sessions, the last active first, and a search over all
that was said and is held."""

import asyncio
import time
from typing import Annotated, Any, Literal

from fastapi import Query
from starlette.requests import Request

from schemas.faults import one_of
from schemas.time import format_time, parse_time
from streams import listing_then, search
from streams.listing_then import LAST, Listed, Then
from streams.serving.http import paging, routes_lists, routes_reading
from streams.serving.http.problems import Problem
from streams.serving.http.route import AsOf, KnownAt, serving, tenant_of
from streams.serving.http.routes_reading import (
    FromTime,
    PlaceCursor,
    SearchCursor,
    SearchKinds,
    SearchText,
    ToTime,
)
from streams.serving.inspector.asking import AWAY, Json, told_if_there
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
        listed = (
            _listed(request, "users", then, people),
            _listed(request, "sessions", then, sessions),
        )
        first, second = await asyncio.gather(*listed)
        return answer | {"found": None, "people": first, "sessions": second}
    users = routes_lists.users(request, since=since, until=until, limit=SHOWN, cursor=people)
    held = routes_lists.sessions(request, since=since, until=until, limit=SHOWN, cursor=sessions)
    return answer | {
        "found": None,
        "people": await told_if_there(users, missing),
        "sessions": await told_if_there(held, missing),
    }


async def _listed(request: Request, what: Listed, then: Then, cursor: str | None) -> Json:
    """A page of a list, as the API has it: out of the index; out of the tables where that does not
    tell: of a time of knowledge, and while it is built."""
    here, tenant = serving(request), tenant_of(request)
    asked = then if cursor is None else then._replace(after=paging.after(cursor))
    page = await _indexed(request, what, asked) if asked.known_at == LAST else None
    if page is None:
        page = await here.past.ask(
            what, tenant, lambda root: listing_then.listed(root, tenant, what, asked)
        )
    name = f"{what[:-1]}_id"
    found = [{name: id, **one} for id, one in list(page.items())[:SHOWN]]
    last = found[-1] if len(page) > SHOWN else None
    return {what: found, "next": last and paging.write(parse_time(last["last_active"]), last[name])}


async def _indexed(request: Request, what: Listed, asked: Then) -> dict[str, Json] | None:
    """By id, as `listing_then.listed`; None where the index cannot be asked now."""
    here, tenant = serving(request), tenant_of(request)
    kind: Literal["user", "session"] = "user" if what == "users" else "session"
    active = search.Active(
        kind=kind, at=asked.as_of, limit=asked.limit, since=asked.since, until=asked.until,
        after=asked.after,
    )  # fmt: skip
    try:
        page = await here.past.active_then(tenant, active)
        at = search.Then(kind=kind, names=tuple(page), at=asked.as_of)
        counted = await here.past.counted_then(tenant, at)
    except Problem as problem:
        if problem.status not in AWAY:
            raise
        return None
    return {
        name: {"last_active": format_time(at), **_counts(kind, counted[name])}
        for name, at in page.items()
    }


def _counts(kind: str, one: search.Counted) -> Json:
    if kind == "user":
        return {"turns": one.turns, "sessions": one.others, "states": one.held}
    return {"user_id": one.first, "turns": one.turns}


def _text(at: int | None) -> str | None:
    return None if at is None else format_time(at)


VIEW = View(START, start, "start.html", "start.title", "start.about", menu=True)
