"""`/v1/users/{user_id}/context`: a user's memory as text for a prompt."""

import time
from typing import Annotated

from fastapi import Query
from starlette.requests import Request
from starlette.responses import Response

from schemas.base import Id
from schemas.context import ContextPack
from schemas.validation_text import list_of, one_of
from streams.context import FORMATS, SECTIONS, PackRequest, load
from streams.context.load import session_of
from streams.context.request import MAX_TOKENS, MOST
from streams.context.tokenizer import tokenizer
from streams.errors import UsageError
from streams.observability import memory_spans
from streams.observability.memory_spans import Operation
from streams.search import Recall
from streams.serving.http import documents
from streams.serving.http.problems import Fault, Problem, invalid
from streams.serving.http.route import (
    AsOf,
    Endpoints,
    KnownAt,
    Serving,
    UserInPath,
    reply,
    serving,
    tenant_of,
)

Json = load.Json

QuestionText = Annotated[
    str | None,
    Query(min_length=1, max_length=2000, description="The user's question; facts and turns about "
          "it are recalled."),
]  # fmt: skip
CurrentSession = Annotated[
    Id | None, Query(description="Current session: what was decided in it is shown.")
]
Budget = Annotated[int, Query(ge=1, le=MOST, description="Maximum tokens of the text.")]
SectionNames = Annotated[
    str | None,
    Query(
        pattern=list_of(SECTIONS),
        description=f"Only these, comma-separated: {', '.join(SECTIONS)}.",
    ),
]
Format = Annotated[str, Query(pattern=one_of(FORMATS), description="Form of the text.")]


api = Endpoints()


@api.add(
    "GET", "/v1/users/{user_id}/context", "users", ContextPack,
    operation=Operation("search_memory", "context"), errors=(422, 429, 503),
)  # fmt: skip
async def context(
    request: Request,
    user_id: UserInPath,
    q: QuestionText = None,
    session_id: CurrentSession = None,
    max_tokens: Budget = MAX_TOKENS,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    sections: SectionNames = None,
    format: Format = "markdown",
) -> Response:
    """A context pack: the part of a user's memory that matters for the next answer, as text for a
    prompt. An unknown user has an empty pack."""
    server, tenant = serving(request), tenant_of(request)
    question = PackRequest(
        user_id=user_id,
        at=time.time_ns() // 1000 if as_of is None else as_of,
        text=q,
        session_id=session_id,
        max_tokens=max_tokens,
        known_at=known_at,
        sections=tuple(dict.fromkeys(sections.split(","))) if sections else SECTIONS,
        format=format,
        count=tokenizer(),
    )
    past = as_of is not None or known_at is not None
    user, session = await (then if past else now)(server, tenant, question)
    return reply(await packed(server, tenant, question, user, session))


async def packed(
    server: Serving, tenant: str, question: PackRequest, user: Json | None, session: Json | None
) -> Json:
    """The context pack of a user and a session, with matching turns."""
    missing: list[str] = []
    recall = await _recalled(server, tenant, question, missing)
    pack = load.build(question, user, session, recall)
    document = load.Context(pack, user is not None)
    memory_spans.found(
        len(pack.items), lambda: [{"id": item.id, "content": item.text} for item in pack.items]
    )
    return {**document.document(question), "missing": missing}


async def now(
    server: Serving, tenant: str, question: PackRequest
) -> tuple[Json | None, Json | None]:
    """The user's and the session's current documents. Raises Problem."""
    user_rows = await server.backend.rows("users", tenant, question.user_id)
    user = documents.remembered(*user_rows, question.at)
    session = None
    if load.needs_session(question):
        assert question.session_id is not None
        session_rows = await server.backend.rows("sessions", tenant, question.session_id)
        try:
            session = session_of(*session_rows, question.user_id)
        except UsageError as error:
            field, _, reason = str(error).partition(": ")
            raise invalid([Fault(field, reason)]) from None
    return user, session


async def then(
    server: Serving, tenant: str, question: PackRequest
) -> tuple[Json | None, Json | None]:
    """The same documents as of another time, from the history."""
    user = await server.past.ask(
        "user",
        tenant,
        lambda root: load.user_documents(root, tenant, question),
        of=[("users", question.user_id)],
    )
    session = await server.past.ask(
        "session",
        tenant,
        lambda root: load.session_documents(root, tenant, question),
        of=[] if question.session_id is None else [("sessions", question.session_id)],
    )
    return user, session


async def _recalled(
    server: Serving, tenant: str, question: PackRequest, missing: list[str]
) -> Recall | None:
    """Matches of the query. If the search is unavailable, the pack is ordered by recency, and
    `missing` contains the reason."""
    query = load.search_query(question)
    if query is None:
        return None
    try:
        return await server.past.recall(tenant, query)
    except Problem as problem:
        if problem.status not in (501, 503):
            raise
        missing.append(f"turns: {problem.detail}")
        return None
