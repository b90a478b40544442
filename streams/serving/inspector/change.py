"""View: a state is corrected or ended. The page says what would become of it; the act is that of
`PATCH` and `DELETE /v1/states/{state_id}`."""

from typing import Annotated

from fastapi import Query
from starlette.requests import Request

from schemas.faults import one_of
from schemas.http import Moment, Since
from schemas.time import format_time, parse_time
from streams.serving.http import routes_states
from streams.serving.http.problems import Fault, invalid
from streams.serving.http.routes_states import StateInPath
from streams.serving.inspector.asking import Json
from streams.serving.inspector.links import Links
from streams.serving.inspector.view import View
from streams.serving.inspector.words import diff

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
    """A state as it is, and what `do` would make of it; `will` is null where that is nothing."""
    owner, held = await routes_states.held_state(request, state_id)
    answer = {"state_id": state_id, "user_id": owner, "state": held, "do": do, "reason": reason}
    if do is None:
        return {**answer, "will": None, "diff": [], "missing": []}
    if reason is None:
        raise invalid([Fault("reason", "is missing")])
    new: Json | None
    if do == "correct":
        begins = None if valid_from is None else format_time(valid_from)
        told: Json = {"body_text": body_text, "valid_from": begins}
        new = {name: value for name, value in told.items() if value not in (None, held[name])}
    else:
        until = None if at is None else format_time(at)
        ended = held["valid_to"] is not None and until in (None, held["valid_to"])
        new = None if ended else {"valid_to": until}
    will = _will(do, held, new, reason)
    said: str = held["body_text"]
    words = [one._asdict() for one in diff(said, (new or {}).get("body_text", said))]
    return {**answer, "will": will, "diff": words, "missing": []}


def _will(do: str, held: Json, new: Json | None, reason: str) -> Json | None:
    """What would happen. It says as what it found the state, so that the consent to it ends with
    the next change."""
    if not new:
        return None
    begins = new.get("valid_from")
    return {
        "do": do,
        "new": new,
        "reason": reason,
        "version": begins is not None and begins > held["valid_from"],
        "found": held,
    }


async def act(request: Request, answer: Json) -> str:
    """Goes on to the state's life, where the new revision is."""
    state_id, owner, will = answer["state_id"], answer["user_id"], answer["will"]
    if will["do"] == "correct":
        await routes_states.corrected(request, state_id, will["new"], will["reason"], owner)
    else:
        until = will["new"]["valid_to"]
        at = None if until is None else parse_time(until)
        await routes_states.end_state(request, state_id, will["reason"], at, owner)
    return Links().state(state_id)


VIEW = View(
    "/states/{state_id}/change", change, "change.html", "change.title", "change.about",
    role="write", act=act,
)  # fmt: skip
