"""View: a user. The context pack for an agent; ended states; preferences; mood and mastery over
time."""

import time

from starlette.requests import Request

from streams.context.request import MAX_TOKENS, PackRequest
from streams.context.tokenizer import tokenizer
from streams.point_in_time import user as chronicle
from streams.serving.http import routes_context
from streams.serving.http.route import AsOf, KnownAt, UserInPath, ask_history, serving, tenant_of
from streams.serving.http.routes_context import Budget, CurrentSession, QuestionText
from streams.serving.inspector.api_calls import Json
from streams.serving.inspector.view import View, clocks


async def person(
    request: Request,
    user_id: UserInPath,
    q: QuestionText = None,
    session_id: CurrentSession = None,
    max_tokens: Budget = MAX_TOKENS,
    as_of: AsOf = None,
    known_at: KnownAt = None,
) -> Json:
    """A user's context pack, and its sources."""
    server, tenant = serving(request), tenant_of(request)
    at = time.time_ns() // 1000 if as_of is None else as_of
    question = PackRequest(
        user_id=user_id, at=at, text=q, session_id=session_id, max_tokens=max_tokens,
        known_at=known_at, count=tokenizer(),
    )  # fmt: skip
    history = await ask_history(
        request, "user", [("users", user_id)], chronicle.past, user_id, at, known_at
    )
    is_now = as_of is None and known_at is None
    ask = routes_context.now if is_now else routes_context.then
    user, session = await ask(server, tenant, question)
    pack = await routes_context.packed(server, tenant, question, user, session)
    missing = pack.pop("missing")
    return {
        **clocks(as_of, known_at),
        "user_id": user_id,
        "q": q,
        "session_id": session_id,
        "pack": pack,
        "preferences": user["preferences"] if user else [],
        **history,
        "missing": missing,
    }


VIEW = View("/users/{user_id}", person, "person.html", "person.title", "person.about")
