"""The memory endpoints: profile, context, summary, updates (docs/http.md, "Tutoring endpoints")."""

import time
from contextlib import suppress
from http import HTTPStatus
from random import Random
from typing import Annotated, Any
from urllib.parse import quote
from uuid import UUID

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.base import Id
from schemas.http import SessionUpdate, Update, UserUpdate
from schemas.learner import MemorySummary, UserLearningProfile
from schemas.session import SessionContext
from schemas.time import format_time
from streams.folds.summary import summary, user_of
from streams.pipeline import withheld
from streams.serving.backends.backend import NotReady, Table
from streams.serving.http import documents, request_headers, write_records
from streams.serving.http.content_type import model_body, said_in
from streams.serving.http.documents import knows_signal
from streams.serving.http.problems import Fault, invalid
from streams.serving.http.route import (
    ROW_ERRORS,
    WRITE_ERRORS,
    Endpoints,
    Serving,
    SessionInPath,
    UserInPath,
    accepted,
    encode,
    known,
    reply,
    serving,
    tenant_of,
)

api = Endpoints()
LIMITS = "微积分-极限"


@api.add("GET", "/memory/user/{user_id}", "memory", UserLearningProfile, errors=ROW_ERRORS)
async def profile(request: Request, user_id: UserInPath) -> Response:
    """A user's learning profile."""
    entity = await serving(request).backend.rows("users", tenant_of(request), user_id)
    return known(documents.profile(*entity, user_id), "learning profile")


@api.add("GET", "/memory/session/{session_id}", "memory", SessionContext, errors=ROW_ERRORS)
async def session_context(request: Request, session_id: SessionInPath) -> Response:
    """A session's context, for an agent before it answers."""
    entity = await serving(request).backend.rows("sessions", tenant_of(request), session_id)
    return known(documents.context(*entity), "session context")


@api.add(
    "GET", "/memory/summary", "memory", MemorySummary,
    errors=(422, 429, 503), one_of=("session_id", "user_id"),
    headers={"Accept-Language": "The language of `recent_behavior`: zh, ja or en."},
)  # fmt: skip
async def memory_summary(
    request: Request,
    session_id: Annotated[Id | None, Query(description="Id of the session.")] = None,
    user_id: Annotated[
        Id | None, Query(description="Id of the user. Default: the session's user.")
    ] = None,
) -> Response:
    """A short summary of session and user, for an intent router. Pass `session_id`, `user_id` or
    both; without `user_id` the session's user is taken. An unknown id gives an empty summary."""
    if session_id is None and user_id is None:
        raise invalid([Fault("session_id", "give session_id, user_id or both")])
    backend, tenant = serving(request).backend, tenant_of(request)
    session = user = None
    if session_id is not None:
        session = await backend.rows("sessions", tenant, session_id)
        user_id = user_id or user_of(*session)
    if user_id is not None:
        user = await backend.rows("users", tenant, user_id)
    return reply(summary(session, user, request_headers.language(request)))


# --- updates ----------------------------------------------------------------------------------


@api.add(
    "POST", "/memory/session/update", "memory",
    {200: SessionContext, 202: http.Accepted, 204: None},
    body=SessionUpdate,
    errors=WRITE_ERRORS,
    example={"session_id": "s456", "intent": "quiz", "topic": LIMITS, "artifact": "quiz_set"},
)  # fmt: skip
async def update_session(request: Request) -> Response:
    """Updates a session's context: intent, topic, last artifact. Returns the new context once the
    update has been applied."""
    body = await model_body(request, serving(request).readers, SessionUpdate)
    fields = said_in(body)
    return await _write(request, "sessions", body.session_id, body, fields)


@api.add(
    "POST", "/memory/user/update", "memory",
    {200: UserLearningProfile, 202: http.Accepted, 204: None},
    body=UserUpdate,
    errors=WRITE_ERRORS,
    example={
        "user_id": "u123",
        "event": {
            "intent": "quiz",
            "topic": LIMITS,
            "artifact": "quiz_set",
            "metadata": {"difficulty": "easy", "correct_rate": 0.4},
        },
    },
)  # fmt: skip
async def update_user(request: Request) -> Response:
    """Updates a user's profile: mastery, counts, preferences. Returns the new profile once the
    update has been applied."""
    body = await model_body(request, serving(request).readers, UserUpdate)
    fields = said_in(body)
    event = fields.pop("event")
    return await _write(request, "users", body.user_id, body, event | fields)


SCOPES: dict[Table, str] = {"sessions": "session", "users": "user"}


async def _write(
    request: Request, table: Table, owner: str, body: Update, fields: dict[str, Any]
) -> Response:
    """Submits the update as a `signal` record; returns the document once it is applied."""
    server, tenant = serving(request), tenant_of(request)
    scope = SCOPES[table]
    key = request_headers.idempotency_key(request)
    signal_id = body.signal_id or (write_records.id_of_key(tenant, key) if key else _new_id())
    now = format_time(time.time_ns() // 1000)
    fields = {"occurred_at": now, **fields, "signal_id": signal_id}
    line = encode({**fields, "type": "signal", "scope": scope})
    sent = await request.body()
    is_said = await server.readers.read(tenant, len(sent), withheld.is_said, sent)
    if is_said or withheld.in_headers(request.headers.items()):
        line = withheld.NOTHING
    if (key or body.signal_id) and body.occurred_at is None:
        # a repeated request has another time: the first one counts
        rows, _ = await server.backend.rows(table, tenant, owner)
        if knows_signal(rows, signal_id):
            return await _document(server, table, tenant, owner)
        line = server.keys.first((table, tenant, owner, signal_id), line)
    within = request_headers.preference(request, server.within).wait
    (result,) = await write_records.submit(
        server.backend, server.quotas, tenant, [line], within, readers=server.readers
    )
    if result.ending in ("refused", "dead", "withheld"):
        server.keys.drop((table, tenant, owner, signal_id))
    write_records.check_written(result, "signal_id")
    if result.ending != "accepted":
        with suppress(NotReady):  # a 503 would have it sent again, and it is in the log
            return await _document(server, table, tenant, owner)
    return accepted(signal_id, f"/memory/{scope}/{quote(owner, safe='')}")


def _new_id() -> str:
    """A UUID 4. Python's own reads from the kernel each time, which switches threads."""
    return str(UUID(int=_chance.getrandbits(128), version=4))


_chance = Random()


async def _document(server: Serving, table: Table, tenant: str, owner: str) -> Response:
    """The updated document; 204 if the update was withheld."""
    entity = await server.backend.rows(table, tenant, owner)
    document = documents.profile(*entity, owner) if table == "users" else documents.context(*entity)
    return Response(status_code=HTTPStatus.NO_CONTENT) if document is None else reply(document)
