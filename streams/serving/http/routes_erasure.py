"""`DELETE /v1/users/{user_id}`, `/v1/sessions/{session_id}` and its turns: permanent erasure with a
receipt."""

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
    """Permanently deletes a user from all tables, files and the search index, as `turnfold forget`
    does, without confirmation. A request that was answered is completed, even if the server is
    killed. 202: the erasure is not finished; `Location` returns its status."""
    return await _asked(request, user_id=user_id)


@api.add(
    "DELETE", "/v1/sessions/{session_id}", "sessions", ERASURE,
    needs="admin", operation=Operation("delete_memory", "forget_session"),
    errors=(*LIST_ERRORS, 507),
)  # fmt: skip
async def forget_session(request: Request, session_id: SessionInPath) -> Response:
    """Permanently deletes a session of all its users, and everything derived from it. Other
    sessions of its users stay, and their memory is rebuilt without this one. A request that was
    answered is completed, even if the server is killed. 202: the erasure is not finished;
    `Location` returns its status."""
    return await _asked(request, session_id=session_id)


@api.add(
    "DELETE", "/v1/sessions/{session_id}/turns/{event_id}", "sessions", ERASURE,
    needs="admin", operation=Operation("delete_memory", "forget_turn"), errors=(*LIST_ERRORS, 507),
)  # fmt: skip
async def forget_turn(
    request: Request, session_id: SessionInPath, event_id: EventInPath
) -> Response:
    """Permanently deletes a turn of a session: message, answer, task steps, and everything derived
    from it. Memory of the session and its users is rebuilt without the turn. A request that was
    answered is completed, even if the server is killed. 202: the erasure is not finished;
    `Location` returns its status."""
    return await _asked(request, session_id=session_id, event_id=event_id)


async def _asked(
    request: Request,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    event_id: str | None = None,
) -> Response:
    server, tenant = serving(request), tenant_of(request)
    erasures = erasures_of(server, "user" if session_id is None else "session")
    within = request_headers.preference(request, server.within).wait
    try:
        request_noted = await asyncio.to_thread(
            erasures.ask, tenant, user_id, session_id=session_id, event_id=event_id
        )
    except OSError as error:
        raise NoRoom(f"the erasure cannot be noted ({error.strerror}); make room") from None
    return _told(await _ended(erasures, request_noted, within))


@api.add(
    "GET", "/v1/erasures/{erasure_id}", "operations", admin_replies.Erasure,
    needs="admin", errors=HISTORY_ERRORS,
)  # fmt: skip
async def erasure(request: Request, erasure_id: ErasureInPath) -> Response:
    """An erasure: its status, and its receipt, which names no user, session or turn."""
    state = erasures_of(serving(request)).find(tenant_of(request), erasure_id)
    if state is None:
        raise not_found("erasure")
    return reply(_document(state))


INSTEAD = {
    "user": "stop the sinks, run `turnfold forget USER --history DIR`, start them again; "
    "docs/erasure.md says what Kafka's topics still hold",
    "session": "a single session or turn cannot be erased there; `turnfold forget USER` erases a "
    "user",
}


def erasures_of(server: Serving, scope: str = "user") -> Erasures:
    """Raises Problem if this server cannot erase."""
    if server.backend.erasures is None:
        detail = f"workers and sinks hold this memory: {INSTEAD[scope]}"
        raise Problem(501, "Not erased here", detail)
    return server.backend.erasures


async def _ended(erasures: Erasures, pending: Erasure, within: float) -> Erasure:
    """The erasure's state when it has ended, or after `within` seconds."""
    deadline = monotonic() + within
    while True:
        current = erasures.find(pending.tenant, pending.id) or pending
        if current.finished_at is not None or monotonic() >= deadline:
            return current
        await asyncio.sleep(LOOK_EVERY)


def _told(current: Erasure) -> Response:
    if current.finished_at is not None:
        return reply(_document(current))
    look = f"/v1/erasures/{current.id}"
    return reply(_document(current), HTTPStatus.ACCEPTED, location=look)


def _document(current: Erasure) -> dict[str, Any]:
    ended = current.finished_at
    return {
        "id": current.id,
        "status": "waiting" if ended is None else "done",
        "requested_at": format_time(current.requested_at),
        "finished_at": None if ended is None else format_time(ended),
        "receipt": current.receipt,
    }
