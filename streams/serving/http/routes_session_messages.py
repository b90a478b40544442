"""`GET /v1/sessions/{session_id}/messages`: the messages of a session as they were sent."""

import asyncio
from time import monotonic
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from schemas.messages import SessionMessages
from streams import history_lists
from streams.folds import kept_messages
from streams.serving.backends.backend import NotReady
from streams.serving.http import paging
from streams.serving.http.route import (
    LIST_ERRORS,
    Endpoints,
    Limit,
    SessionInPath,
    ask_history,
    reply,
    serving,
    tenant_of,
)

FIRST_LOOK, LAST_LOOK = 0.02, 0.25
"""Seconds between two looks into the history."""

Order = Annotated[
    str,
    Query(pattern="^(oldest|newest)$", description="Which come first: `oldest` or `newest`."),
]
MessageCursor = Annotated[
    str | None, Query(pattern=paging.LETTER_PLACE, description="`next` of the previous page.")
]


api = Endpoints()


@api.add(
    "GET", "/v1/sessions/{session_id}/messages", "sessions", SessionMessages, errors=LIST_ERRORS
)
async def session_messages(
    request: Request,
    session_id: SessionInPath,
    order: Order = "oldest",
    limit: Limit = None,
    cursor: MessageCursor = None,
) -> Response:
    """The messages of a session that were sent with `original`, word for word, in order of arrival.
    Every message that was answered with 200 is included; an unknown session has none."""
    server, tenant = serving(request), tenant_of(request)
    rows, _ = await server.backend.rows("sessions", tenant, session_id)
    applied = kept_messages.count(rows)
    deadline, look = monotonic() + server.within, FIRST_LOOK
    while True:
        stored = await ask_history(request, "session", [], history_lists.messages, session_id)
        if stored.signals >= applied:
            break
        if monotonic() >= deadline:
            raise NotReady("the history does not have the newest messages yet")
        await asyncio.sleep(look)
        look = min(2 * look, LAST_LOOK)
    page, following = _page(stored.messages, order == "newest", server.length(limit), cursor)
    return reply({"session_id": session_id, "messages": page, "next": following})


def _page(
    messages: list[history_lists.Message], newest: bool, limit: int, cursor: str | None
) -> tuple[list[dict[str, Any]], str | None]:
    """The messages after the previous page's last one, even if that was deleted."""
    if newest:
        messages = messages[::-1]
    if cursor is not None:
        last = paging.came(cursor)
        messages = [
            message
            for message in messages
            if (message.came < last if newest else message.came > last)
        ]
    page = messages[:limit]
    following = ":".join(map(str, page[-1].came)) if len(messages) > limit else None
    return [message.document for message in page], following
