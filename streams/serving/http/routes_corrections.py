"""`PATCH` and `DELETE` of `/v1/states/{state_id}` and `/v1/preferences/{preference_id}`.

Each becomes a write plan of the extractor `operator`, with a reason that `why` shows. A request
without effect is not written, so it can be repeated. A repeated request that arrives before the
first is applied becomes the same plan.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from hashlib import blake2b
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.base import Id, format_time
from schemas.citation import Citation
from schemas.http import Moment
from schemas.memory import Preference, State
from streams import history_lists
from streams.extractors.registry import OPERATOR
from streams.folds import preferences, states
from streams.folds.effects import RowKind, Rows
from streams.folds.ids import make_id
from streams.observability.memory_spans import Operation
from streams.pipeline import withheld
from streams.serving.backends.backend import NotReady
from streams.serving.http import request_headers, write_records
from streams.serving.http.content_type import model_body, said_in
from streams.serving.http.problems import not_found
from streams.serving.http.route import (
    WRITE_ERRORS,
    Endpoints,
    accepted,
    ask_history,
    encode,
    reply,
    serving,
    tenant_of,
)

Json = dict[str, Any]
StateInPath = Annotated[
    Id, Path(description="Id of the state, or its citation (`s:…`); a slash in it is `%2F`.")
]
PreferenceInPath = Annotated[
    Id, Path(description="Id of the preference, or its citation (`p:…`); a slash in it is `%2F`.")
]
Owner = Annotated[
    Id | None, Query(description="Id of its user. Without it the history is searched.")
]
Why = Annotated[
    str, Query(min_length=1, max_length=2000, description="Why it ends; `why` shows it.")
]
EndTime = Annotated[
    Moment | None,
    Query(description="When it stops being true: RFC 3339, or a date, which means its end (UTC). "
          "Default: the time of the request."),
]  # fmt: skip


class Kind(NamedTuple):
    """A kind of memory that can be corrected. `name`: of its revisions and citations; `document`: a
    row as replies show it; `listed`: the path that lists a user's rows."""

    name: str
    rows: RowKind[Any]
    document: Callable[[Any], Json]
    listed: str


def _newest_version(state: Any) -> Json:
    return states.document(state, state.versions[-1])


STATE = Kind("state", states.STATES, _newest_version, "/states")
PREFERENCE = Kind("preference", preferences.PREFERENCES, preferences.document, "")
IDENTITY = ("domain", "subject", "polarity")
"""Fields that a preference's id is derived from: another value is another preference."""


api = Endpoints()


# --- states -----------------------------------------------------------------------------------


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
    return await corrected_state(request, state_id, change, change.pop("reason"), user_id)


async def corrected_state(
    request: Request, state_id: str, change: Json, reason: str, user_id: str | None = None
) -> Response:
    """`change`: the changed fields, as in `StateCorrection`."""
    owner, _, state = await held(request, STATE, state_id, user_id)
    if all(state[name] == value for name, value in change.items()):
        return reply(state)
    update = {"op": "upsert", "kind": state["kind"], **change, "reason": reason}
    return await _state_written(request, owner, state, update, update)


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
    owner, _, state = await held(request, STATE, state_id, user_id)
    until = format_time(time.time_ns() // 1000 if at is None else at)
    if (state["valid_to"] is not None and at is None) or state["valid_to"] == until:
        return reply(state)
    update = {"op": "close", "valid_to": until, "reason": reason}
    request_body = update | {"valid_to": None if at is None else until}
    return await _state_written(request, owner, state, request_body, update)


async def _state_written(
    request: Request, user_id: str, state: Json, request_body: Json, update: Json
) -> Response:
    state_id = state["state_id"]
    updates = {"state_updates": [{"state_id": state_id, **update}]}
    return await _written(request, STATE, user_id, state_id, state, [request_body], updates)


# --- preferences ------------------------------------------------------------------------------


@api.add(
    "PATCH", "/v1/preferences/{preference_id}", "users", {200: Preference, 202: http.Accepted},
    operation=Operation("update_memory", "correct"), errors=(404, 501, *WRITE_ERRORS),
    body=http.PreferenceCorrection,
    example={"reason": "Emma wrote to support: green tea alone", "subject": "green tea"},
)  # fmt: skip
async def correct_preference(
    request: Request, preference_id: PreferenceInPath, user_id: Owner = None
) -> Response:
    """Corrects and confirms a preference. Omitted fields stay unchanged. A different `subject`,
    `polarity` or `domain` ends it and creates another preference. Returns the resulting preference
    once the correction has been applied."""
    change = said_in(await model_body(request, serving(request).readers, http.PreferenceCorrection))
    return await corrected_preference(request, preference_id, change, change.pop("reason"), user_id)


async def corrected_preference(
    request: Request, preference_id: str, change: Json, reason: str, user_id: str | None = None
) -> Response:
    """`change`: the changed fields, as in `PreferenceCorrection`."""
    owner, rows, before = await held(request, PREFERENCE, preference_id, user_id)
    target = {name: before[name] for name in (*IDENTITY, "confidence", "note")} | change
    identity = tuple(target[name] for name in IDENTITY)
    after = preferences.document(preferences.of_identity(rows, *identity))
    is_same = after["preference_id"] == before["preference_id"]
    is_as_wanted = after["status"] == "confirmed" and all(
        after[name] == value for name, value in change.items() if name not in IDENTITY
    )
    if is_as_wanted and (is_same or before["status"] == "revoked"):
        return reply(after)
    updates = [_update("confirm", target, reason)]
    if not is_same and before["status"] != "revoked":
        updates.insert(0, _update("revoke", before, reason))
    return await _written(
        request, PREFERENCE, owner, after["preference_id"], before, [change, reason],
        {"preference_updates": updates},
    )  # fmt: skip


@api.add(
    "DELETE", "/v1/preferences/{preference_id}", "users", {200: Preference, 202: http.Accepted},
    operation=Operation("update_memory", "end"), errors=(404, 501, *WRITE_ERRORS),
)  # fmt: skip
async def end_preference(
    request: Request, preference_id: PreferenceInPath, reason: Why, user_id: Owner = None
) -> Response:
    """Ends (revokes) a preference. Its messages stay in the history. Returns the preference once
    the end has been applied; an ended preference is unchanged."""
    owner, _, preference = await held(request, PREFERENCE, preference_id, user_id)
    if preference["status"] == "revoked":
        return reply(preference)
    updates = {"preference_updates": [_update("revoke", preference, reason)]}
    return await _written(
        request, PREFERENCE, owner, preference["preference_id"], preference, [reason], updates
    )


def _update(op: str, preference: Json, reason: str) -> Json:
    fields = (*IDENTITY, "confidence", "note")
    return {"op": op, "reason": reason, **{name: preference[name] for name in fields}}


# --- both -------------------------------------------------------------------------------------


async def held(
    request: Request, kind: Kind, id: str, user_id: str | None = None
) -> tuple[str, Rows, Json]:
    """A row by its id or its citation in a context pack: its user (default: looked up in the
    history), the user's rows, and its document. Waits until this server shows all writes of that
    user. Raises Problem."""
    server, tenant = serving(request), tenant_of(request)
    owner = user_id
    if owner is None:
        owner = await ask_history(request, kind.name, [], history_lists.owner_of, kind.name, id)
    # another server may just have written what decides whether there is anything to change
    await server.backend.catch_up("users", tenant, owner, server.within)
    rows, _ = await server.backend.rows("users", tenant, owner)
    return owner, rows, _document(rows, kind, id)


def _document(rows: Rows, kind: Kind, id: str) -> Json:
    row = rows.get(kind.rows.key(id))
    citation = Citation.read(id) if row is None else None
    if citation is not None and citation.kind == kind.name:
        ids = (
            row_id for row_id in kind.rows.ids(rows) if Citation.of(kind.name, row_id) == citation
        )
        row = rows.get(kind.rows.key(next(ids, "")))
    if row is None:
        raise not_found(kind.name)
    return kind.document(row)


async def _written(
    request: Request,
    kind: Kind,
    user_id: str,
    id: str,
    before: Json,
    arguments: list[Any],
    updates: Json,
) -> Response:
    """Submits the `updates` as a plan; replies with the row `id` once it is applied. `before`: the
    row that was read. The same `before` and `arguments` are the same request. A request that is
    withheld is answered with `before`."""
    server, tenant = serving(request), tenant_of(request)
    now = format_time(time.time_ns() // 1000)
    key = request_headers.idempotency_key(request)
    operator = request.scope["state"]["caller"].key_id or ""
    plan = {
        "type": "write_plan",
        "plan_id": write_records.id_of_key(tenant, key) if key else make_id(OPERATOR, id, now),
        "user_id": user_id,
        "occurred_at": now,
        "extractor": {"name": OPERATOR, "version": operator},
        **updates,
    }
    line, same = encode(plan), encode([kind.name, user_id, before, arguments, operator])
    first = ("corrections", tenant, key or "", blake2b(same, digest_size=16).hexdigest())
    is_withheld = withheld.in_headers(request.headers.items())
    line = withheld.NOTHING if is_withheld else server.keys.first(first, line)
    within = request_headers.preference(request, server.within).wait
    (result,) = await write_records.submit(
        server.backend, server.quotas, tenant, [line], within, readers=server.readers
    )
    write_records.check_written(result, "Idempotency-Key" if key else f"{kind.name}_id")
    if result.ending == "withheld":
        return reply(before)
    if result.ending != "accepted":
        with suppress(NotReady):  # a 503 would have it sent again, and it is in the log
            rows, _ = await server.backend.rows("users", tenant, user_id)
            return reply(_document(rows, kind, id))
    return accepted(result.id, f"/v1/users/{quote(user_id, safe='')}{kind.listed}")
