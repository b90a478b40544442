"""`PATCH` and `DELETE /v1/states/{state_id}` (`corrections`)."""

import time
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.base import Id, format_time
from schemas.http import Moment
from schemas.memory import State
from streams.folds import states
from streams.observability.memory_spans import Operation
from streams.serving.http.content_type import model_body, said_in
from streams.serving.http.corrections import (
    Json,
    Kind,
    Owner,
    Why,
    held,
    owner_of,
    rows_of,
    written,
)
from streams.serving.http.route import WRITE_ERRORS, Endpoints, reply, serving

StateInPath = Annotated[
    Id, Path(description="Id of the state, or its citation (`s:…`); a slash in it is `%2F`.")
]
EndTime = Annotated[
    Moment | None,
    Query(description="When it stops being true: RFC 3339, or a date, which means its end (UTC). "
          "Default: the time of the request."),
]  # fmt: skip


def _document(state: Any) -> Json:
    return states.document(state, state.versions[-1])


STATE = Kind("state", states.STATES, _document, "/states")


api = Endpoints()


@api.add(
    "PATCH", "/v1/states/{state_id}", "users", {200: State, 202: http.Accepted},
    operation=Operation("update_memory", "correct"), errors=(404, 501, *WRITE_ERRORS),
    body=http.StateCorrection,
    example={"reason": "Emma wrote to support: she moved in June", "body_text": "Lives in Leiden."},
)  # fmt: skip
async def correct_state(request: Request, state_id: StateInPath, user_id: Owner = None) -> Response:
    """Corrects a state. Omitted fields stay unchanged; another `valid_from` starts a new version.
    Returns the state once the correction has been applied."""
    change = said_in(await model_body(request, serving(request).readers, http.StateCorrection))
    return await corrected(request, state_id, change, change.pop("reason"), user_id)


async def corrected(
    request: Request, state_id: str, change: Json, reason: str, user_id: str | None = None
) -> Response:
    """`change`: the changed fields, as in `StateCorrection`."""
    owner, state = await held_state(request, state_id, user_id)
    if all(state[name] == value for name, value in change.items()):
        return reply(state)
    update = {"op": "upsert", "kind": state["kind"], **change, "reason": reason}
    return await _written(request, owner, state, update, update)


@api.add(
    "DELETE", "/v1/states/{state_id}", "users", {200: State, 202: http.Accepted},
    operation=Operation("update_memory", "end"), errors=(404, 501, *WRITE_ERRORS),
)  # fmt: skip
async def end_state(
    request: Request,
    state_id: StateInPath,
    reason: Why,
    at: EndTime = None,
    user_id: Owner = None,
) -> Response:
    """Ends a state: it was true until `at`. Its text stays in the history. Returns the state once
    the end has been applied; an ended state is unchanged."""
    owner, state = await held_state(request, state_id, user_id)
    until = format_time(time.time_ns() // 1000 if at is None else at)
    if (state["valid_to"] is not None and at is None) or state["valid_to"] == until:
        return reply(state)
    update = {"op": "close", "valid_to": until, "reason": reason}
    request_body = update | {"valid_to": None if at is None else until}
    return await _written(request, owner, state, request_body, update)


async def held_state(
    request: Request, state_id: str, user_id: str | None = None
) -> tuple[str, Json]:
    """A state's user and its newest version (schemas.memory.State). Raises Problem."""
    owner = await owner_of(request, STATE, state_id, user_id)
    return owner, _document(held(await rows_of(request, owner), STATE, state_id))


async def _written(
    request: Request, user_id: str, state: Json, request_body: Json, update: Json
) -> Response:
    state_id = state["state_id"]
    updates = {"state_updates": [{"state_id": state_id, **update}]}
    return await written(request, STATE, user_id, state_id, state, [request_body], updates)
