"""The calls of every operation. Made by scripts/generate from schemas/generated/openapi.json."""
# fmt: off
# ruff: noqa: I001

from schemas.http import (
    Accepted, DeadLetterWhole, DeadLetters, EventStream, Health, MoodNow, Ready, RecordsReply,
    SearchPage, SessionUpdate, States, Timeline, UserDocument, UserUpdate, Why,
)
from schemas.learner import MemorySummary, UserLearningProfile
from schemas.session import SessionContext, SessionDocument
from schemas.task import TaskDocument
from streams.client.asking import NDJSON, Ask, Moment, Records, body, in_path, key, lines, moment
from streams.client.events import SessionEvent


def profile(user_id: str) -> Ask[UserLearningProfile]:
    """GET /memory/user/{user_id}"""
    return Ask("GET", f"/memory/user/{in_path(user_id)}", {200: UserLearningProfile})


def context(session_id: str) -> Ask[SessionContext]:
    """GET /memory/session/{session_id}"""
    return Ask("GET", f"/memory/session/{in_path(session_id)}", {200: SessionContext})


def memory_summary(
    *,
    session_id: str | None = None,
    user_id: str | None = None,
    accept_language: str | None = None,
) -> Ask[MemorySummary]:
    """GET /memory/summary"""
    return Ask(
        "GET",
        "/memory/summary",
        {200: MemorySummary},
        query={"session_id": session_id, "user_id": user_id},
        headers={"Accept-Language": accept_language},
    )


def update_user(
    given: UserUpdate,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[UserLearningProfile | Accepted | None]:
    """POST /memory/user/update"""
    content = body(given)
    return Ask(
        "POST",
        "/memory/user/update",
        {200: UserLearningProfile, 202: Accepted, 204: None},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def update_session(
    given: SessionUpdate,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[SessionContext | Accepted | None]:
    """POST /memory/session/update"""
    content = body(given)
    return Ask(
        "POST",
        "/memory/session/update",
        {200: SessionContext, 202: Accepted, 204: None},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def post_records(
    records: Records,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Ask[RecordsReply]:
    """POST /v1/records"""
    content = lines(records)
    return Ask(
        "POST",
        "/v1/records",
        {200: RecordsReply, 202: RecordsReply},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
        kind=NDJSON,
    )


def session(session_id: str, *, as_of: Moment | None = None) -> Ask[SessionDocument]:
    """GET /v1/sessions/{session_id}"""
    return Ask(
        "GET",
        f"/v1/sessions/{in_path(session_id)}",
        {200: SessionDocument},
        query={"as_of": moment(as_of)},
    )


def timeline(
    session_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Ask[Timeline]:
    """GET /v1/sessions/{session_id}/timeline"""
    return Ask(
        "GET",
        f"/v1/sessions/{in_path(session_id)}/timeline",
        {200: Timeline},
        query={"limit": limit, "cursor": cursor},
    )


def events(session_id: str, *, last_event_id: str | None = None) -> Ask[SessionEvent]:
    """GET /v1/sessions/{session_id}/events"""
    return Ask(
        "GET",
        f"/v1/sessions/{in_path(session_id)}/events",
        {200: EventStream},
        headers={"Last-Event-ID": last_event_id},
    )


def task(task_id: str, *, session_id: str | None = None) -> Ask[TaskDocument]:
    """GET /v1/tasks/{task_id}"""
    return Ask(
        "GET",
        f"/v1/tasks/{in_path(task_id)}",
        {200: TaskDocument},
        query={"session_id": session_id},
    )


def user(user_id: str) -> Ask[UserDocument]:
    """GET /v1/users/{user_id}"""
    return Ask("GET", f"/v1/users/{in_path(user_id)}", {200: UserDocument})


def states(
    user_id: str,
    *,
    as_of: Moment | None = None,
    known_at: Moment | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Ask[States]:
    """GET /v1/users/{user_id}/states"""
    return Ask(
        "GET",
        f"/v1/users/{in_path(user_id)}/states",
        {200: States},
        query={
            "as_of": moment(as_of),
            "known_at": moment(known_at),
            "limit": limit,
            "cursor": cursor,
        },
    )


def mood(user_id: str, *, at: Moment | None = None) -> Ask[MoodNow]:
    """GET /v1/users/{user_id}/mood"""
    return Ask(
        "GET",
        f"/v1/users/{in_path(user_id)}/mood",
        {200: MoodNow},
        query={"at": moment(at)},
    )


def why(
    state_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Ask[Why]:
    """GET /v1/states/{state_id}/why"""
    return Ask(
        "GET",
        f"/v1/states/{in_path(state_id)}/why",
        {200: Why},
        query={"limit": limit, "cursor": cursor},
    )


def search(
    q: str,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    kind: str | None = None,
    from_: Moment | None = None,
    to_: Moment | None = None,
    as_of: Moment | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Ask[SearchPage]:
    """GET /v1/search"""
    return Ask(
        "GET",
        "/v1/search",
        {200: SearchPage},
        query={
            "q": q,
            "user_id": user_id,
            "session_id": session_id,
            "kind": kind,
            "from": moment(from_),
            "to": moment(to_),
            "as_of": moment(as_of),
            "limit": limit,
            "cursor": cursor,
        },
    )


def dead_letters(
    *,
    reason: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Ask[DeadLetters]:
    """GET /v1/dead-letters"""
    return Ask(
        "GET",
        "/v1/dead-letters",
        {200: DeadLetters},
        query={"reason": reason, "limit": limit, "cursor": cursor},
    )


def dead_letter(letter_id: str) -> Ask[DeadLetterWhole]:
    """GET /v1/dead-letters/{letter_id}"""
    return Ask("GET", f"/v1/dead-letters/{in_path(letter_id)}", {200: DeadLetterWhole})


def healthz() -> Ask[Health]:
    """GET /healthz"""
    return Ask("GET", "/healthz", {200: Health})


def readyz() -> Ask[Ready]:
    """GET /readyz"""
    return Ask("GET", "/readyz", {200: Ready, 503: Ready})
