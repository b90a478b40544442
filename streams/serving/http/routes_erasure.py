"""`DELETE /v1/users/{user_id}`, `/v1/sessions/{session_id}` and one of its turns: what is held of a
person, or what was said in a session or turn, is erased for good, with a receipt."""

import asyncio
from http import HTTPStatus
from time import monotonic
from typing import Annotated, Any

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from schemas import admin_replies
from schemas.base import Id
from schemas.time import format_time
from streams.apps.erasure_queue import Erasures
from streams.apps.erasure_requests import Erasure
from streams.files.inbox import NoRoom
from streams.observability.memory_spans import Operation
from streams.serving.http import request_headers
from streams.serving.http.problems import Problem, not_found
from streams.serving.http.route import (
    HISTORY_ERRORS,
    LIST_ERRORS,
    Endpoints,
    Serving,
    SessionInPath,
    UserInPath,
    reply,
    serving,
    tenant_of,
)

LOOK_EVERY = 0.02
ErasureInPath = Annotated[
    str, Path(pattern="^[0-9a-f]{32}$", description="Id of the erasure, as `DELETE` gave it.")
]

EventInPath = Annotated[
    Id,
    Path(
        description="Id of the turn, which is that of its user's message; a slash in it is `%2F`."
    ),
]


api = Endpoints()
ERASURE = {200: admin_replies.Erasure, 202: admin_replies.Erasure}


@api.add(
    "DELETE", "/v1/users/{user_id}", "users", ERASURE,
    needs="admin", operation=Operation("delete_memory", "forget"), errors=(*LIST_ERRORS, 507),
)  # fmt: skip
async def forget_user(request: Request, user_id: UserInPath) -> Response:
    """Erases a user for good from all tables, files and the search index, as `turnfold forget`
    does. There is no confirmation. A request that was answered is carried out, even if the server
    is killed. 202: the erasure is not done yet; `Location` names where to ask."""
    return await _asked(request, user_id=user_id)


@api.add(
    "DELETE", "/v1/sessions/{session_id}", "sessions", ERASURE,
    needs="admin", operation=Operation("delete_memory", "forget_session"),
    errors=(*LIST_ERRORS, 507),
)  # fmt: skip
async def forget_session(request: Request, session_id: SessionInPath) -> Response:
    """Erases a session for good, whoever spoke in it, with all that memory made of it. What its
    users said elsewhere stays, and what memory holds of them is made again from that. A request
    that was answered is carried out, even if the server is killed. 202: the erasure is not done
    yet; `Location` names where to ask."""
    return await _asked(request, session_id=session_id)


@api.add(
    "DELETE", "/v1/sessions/{session_id}/turns/{event_id}", "sessions", ERASURE,
    needs="admin", operation=Operation("delete_memory", "forget_turn"), errors=(*LIST_ERRORS, 507),
)  # fmt: skip
async def forget_turn(
    request: Request, session_id: SessionInPath, event_id: EventInPath
) -> Response:
    """Erases a turn of a session for good: what was said and answered, the steps of its task, and
    all that memory made of it. Of the rest of the session, and of what its users said elsewhere,
    memory is made again. A request that was answered is carried out, even if the server is killed.
    202: the erasure is not done yet; `Location` names where to ask."""
    return await _asked(request, session_id=session_id, event_id=event_id)


async def _asked(
    request: Request,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    event_id: str | None = None,
) -> Response:
    here, tenant = serving(request), tenant_of(request)
    erasures = erasures_of(here, "user" if session_id is None else "session")
    within = request_headers.preference(request, here.within).wait
    try:
        asked = await asyncio.to_thread(
            erasures.ask, tenant, user_id, session_id=session_id, event_id=event_id
        )
    except OSError as error:
        raise NoRoom(f"the erasure cannot be noted ({error.strerror}); make room") from None
    return _told(await _ended(erasures, asked, within))


@api.add(
    "GET", "/v1/erasures/{erasure_id}", "operations", admin_replies.Erasure,
    needs="admin", errors=HISTORY_ERRORS,
)  # fmt: skip
async def erasure(request: Request, erasure_id: ErasureInPath) -> Response:
    """An erasure: its status, and its receipt, which names no user, session or turn."""
    found = erasures_of(serving(request)).find(tenant_of(request), erasure_id)
    if found is None:
        raise not_found("erasure")
    return reply(_document(found))


INSTEAD = {
    "user": "stop the sinks, run `turnfold forget USER --history DIR`, start them again; "
    "docs/erasure.md says what Kafka's topics still hold",
    "session": "a single session or turn cannot be erased there; `turnfold forget USER` erases a "
    "user",
}


def erasures_of(here: Serving, what: str = "user") -> Erasures:
    """What erases here. Raises Problem where this server cannot erase."""
    if here.backend.erasures is None:
        detail = f"workers and sinks hold this memory: {INSTEAD[what]}"
        raise Problem(501, "Not erased here", detail)
    return here.backend.erasures


async def _ended(erasures: Erasures, asked: Erasure, within: float) -> Erasure:
    """As it is when it has ended, or so many seconds are over."""
    deadline = monotonic() + within
    while True:
        found = erasures.find(asked.tenant, asked.id) or asked
        if found.finished_at is not None or monotonic() >= deadline:
            return found
        await asyncio.sleep(LOOK_EVERY)


def _told(found: Erasure) -> Response:
    if found.finished_at is not None:
        return reply(_document(found))
    look = f"/v1/erasures/{found.id}"
    return reply(_document(found), HTTPStatus.ACCEPTED, location=look)


def _document(found: Erasure) -> dict[str, Any]:
    ended = found.finished_at
    return {
        "id": found.id,
        "status": "waiting" if ended is None else "done",
        "requested_at": format_time(found.requested_at),
        "finished_at": None if ended is None else format_time(ended),
        "receipt": found.receipt,
    }
