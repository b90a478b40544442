"""`/v1`: current documents from the backend's rows, and the past from the history."""

import time
from base64 import b64encode
from typing import Annotated, Any

from fastapi import Path, Query
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse

from schemas import http
from schemas.base import EntityId, Id
from schemas.dead_letters import Reason
from schemas.http import Moment, Since, StateVersion
from schemas.memory import MoodNow, UserDocument
from schemas.session import SessionDocument
from schemas.task import TaskDocument
from schemas.time import format_time, parse_time
from schemas.validation_text import list_of
from streams import history_documents, history_lists
from streams.apps.metrics_registry import SEARCH_SECONDS
from streams.dates.period import PATTERN, parse_period
from streams.folds.session_state import HEADER
from streams.observability import memory_spans
from streams.observability.memory_spans import Operation
from streams.search import Query as SearchQuery
from streams.search.query import CURSOR, KINDS, MAX_LIMIT, MAX_NEIGHBOURS
from streams.serving.backends.backend import Subject
from streams.serving.http import documents, paging
from streams.serving.http.auth import Needs
from streams.serving.http.problems import Fault, invalid, not_found
from streams.serving.http.route import (
    HISTORY_ERRORS,
    LIST_ERRORS,
    ROW_ERRORS,
    STREAM,
    AsOf,
    Endpoints,
    KnownAt,
    Limit,
    SessionInPath,
    UserInPath,
    ask_history,
    known,
    reply,
    serving,
    tenant_of,
)

NEXT = "`next` of the previous page."
OffsetCursor = Annotated[str | None, Query(pattern=paging.OFFSET, description=NEXT)]
PlaceCursor = Annotated[str | None, Query(pattern=paging.PLACE, description=NEXT)]
LetterCursor = Annotated[str | None, Query(pattern=paging.LETTER_PLACE, description=NEXT)]
SearchCursor = Annotated[str | None, Query(pattern=CURSOR, description=NEXT)]
ReasonInQuery = Annotated[Reason | None, Query(description="Only this reason.")]
SearchText = Annotated[
    str, Query(min_length=1, max_length=2000, description="Words to search for.")
]
SearchKinds = Annotated[
    str | None,
    Query(
        pattern=list_of(KINDS),
        description=f"Only these, comma-separated: {', '.join(KINDS)}.",
    ),
]
SearchAbout = Annotated[
    str | None,
    Query(
        json_schema_extra={"pattern": PATTERN},  # `_period` reports errors in more detail
        description="Only hits that name a date in this year, month or day, or between two: "
        "`2023-05`, `2023-05-01..2023-05-14`.",
    ),
]
SearchNeighbours = Annotated[
    int, Query(ge=0, le=MAX_NEIGHBOURS, description="Turns to show on each side of an event.")
]
OnlyUser = Annotated[Id | None, Query(description="Only what concerns this user.")]
OnlySession = Annotated[Id | None, Query(description="Only this session.")]
FromTime = Annotated[
    Since | None,
    Query(alias="from", description="Only hits from this time on: RFC 3339, or a date, which means "
          "its beginning (UTC)."),
]  # fmt: skip
ToTime = Annotated[
    Moment | None,
    Query(alias="to", description="Only hits up to this time: RFC 3339, or a date, which means its "
          "end (UTC)."),
]  # fmt: skip
HitLimit = Annotated[int, Query(ge=1, le=MAX_LIMIT, description="Maximum hits per page.")]
TaskInPath = Annotated[Id, Path(description="Id of the task; a slash in it is `%2F`.")]
SessionOfTask = Annotated[
    Id | None, Query(description="Id of the task's session. Without it the history is searched.")
]
EntityInPath = Annotated[
    EntityId,
    Path(description="Id of a state, preference, session, session memory item, link or thread; a "
         "slash in it is `%2F`."),
]  # fmt: skip
LetterInPath = Annotated[
    str, Path(max_length=2000, description="Id of the dead letter; a slash in it is `%2F`.")
]


def _now() -> int:
    return time.time_ns() // 1000


# --- sessions and tasks -----------------------------------------------------------------------


api = Endpoints()


@api.add("GET", "/v1/sessions/{session_id}", "sessions", SessionDocument, errors=HISTORY_ERRORS)
async def session(request: Request, session_id: SessionInPath, as_of: AsOf = None) -> Response:
    """A session with its conversations, memory and context, now or as of a time."""
    if as_of is not None:
        document = await ask_history(
            request, "session", [("sessions", session_id)],
            history_documents.session, session_id, as_of, _now(),
        )  # fmt: skip
        return reply(document)
    entity = await serving(request).backend.rows("sessions", tenant_of(request), session_id)
    return known(documents.session(*entity, _now()), "session")


@api.add(
    "GET", "/v1/sessions/{session_id}/timeline", "sessions", http.Timeline, errors=HISTORY_ERRORS
)
async def timeline(
    request: Request, session_id: SessionInPath, limit: Limit = None, cursor: PlaceCursor = None
) -> Response:
    """The turns of a session in order, from the history."""
    page, after = serving(request).length(limit), paging.after(cursor)
    turns = await ask_history(
        request, "session", [("sessions", session_id)],
        history_lists.timeline, session_id, of_users=False, after=after, limit=page + 1,
    )  # fmt: skip
    return reply(
        {"session_id": session_id, **_page("turns", turns, page, "occurred_at", "event_id")}
    )


@api.add(
    "GET", "/v1/sessions/{session_id}/events", "sessions", http.EventStream,
    needs=Needs("read", is_stream=True), media=STREAM, errors=ROW_ERRORS,
    headers={"Last-Event-ID": "The id of the last event seen."},
)  # fmt: skip
async def events(request: Request, session_id: SessionInPath) -> Response:
    """The session's document as server-sent events: once now, then on every change. With
    `Last-Event-ID` the first event is sent only if the document has changed since."""
    server, tenant = serving(request), tenant_of(request)
    rows, _ = await server.backend.rows("sessions", tenant, session_id)
    if rows.get(HEADER) is None:
        raise not_found("session")
    if request.method == "HEAD":
        return Response(media_type=STREAM)
    last = request.headers.get("last-event-id")
    stream = server.streams.of(server.backend, tenant, session_id, last)
    return StreamingResponse(stream, media_type=STREAM)


@api.add("GET", "/v1/tasks/{task_id}", "sessions", TaskDocument, errors=HISTORY_ERRORS)
async def task(request: Request, task_id: TaskInPath, session_id: SessionOfTask = None) -> Response:
    """A task: plan, recursions, tool results and status. The history is searched for it if
    `session_id` is omitted."""
    if session_id is None:
        return reply(await ask_history(request, "task", [], history_documents.task, task_id, None))
    rows, rules = await serving(request).backend.rows("sessions", tenant_of(request), session_id)
    return known(documents.task_of(rows, rules, task_id), "task")


# --- users ------------------------------------------------------------------------------------


@api.add("GET", "/v1/users/{user_id}", "users", UserDocument, errors=ROW_ERRORS)
async def user(request: Request, user_id: UserInPath) -> Response:
    """A user's profile, states, preferences and mood, now."""
    entity = await serving(request).backend.rows("users", tenant_of(request), user_id)
    return known(documents.user(*entity, _now()), "user")


@api.add("GET", "/v1/users/{user_id}/states", "users", http.States, errors=HISTORY_ERRORS)
async def states(
    request: Request,
    user_id: UserInPath,
    as_of: AsOf = None,
    known_at: KnownAt = None,
    limit: Limit = None,
    cursor: OffsetCursor = None,
) -> Response:
    """A user's states that were true at `as_of`, as known at `known_at`; both default to now. An
    unknown user has an empty list."""
    at = _now() if as_of is None else as_of
    documents = await ask_history(
        request, "user", [("users", user_id)], history_documents.states, user_id, at, known_at
    )
    page, following = paging.window(documents, serving(request).length(limit), cursor)
    named = StateVersion.model_fields
    return reply(
        {
            "user_id": user_id,
            "as_of": format_time(at),
            "known_at": None if known_at is None else format_time(known_at),
            "states": [{name: state[name] for name in named} for state in page],
            "next": following,
        }
    )


@api.add("GET", "/v1/users/{user_id}/mood", "users", MoodNow, errors=HISTORY_ERRORS)
async def mood(request: Request, user_id: UserInPath, at: AsOf = None) -> Response:
    """A user's mood, now or at a time. It fades between moments of affect."""
    moment = _now() if at is None else at
    rows, _ = await serving(request).backend.rows("users", tenant_of(request), user_id)
    since = documents.mood_since(rows)
    if since is None or since <= moment:
        return known(documents.mood(rows, moment), "mood")
    user_states = await ask_history(
        request, "mood", [("users", user_id)], history_documents.states, user_id, moment, None
    )
    moods = [state for state in user_states if state["kind"] == "long_mood_state"]
    return known(history_documents.mood(moods[0], moment) if moods else None, "mood")


@api.add(
    "GET", "/v1/states/{state_id}/why", "users", http.Why,
    operation=Operation("search_memory", "why"), errors=HISTORY_ERRORS,
)  # fmt: skip
async def why(
    request: Request, state_id: EntityInPath, limit: Limit = None, cursor: OffsetCursor = None
) -> Response:
    """The revisions of a state, preference, session, session memory item, link or thread, each with
    the text of its evidence events. A cited turn without effect has no revisions."""
    rows = await ask_history(request, "state", [], history_lists.revisions, state_id)
    owners: set[Subject] = {
        (kind, row["owner_id"]) for row in rows for kind in ("users", "sessions")
    }
    if owners and serving(request).backend.unwritten(tenant_of(request), *owners):
        rows = await ask_history(request, "state", [*owners], history_lists.revisions, state_id)
    page, following = paging.window(rows, serving(request).length(limit), cursor)
    revisions = [
        {name: revision[name] for name in revision if name != "tenant"} for revision in page
    ]
    memory_spans.found(
        len(revisions),
        lambda: [{"id": revision["revision_id"], "content": revision} for revision in revisions],
    )
    return reply({"entity_id": state_id, "revisions": revisions, "next": following})


def _page(
    name: str, rows: list[dict[str, Any]], length: int, time_field: str, id_field: str
) -> dict[str, Any]:
    """The page of rows that have one entry more, and the cursor of the next page."""
    page = rows[:length]
    last = page[-1] if len(rows) > length else None
    following = paging.write(parse_time(last[time_field]), last[id_field]) if last else None
    return {name: page, "next": following}


# --- search -----------------------------------------------------------------------------------


def _period(about: str) -> tuple[int, int]:
    try:
        return parse_period(about)
    except ValueError as error:
        raise invalid([Fault("about", str(error))]) from None


@api.add(
    "GET", "/v1/search", "search", http.SearchPage,
    operation=Operation("search_memory", "search"), errors=LIST_ERRORS,
)  # fmt: skip
async def search(
    request: Request,
    q: SearchText,
    user_id: OnlyUser = None,
    session_id: OnlySession = None,
    kind: SearchKinds = None,
    since: FromTime = None,
    until: ToTime = None,
    as_of: AsOf = None,
    limit: HitLimit = 10,
    cursor: SearchCursor = None,
    neighbours: SearchNeighbours = 0,
    about: SearchAbout = None,
) -> Response:
    """Searches events, states, preferences and session memory, best hits first. `matches` are the
    matching parts of a hit's text, as [start, end) in characters."""
    server, tenant = serving(request), tenant_of(request)
    query = SearchQuery(
        text=q,
        now=_now(),
        user_id=user_id,
        session_id=session_id,
        kinds=tuple(dict.fromkeys(kind.split(","))) if kind else KINDS,
        since=since,
        until=until,
        as_of=as_of,
        limit=limit,
        cursor=cursor,
        neighbours=neighbours,
        about=None if about is None else _period(about),
    )
    with SEARCH_SECONDS.time():
        results = await server.past.search(tenant, query)
    memory_spans.found(
        len(results.hits), lambda: [{"id": hit.id, "content": hit.text} for hit in results.hits]
    )
    return reply({"hits": results.hits, "next": results.cursor})


# --- dead letters -----------------------------------------------------------------------------


@api.add(
    "GET", "/v1/dead-letters", "operations", http.DeadLetters, needs="admin", errors=HISTORY_ERRORS
)
async def dead_letters(
    request: Request, reason: ReasonInQuery = None, limit: Limit = None, cursor: LetterCursor = None
) -> Response:
    """Records that could not be applied, oldest first."""
    page, after = serving(request).length(limit), paging.after(cursor)
    rows = await ask_history(
        request, "dead letter", [], history_lists.dead_letters, reason, after=after, limit=page + 1
    )
    return reply(_page("dead_letters", rows, page, "recorded_at", "id"))


@api.add(
    "GET", "/v1/dead-letters/{letter_id}", "operations", http.DeadLetterContent,
    needs="admin", errors=HISTORY_ERRORS,
)  # fmt: skip
async def dead_letter(request: Request, letter_id: LetterInPath) -> Response:
    """One dead letter with its content. Write a slash in its id as `%2F`."""
    letter = await ask_history(request, "dead letter", [], history_lists.dead_letter, letter_id)
    fields = {name: letter[name] for name in ("reason", "detail", "key", "headers", "recorded_at")}
    return reply({"id": letter_id, **fields, **_bytes(letter["payload"])})


def _bytes(payload: bytes) -> dict[str, str]:
    try:
        return {"text": payload.decode()}
    except UnicodeDecodeError:
        return {"base64": b64encode(payload).decode()}
