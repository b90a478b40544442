"""View: a session as a chat. Each turn with its changes; its task as a tree."""

import time
from typing import Annotated, Any

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from schemas.base import Id
from schemas.time import format_time, parse_time
from sinks.locations import Location
from streams.point_in_time import session as chronicle
from streams.serving.http import routes_reading
from streams.serving.http.auth import Needs
from streams.serving.http.route import (
    STREAM,
    AsOf,
    KnownAt,
    Route,
    SessionInPath,
    serving,
    tenant_of,
)
from streams.serving.inspector.api_calls import Json, told
from streams.serving.inspector.view import View, clocks

SIZE = 50
"""Turns per chunk: a page contains one, and requests others as they scroll into view."""
Chunk = Annotated[
    int | None, Query(ge=0, le=10_000_000, description=f"Which {SIZE} turns, from 0.")
]
Turn = Annotated[Id | None, Query(description="The turns around this one.")]


async def session(
    request: Request,
    session_id: SessionInPath,
    chunk: Chunk = None,
    turn: Turn = None,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """A session's turns in chunks, with their changes, tasks and memory."""
    server, tenant = serving(request), tenant_of(request)
    then = as_of
    if then is None and known_at is not None:
        then = time.time_ns() // 1000

    def past(root: Location) -> dict[str, Any]:
        turns = chronicle.session(
            root, tenant, session_id, size=SIZE, chunk=chunk, turn=turn, as_of=as_of,
            known_at=known_at,
        )  # fmt: skip
        named = {turn_row["task_id"] for turn_row in turns["turns"] if turn_row["task_id"]}
        if then is None:
            tasks, document = chronicle.tasks(root, tenant, session_id, named), {}
        else:
            session_document, tasks = chronicle.documents_as_of(
                root, tenant, session_id, then, known_at, named
            )
            document = {"document": session_document}
        return {
            **turns,
            **document,
            "tasks": {task_row["global"]["task_id"]: task_row for task_row in tasks},
        }

    answer = await server.past.ask("session", tenant, past, of=[("sessions", session_id)])
    if then is None:
        answer["document"] = await told(routes_reading.session(request, session_id))
    for turn_row in answer["turns"]:
        turn_row["before"] = _before(turn_row)
    return {
        **clocks(as_of, known_at),
        "session_id": session_id,
        **answer,
        "missing": [],
    }


async def events(request: Request, session_id: SessionInPath) -> Response:
    """Server-sent events: `changed` whenever a commit changed the session."""
    server = serving(request)
    if request.method == "HEAD":
        return Response(media_type=STREAM)
    stream = server.streams.signals(server.backend, tenant_of(request), session_id)
    return StreamingResponse(stream, media_type=STREAM)


def _before(turn: Json) -> Json:
    """The two clocks right before a turn: the memory available to the agent."""
    return {
        "as_of": format_time(parse_time(turn["occurred_at"]) - 1),
        "known_at": format_time(parse_time(turn["recorded_at"]) - 1),
    }


VIEW = View("/sessions/{session_id}", session, "session.html", "session.title", "session.about")
EVENTS = Route("/sessions/{session_id}/events", events, Needs("read", is_stream=True), media=STREAM)
