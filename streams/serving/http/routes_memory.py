"""The memory endpoints: profile, context, summary, updates (docs/http.md, "Memory endpoints")."""

import time
from contextlib import suppress
from http import HTTPStatus
from random import Random
from typing import Any, TypeVar
from urllib.parse import quote
from uuid import UUID

from pydantic import ValidationError
from starlette.requests import Request
from starlette.responses import Response

from schemas.events import MAX_RECORD_BYTES
from schemas.http import SessionUpdate, Update, UserUpdate
from schemas.time import format_time
from streams.folds.summary import summary, user_of
from streams.pipeline import withheld
from streams.serving.backends.backend import NotReady, Table
from streams.serving.http import documents, request_headers, submitting
from streams.serving.http.documents import knows_signal
from streams.serving.http.media import json_body
from streams.serving.http.problems import Fault, Problem, faults, invalid
from streams.serving.http.route import (
    IdInPath,
    IdInQuery,
    Serving,
    encode,
    known,
    reply,
    serving,
    tenant_of,
)


async def profile(request: Request, user_id: IdInPath) -> Response:
    """A user's learning profile."""
    found = await serving(request).memory.rows("users", tenant_of(request), user_id)
    return known(documents.profile(*found, user_id), "learning profile")


async def context(request: Request, session_id: IdInPath) -> Response:
    """A session's context: what an agent needs before it answers."""
    found = await serving(request).memory.rows("sessions", tenant_of(request), session_id)
    return known(documents.context(*found), "session context")


async def memory_summary(
    request: Request, session_id: IdInQuery = None, user_id: IdInQuery = None
) -> Response:
    """A short summary of session and user, for an intent router. Pass `session_id`, `user_id` or
    both; without `user_id` the session's user is taken. An unknown id gives an empty summary."""
    if session_id is None and user_id is None:
        raise invalid([Fault("session_id", "give session_id, user_id or both")])
    memory, tenant = serving(request).memory, tenant_of(request)
    session = user = None
    if session_id is not None:
        session = await memory.rows("sessions", tenant, session_id)
        user_id = user_id or user_of(*session)
    if user_id is not None:
        user = await memory.rows("users", tenant, user_id)
    return reply(summary(session, user, request_headers.language(request)))


# --- updates ----------------------------------------------------------------------------------


async def update_session(request: Request) -> Response:
    """Updates a session's context: intent, topic, last artifact. Returns the new context once the
    update has been applied."""
    body = await _read(request, SessionUpdate)
    fields = _fields(body)
    return await _write(request, "sessions", body.session_id, body, fields)


async def update_user(request: Request) -> Response:
    """Updates a user's profile: mastery, counts, preferences. Returns the new profile once the
    update has been applied."""
    body = await _read(request, UserUpdate)
    fields = _fields(body)
    event = fields.pop("event")
    return await _write(request, "users", body.user_id, body, event | fields)


SCOPES: dict[Table, str] = {"sessions": "session", "users": "user"}
Body = TypeVar("Body", bound=Update)


async def _read(request: Request, model: type[Body]) -> Body:
    size = len(await request.body())
    if size > MAX_RECORD_BYTES:  # it becomes a record, and is long in being read
        detail = f"{size} bytes; an update has at most {MAX_RECORD_BYTES}"
        raise Problem(413, "Body too large", detail)
    try:
        return model.model_validate(await json_body(request))
    except ValidationError as error:
        raise invalid(faults(error)) from None


def _fields(body: Update) -> dict[str, Any]:
    """What it says. Raises Problem."""
    try:
        return body.model_dump(mode="json", exclude_none=True)
    except ValueError:  # pydantic's word for lists in lists without end
        raise invalid([Fault("body", "nested too deep")]) from None


async def _write(
    request: Request, table: Table, owner: str, body: Update, fields: dict[str, Any]
) -> Response:
    """The update as a `signal` record, and the document once it is applied."""
    here, tenant = serving(request), tenant_of(request)
    scope = SCOPES[table]
    key = request_headers.idempotency_key(request)
    signal_id = body.signal_id or (submitting.id_of_key(tenant, key) if key else _new_id())
    now = format_time(time.time_ns() // 1000)
    fields = {"occurred_at": now, **fields, "signal_id": signal_id}
    line = encode({**fields, "type": "signal", "scope": scope})
    if withheld.in_headers(request.headers.items()) or withheld.is_said(await request.body()):
        line = withheld.NOTHING
    if (key or body.signal_id) and body.occurred_at is None:
        # sent again it has another time: what came first stands
        rows, _ = await here.memory.rows(table, tenant, owner)
        if knows_signal(rows, signal_id):
            return await _document(here, table, tenant, owner)
        line = here.keys.first((table, tenant, owner, signal_id), line)
    within = request_headers.preference(request, here.within).wait
    (result,) = await submitting.submit(here.memory, tenant, [line], within)
    if result.ending in ("refused", "dead", "withheld"):
        here.keys.drop((table, tenant, owner, signal_id))
    submitting.status_of([result])
    if result.ending == "dead":
        status = 409 if result.reason == "conflicting_duplicate" else 422
        detail = f"{result.reason}: {result.detail}"
        raise Problem(status, "Not applied", detail, errors=[Fault("signal_id", detail)])
    if result.ending != "accepted":
        with suppress(NotReady):  # a 503 would have it sent again, and it is in the log
            return await _document(here, table, tenant, owner)
    look = f"/memory/{scope}/{quote(owner, safe='')}"
    accepted = {"id": signal_id, "ending": "accepted", "look": look}
    return reply(accepted, HTTPStatus.ACCEPTED, location=look)


def _new_id() -> str:
    """A UUID 4. Python's own asks the kernel each time, and gives other threads its turn for it."""
    return str(UUID(int=_chance.getrandbits(128), version=4))


_chance = Random()


async def _document(here: Serving, table: Table, tenant: str, owner: str) -> Response:
    """What was written, as it is now; 204 where it is not kept, for it was withheld."""
    found = await here.memory.rows(table, tenant, owner)
    document = documents.profile(*found, owner) if table == "users" else documents.context(*found)
    return Response(status_code=HTTPStatus.NO_CONTENT) if document is None else reply(document)
