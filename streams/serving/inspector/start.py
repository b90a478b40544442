"""View: users and sessions, the last active first, and a search over texts and memory."""

import time
from typing import Annotated, Any, Literal

import msgspec
from fastapi import Query
from starlette.requests import Request

from schemas.time import format_time
from schemas.validation_text import one_of
from streams import search
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
from streams.serving.inspector.api_calls import Json, if_there, told_if_there
from streams.serving.inspector.view import START, View, as_text, clocks

SHOWN, HITS = 20, 20
"""People and sessions of a page; hits of a search."""
Kind = Literal["user", "session"]
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
    """Search results; without a query, users and sessions."""
    missing: list[str] = []
    answer: dict[str, Any] = {
        **clocks(as_of, known_at), "q": q, "kind": kind,
        "from": as_text(since), "to": as_text(until), "status": status, "missing": missing,
    }  # fmt: skip
    if q:
        at = time.time_ns() // 1000 if status == "now" and as_of is None else as_of
        results = routes_reading.search(
            request, q, kind=kind, since=since, until=until, as_of=at, limit=HITS, cursor=cursor
        )
        return answer | {"found": await told_if_there(results, missing)}
    if as_of is not None or known_at is not None:
        at = time.time_ns() // 1000 if as_of is None else as_of
        times = {"at": at, "known_at": known_at, "since": since, "until": until}
        parameters = {name: value for name, value in times.items() if value is not None}
        return answer | {
            "found": None,
            "people": await if_there(_then(request, "user", parameters, people), missing),
            "sessions": await if_there(_then(request, "session", parameters, sessions), missing),
        }
    users = routes_lists.users(request, since=since, until=until, limit=SHOWN, cursor=people)
    session_list = routes_lists.sessions(
        request, since=since, until=until, limit=SHOWN, cursor=sessions
    )
    return answer | {
        "found": None,
        "people": await told_if_there(users, missing),
        "sessions": await told_if_there(session_list, missing),
    }


async def _then(request: Request, kind: Kind, parameters: Json, cursor: str | None) -> Json:
    """A page of users or sessions as of a time, in the API's form. Raises Problem."""
    past, tenant = serving(request).past, tenant_of(request)
    active = search.ActiveQuery(kind=kind, limit=SHOWN + 1, **parameters)
    if cursor is not None:
        active = msgspec.structs.replace(active, after=paging.after(cursor))
    owners = list((await past.look_up(tenant, active, search.active_as_of, f"{kind}s")).items())
    page = dict(owners[:SHOWN])
    of_those = search.CountQuery(
        kind=kind, names=tuple(page), at=active.at, known_at=active.known_at
    )
    counted = await past.look_up(tenant, of_those, search.counts_as_of, f"{kind}s")
    name, at = owners[SHOWN - 1] if len(owners) > SHOWN else (None, 0)
    return {
        f"{kind}s": [
            {f"{kind}_id": name, "last_active": format_time(at), **_counts(kind, counted[name])}
            for name, at in page.items()
        ],
        "next": name and paging.write(at, name),
    }


def _counts(kind: Kind, counts: search.OwnerCounts) -> Json:
    if kind == "user":
        return {"turns": counts.turns, "sessions": counts.others, "states": counts.states}
    return {"user_id": counts.first, "turns": counts.turns, "first_line": None}


VIEW = View(START, start, "start.html", "start.title", "start.about", menu=True)
