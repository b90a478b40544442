"""`PATCH` and `DELETE /v1/states/{state_id}`: somebody corrects or ends what is held of a user.

Either becomes a write plan of the extractor `operator`, with a reason, so that `why` tells it like
every other change. A request that changes nothing writes nothing: it can be sent again. One that is
sent again before the first is applied finds the state as the first found it: it is the same plan.
"""

import time
from contextlib import suppress
from hashlib import blake2b
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from schemas.base import Id, format_time
from schemas.http import Moment, StateCorrection
from streams import listing
from streams.folds import states
from streams.folds.ids import make_id
from streams.pipeline import withheld
from streams.serving.backends.backend import NotReady
from streams.serving.http import request_headers, submitting
from streams.serving.http.media import model_body, said_in
from streams.serving.http.problems import not_found
from streams.serving.http.route import Serving, accepted, encode, reply, serving, tenant_of

OPERATOR = "operator"
"""The extractor's name in the plans made here; its version is the key's id."""

Json = dict[str, Any]

StateInPath = Annotated[Id, Path(description="Id of the state; a slash in it is `%2F`.")]
UserOfState = Annotated[
    Id | None, Query(description="Id of the state's user. Without it the history is searched.")
]
Why = Annotated[
    str, Query(min_length=1, max_length=2000, description="Why it ends; `why` shows it.")
]
EndTime = Annotated[
    Moment | None,
    Query(description="When it stops being true: RFC 3339, or a date, which means its end (UTC). "
          "Default: the time of the request."),
]  # fmt: skip


async def correct_state(
    request: Request, state_id: StateInPath, user_id: UserOfState = None
) -> Response:
    """Corrects a state. Fields that the body omits stay as they are; a later `valid_from` begins a
    new version. Returns the state once the correction has been applied."""
    change = said_in(await model_body(request, serving(request).readers, StateCorrection))
    return await corrected(request, state_id, change, change.pop("reason"), user_id)


async def corrected(
    request: Request, state_id: str, change: Json, reason: str, user_id: str | None = None
) -> Response:
    """`change`: the fields that become others, as `StateCorrection` has them."""
    owner, held = await held_state(request, state_id, user_id)
    if all(held[name] == value for name, value in change.items()):
        return reply(held)
    update = {"op": "upsert", "kind": held["kind"], **change, "reason": reason}
    return await _written(request, owner, held, update, update)


async def end_state(
    request: Request,
    state_id: StateInPath,
    reason: Why,
    at: EndTime = None,
    user_id: UserOfState = None,
) -> Response:
    """Ends a state: it was true until `at`. What it said stays in the history. Returns the state
    once the end has been applied; a state that has ended stays as it is."""
    owner, held = await held_state(request, state_id, user_id)
    until = format_time(time.time_ns() // 1000 if at is None else at)
    if (held["valid_to"] is not None and at is None) or held["valid_to"] == until:
        return reply(held)
    update = {"op": "close", "valid_to": until, "reason": reason}
    asked = update | {"valid_to": None if at is None else until}
    return await _written(request, owner, held, asked, update)


async def held_state(
    request: Request, state_id: str, user_id: str | None = None
) -> tuple[str, Json]:
    """A state's user and its newest version (schemas.memory.State). Raises Problem."""
    here, tenant = serving(request), tenant_of(request)
    owner = user_id or await _owner(here, tenant, state_id)
    # another server may just have written what decides whether there is anything to change
    await here.backend.catch_up("users", tenant, owner, here.within)
    return owner, await _held(here, tenant, owner, state_id)


async def _owner(here: Serving, tenant: str, state_id: str) -> str:
    """The user of a state, out of the history."""
    return await here.past.ask(
        "state", tenant, lambda root: listing.user_of_state(root, tenant, state_id)
    )


async def _held(here: Serving, tenant: str, user_id: str, state_id: str) -> Json:
    """The state's newest version (schemas.memory.State). Raises Problem."""
    rows, _ = await here.backend.rows("users", tenant, user_id)
    state = rows.get(states.STATES.key(state_id))
    if state is not None:
        return states.document(state, state.versions[-1])
    raise not_found("state")


async def _written(
    request: Request, user_id: str, held: Json, asked: Json, update: Json
) -> Response:
    """The update as a plan, and the state once it is applied. `asked`: what makes the request the
    same as another, which found the same."""
    here, tenant = serving(request), tenant_of(request)
    state_id = held["state_id"]
    now = format_time(time.time_ns() // 1000)
    key = request_headers.idempotency_key(request)
    operator = request.scope["state"]["caller"].key_id or ""
    plan = {
        "type": "write_plan",
        "plan_id": submitting.id_of_key(tenant, key) if key else make_id(OPERATOR, state_id, now),
        "user_id": user_id,
        "occurred_at": now,
        "extractor": {"name": OPERATOR, "version": operator},
        "state_updates": [{"state_id": state_id, **update}],
    }
    line, same = encode(plan), encode([user_id, held, asked, operator])
    first = ("states", tenant, key or "", blake2b(same, digest_size=16).hexdigest())
    is_withheld = withheld.in_headers(request.headers.items())
    line = withheld.NOTHING if is_withheld else here.keys.first(first, line)
    within = request_headers.preference(request, here.within).wait
    (result,) = await submitting.submit(
        here.backend, here.quotas, tenant, [line], within, readers=here.readers
    )
    submitting.check_written(result, "Idempotency-Key" if key else "state_id")
    if result.ending != "accepted":
        with suppress(NotReady):  # a 503 would have it sent again, and it is in the log
            return reply(await _held(here, tenant, user_id, state_id))
    return accepted(result.id, f"/v1/users/{quote(user_id, safe='')}/states")
