"""`DELETE /v1/messages/{message_id}`: ends the memory that a message and its answer created."""

import time
from collections.abc import Iterator
from time import monotonic
from typing import Annotated

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.base import Id, JsonObject, format_time
from schemas.events import SCHEMA_VERSION
from streams import history_lists
from streams.folds import end_facts
from streams.folds.effects import Rows
from streams.folds.ids import make_id
from streams.folds.session_state import MAX_USERS, speakers_in
from streams.observability.memory_spans import Operation
from streams.pipeline import retract_turns
from streams.serving.http import kept_messages, request_headers, write_records
from streams.serving.http.problems import not_found
from streams.serving.http.route import (
    WRITE_ERRORS,
    Endpoints,
    ask_history,
    encode,
    reply,
    serving,
    tenant_of,
)

MessageInPath = Annotated[
    Id, Path(description="Id of a user's message; a slash in it is `%2F`."),
]  # fmt: skip
SessionOfMessage = Annotated[Id, Query(description="The session.")]


api = Endpoints()


@api.add(
    "DELETE", "/v1/messages/{message_id}", "records",
    {200: http.RecordsReply, 202: http.RecordsReply},
    operation=Operation("update_memory", "retract"), errors=(404, *WRITE_ERRORS),
)  # fmt: skip
async def delete_message(
    request: Request, message_id: MessageInPath, session_id: SessionOfMessage
) -> Response:
    """Ends the facts and preferences that rest only on a user's message and its answer, and hides
    the turn from search and context packs. The turn stays in the session and in the history; erase
    the turn to remove it. 202: stored and not applied yet."""
    server, tenant = serving(request), tenant_of(request)
    prefer = request_headers.preference(request, server.within)
    until = monotonic() + max(prefer.wait, server.within)
    server.quotas.check(tenant)
    async with server.session_lock(tenant, session_id):
        session = await server.rows_after("sessions", tenant, session_id, until)
        if not retract_turns.is_turn(session, message_id):
            raise not_found("user's message")
        at = time.time_ns() // 1000
        now = format_time(at)
        records: list[JsonObject] = []
        versions = {message_id}
        users = speakers_in(session)
        if len(users) >= MAX_USERS:  # it does not name all of them
            users |= await ask_history(
                request, "message", [("sessions", session_id)],
                history_lists.speakers, session_id, message_id,
            )  # fmt: skip
        for user_id in sorted(users):
            user = await server.rows_after("users", tenant, user_id, until)
            since = _retracted_at(user, session_id, message_id)
            if since is None:
                records.append(
                    retract_turns.plan(
                        tenant, session_id, user_id, message_id, now, retract_turns.DELETED
                    )
                )
            versions |= end_facts.versions_until(user, message_id, session_id, since or at)
        for version in sorted(versions):
            records += _taken_back(session, tenant, session_id, version, now)
        results = await write_records.submit(
            server.backend, server.quotas, tenant, list(map(encode, records)), prefer.wait,
            all_or_none=True, readers=server.readers,
        )  # fmt: skip
    for result in results:
        write_records.check_written(result, "message_id")
    return reply(
        {"counts": write_records.counts(results), "results": results},
        write_records.status_of(results),
    )


def _retracted_at(user: Rows, session_id: str, message_id: str) -> int | None:
    """Time of the message's deletion for a user."""
    marks = user.get(end_facts.mark_key(message_id, session_id))
    sent = None if marks is None else marks.sent
    return sent.at if sent is not None and sent.retracted else None


def _taken_back(
    session: Rows, tenant: str, session_id: str, message_id: str, now: str
) -> Iterator[JsonObject]:
    """The signal that removes the message's original, if one is stored."""
    signal_id = make_id("deleted", session_id, message_id)
    if kept_messages.is_known(session, message_id) and not kept_messages.is_known(
        session, signal_id
    ):
        yield {
            "type": "signal",
            "tenant": tenant,
            "schema_version": SCHEMA_VERSION,
            "signal_id": signal_id,
            "scope": "session",
            "session_id": session_id,
            "occurred_at": now,
            "takes_back": message_id,
        }
