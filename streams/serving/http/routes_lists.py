"""`GET /v1/users` and `GET /v1/sessions`: lists of a tenant, in pages."""

import time
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from schemas import admin_replies
from schemas.base import Id
from schemas.http import Moment, Since
from schemas.time import format_time
from schemas.validation_text import one_of
from streams import search
from streams.directory.users_and_sessions import ORDERS, Listing
from streams.serving.http import paging
from streams.serving.http.route import LIST_ERRORS, Endpoints, Limit, reply, serving, tenant_of
from streams.serving.http.routes_reading import PlaceCursor

Prefix = Annotated[
    str,
    Query(max_length=128, description="Only ids that begin with this text."),
]
ActiveFrom = Annotated[
    Since | None,
    Query(alias="from", description="Only those last active from this time on: RFC 3339, or a "
          "date, which means its beginning (UTC)."),
]  # fmt: skip
ActiveTo = Annotated[
    Moment | None,
    Query(alias="to", description="Only those last active up to this time: RFC 3339, or a date, "
          "which means its end (UTC)."),
]  # fmt: skip
Order = Annotated[
    str,
    Query(pattern=one_of(ORDERS), description="`last_active`: the latest first. `id`: by id, "
          "which misses nobody who becomes active between two pages."),
]  # fmt: skip
OfUser = Annotated[Id | None, Query(description="Only sessions in which this user spoke.")]


api = Endpoints()


@api.add("GET", "/v1/users", "users", admin_replies.UserList, errors=LIST_ERRORS)
async def users(
    request: Request,
    prefix: Prefix = "",
    since: ActiveFrom = None,
    until: ActiveTo = None,
    order: Order = "last_active",
    limit: Limit = None,
    cursor: PlaceCursor = None,
) -> Response:
    """Lists users, with counts. Writes of the last one or two seconds may be missing."""
    server, tenant = serving(request), tenant_of(request)
    length = server.length(limit)
    listing = _listing(length, prefix, since, until, order, cursor)
    rows = await server.past.look_up(tenant, listing, search.users, "users")
    entries = [
        {
            "user_id": row.user_id,
            "last_active": format_time(row.active),
            "turns": row.turns,
            "sessions": row.sessions,
            "states": row.states,
            "preferences": row.preferences,
        }
        for row in rows[:length]
    ]
    last = rows[length - 1] if len(rows) > length else None
    return reply({"users": entries, "next": last and paging.write(last.active, last.user_id)})


@api.add("GET", "/v1/sessions", "sessions", admin_replies.SessionList, errors=LIST_ERRORS)
async def sessions(
    request: Request,
    prefix: Prefix = "",
    user_id: OfUser = None,
    since: ActiveFrom = None,
    until: ActiveTo = None,
    order: Order = "last_active",
    limit: Limit = None,
    cursor: PlaceCursor = None,
) -> Response:
    """Lists sessions, with counts. Writes of the last one or two seconds may be missing."""
    server, tenant = serving(request), tenant_of(request)
    length = server.length(limit)
    listing = _listing(length, prefix, since, until, order, cursor, user_id)
    rows = await server.past.look_up(tenant, listing, search.sessions, "sessions")
    entries = [
        {
            "session_id": row.session_id,
            "first_line": row.first_line,
            "user_id": row.user_id,
            "users": row.users,
            "started_at": None if row.begun is None else format_time(row.begun),
            "last_active": format_time(row.active),
            "turns": row.turns,
            "memory_items": row.memory,
        }
        for row in rows[:length]
    ]
    last = rows[length - 1] if len(rows) > length else None
    return reply({"sessions": entries, "next": last and paging.write(last.active, last.session_id)})


def _listing(
    length: int,
    prefix: str,
    since: int | None,
    until: int | None,
    order: Any,
    cursor: str | None,
    user_id: str | None = None,
) -> Listing:
    """The index query, for one entry more than the page: it shows whether there is a next page."""
    return Listing(
        now=time.time_ns() // 1000,
        limit=length + 1,
        prefix=prefix,
        since=since,
        until=until,
        user_id=user_id,
        order=order,
        after=None if cursor is None else paging.after(cursor),
    )
