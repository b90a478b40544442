"""View: correct or end a state or preference. The page shows the effect; the act calls `PATCH` and
`DELETE /v1/states/{state_id}` or `/v1/preferences/{preference_id}`."""

from http import HTTPStatus
from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from schemas.http import Moment, Since
from schemas.time import format_time, parse_time
from schemas.validation_text import one_of
from streams.serving.http import routes_corrections
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.routes_corrections import PREFERENCE, STATE, StateInPath
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.links import Links
from streams.serving.inspector.text_diff import diff
from streams.serving.inspector.view import View

ACTS = ("correct", "end")
Do = Annotated[str | None, Query(pattern=one_of(ACTS), description="What is to be done.")]
Text = Annotated[
    str | None, Query(min_length=1, max_length=10_000, description="What is true instead.")
]
Begins = Annotated[
    Since | None,
    Query(description="When that became true. A later time than before begins a new version."),
]
Ends = Annotated[Moment | None, Query(description="When it stopped being true. Default: now.")]
Why = Annotated[str | None, Query(min_length=1, max_length=2000, description="Why.")]


async def change(
    request: Request,
    state_id: StateInPath,
    do: Do = None,
    body_text: Text = None,
    valid_from: Begins = None,
    at: Ends = None,
    reason: Why = None,
) -> Json:
    """A state or preference, and the effect of `do`; `will` is null if there is none. `body_text`
    is a preference's subject."""
    owner, entity = await _held(request, state_id)
    answer = {"state_id": state_id, "user_id": owner, "state": entity, "do": do, "reason": reason}
    if do is None:
        return {**answer, "will": None, "diff": [], "missing": []}
    if reason is None:
        raise invalid([Fault("reason", "is missing")])
    new: Json | None
    if do == "correct":
        begins = None if valid_from is None or _is_preference(entity) else format_time(valid_from)
        correction: Json = {"body_text": body_text, "valid_from": begins}
        new = {
            name: value for name, value in correction.items() if value not in (None, entity[name])
        }
    else:
        until = None if at is None or _is_preference(entity) else format_time(at)
        ended = entity["valid_to"] is not None and until in (None, entity["valid_to"])
        new = None if ended else {"valid_to": until}
    will = _will(do, entity, new, reason)
    text: str = entity["body_text"]
    pieces = diff(text, (new or {}).get("body_text", text))
    return {**answer, "will": will, "diff": pieces, "missing": []}


async def _held(request: Request, id: str) -> tuple[str, Json]:
    """The user, and the state or preference, the latter with the fields of a state."""
    try:
        owner, _, state = await routes_corrections.held(request, STATE, id)
        return owner, state
    except Problem as problem:
        if problem.status != HTTPStatus.NOT_FOUND:
            raise
    owner, _, preference = await routes_corrections.held(request, PREFERENCE, id)
    until = preference["updated_at"] if preference["status"] == "revoked" else None
    return owner, {
        **preference,
        "body_text": preference["subject"],
        "valid_from": None,
        "valid_to": until,
    }


def _is_preference(entity: Json) -> bool:
    return "polarity" in entity


def _will(do: str, entity: Json, new: Json | None, reason: str) -> Json | None:
    """The effect, with the current state in it: consent ends with the next change."""
    if not new:
        return None
    begins = new.get("valid_from")
    return {
        "do": do,
        "new": new,
        "reason": reason,
        "version": begins is not None and begins > entity["valid_from"],
        "found": entity,
    }


async def act(request: Request, answer: Json) -> str:
    """Returns the entity's page, which shows the new revision."""
    id, owner, will = answer["state_id"], answer["user_id"], answer["will"]
    new, reason = will["new"], will["reason"]
    if _is_preference(answer["state"]):
        if will["do"] == "correct":
            change = {"subject": new["body_text"]}
            await routes_corrections.corrected_preference(request, id, change, reason, owner)
        else:
            await routes_corrections.end_preference(request, id, reason, owner)
    elif will["do"] == "correct":
        await routes_corrections.corrected_state(request, id, new, reason, owner)
    else:
        until = new["valid_to"]
        at = None if until is None else parse_time(until)
        await routes_corrections.end_state(request, id, reason, at, owner)
    return Links().state(id)


VIEW = View(
    "/states/{state_id}/change", change, "change.html", "change.title", "change.about",
    role="write", act=act,
)  # fmt: skip
