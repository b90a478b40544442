"""View: a person. What is held, as an agent would be handed it; what has ended, and when;
preferences; mood and mastery over time."""

import time
from pathlib import Path
from typing import Any

from starlette.requests import Request

from schemas.time import format_time
from streams import chronicle, listing_then, reading
from streams.context.question import MAX_TOKENS
from streams.listing_then import LAST, Then
from streams.serving.http import routes_context, routes_lists
from streams.serving.http.route import AsOf, KnownAt, UserInPath, serving, tenant_of
from streams.serving.http.routes_context import Budget, CurrentSession, QuestionText
from streams.serving.inspector.asking import Json, told, told_if_there
from streams.serving.inspector.view import View

SESSIONS = 20


async def person(
    request: Request,
    user_id: UserInPath,
    q: QuestionText = None,
    session_id: CurrentSession = None,
    max_tokens: Budget = MAX_TOKENS,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """What is known of a user: the context pack, and what it came from."""
    here, tenant = serving(request), tenant_of(request)
    missing: list[str] = []
    pack = await told(
        routes_context.context(
            request, user_id, q=q, session_id=session_id, max_tokens=max_tokens, as_of=as_of,
            known_at=known_at,
        )
    )  # fmt: skip
    missing += pack.pop("missing")
    at = time.time_ns() // 1000 if as_of is None else as_of

    then = None
    if as_of is not None or known_at is not None:
        then = Then(at, LAST if known_at is None else known_at, limit=SESSIONS)

    def past(root: Path) -> dict[str, Any]:
        held = reading.known_of(root, tenant, user_id, at, known_at)
        return {
            "preferences": held["preferences"],
            "ended": chronicle.ended(root, tenant, user_id, at, known_at),
            "moments": chronicle.moments(root, tenant, user_id, at, known_at),
            "mastery": chronicle.mastery(root, tenant, user_id, at, known_at),
            "steps": chronicle.steps(root, tenant, [user_id]),
            **({"sessions": listing_then.sessions(root, tenant, then, user_id)} if then else {}),
        }

    sessions = then is None and await told_if_there(
        routes_lists.sessions(request, user_id=user_id, limit=SESSIONS), missing
    )
    return {
        "as_of": None if as_of is None else format_time(as_of),
        "known_at": pack["known_at"],
        "user_id": user_id,
        "q": q,
        "session_id": session_id,
        "pack": pack,
        "sessions": sessions["sessions"] if sessions else [],
        **await here.past.ask("user", tenant, past),
        "missing": missing,
    }


VIEW = View("/users/{user_id}", person, "person.html", "person.title", "person.about")
