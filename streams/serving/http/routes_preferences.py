"""`PATCH` and `DELETE /v1/preferences/{preference_id}` (`corrections`)."""

from typing import Annotated

from fastapi import Path
from starlette.requests import Request
from starlette.responses import Response

from schemas import http
from schemas.base import Id
from schemas.memory import Preference
from streams.folds import preferences
from streams.folds.effects import Rows
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

PreferenceInPath = Annotated[
    Id, Path(description="Id of the preference, or its citation (`p:…`); a slash in it is `%2F`.")
]
PREFERENCE = Kind("preference", preferences.PREFERENCES, preferences.document, "")
IDENTITY = ("domain", "subject", "polarity")
"""Fields that a preference's id is derived from: another value is another preference."""


api = Endpoints()


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
    return await corrected(request, preference_id, change, change.pop("reason"), user_id)


async def corrected(
    request: Request, preference_id: str, change: Json, reason: str, user_id: str | None = None
) -> Response:
    """`change`: the changed fields, as in `PreferenceCorrection`."""
    owner, rows, before = await _held(request, preference_id, user_id)
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
    return await written(
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
    owner, _, preference = await _held(request, preference_id, user_id)
    if preference["status"] == "revoked":
        return reply(preference)
    updates = {"preference_updates": [_update("revoke", preference, reason)]}
    return await written(
        request, PREFERENCE, owner, preference["preference_id"], preference, [reason], updates
    )


async def held_preference(
    request: Request, preference_id: str, user_id: str | None = None
) -> tuple[str, Json]:
    """A preference's user and the preference (schemas.memory.Preference). Raises Problem."""
    owner, _, preference = await _held(request, preference_id, user_id)
    return owner, preference


async def _held(
    request: Request, preference_id: str, user_id: str | None
) -> tuple[str, Rows, Json]:
    owner = await owner_of(request, PREFERENCE, preference_id, user_id)
    rows = await rows_of(request, owner)
    return owner, rows, preferences.document(held(rows, PREFERENCE, preference_id))


def _update(op: str, preference: Json, reason: str) -> Json:
    fields = (*IDENTITY, "confidence", "note")
    return {"op": op, "reason": reason, **{name: preference[name] for name in fields}}
