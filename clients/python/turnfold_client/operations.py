"""The calls of every operation. Made by scripts/generate from schemas/generated/openapi.json."""
# fmt: off
# ruff: noqa: I001

from turnfold_client.calls import (
    NDJSON, Call, Moment, Records, encoded, in_path, key, lines, moment,
)
from turnfold_client.events import SessionEvent
from turnfold_client.models import (
    Accepted, Archive, ContextPack, DeadLetterContent, DeadLetters, Erasure, EventStream,
    Extracted, Health, MemorySummary, MessagesReply, MoodNow, NewMessages, Preference,
    PreferenceCorrection, Ready, RecordsReply, SearchPage, SessionContext, SessionDocument,
    SessionList, SessionMessages, SessionUpdate, State, StateCorrection, States, TaskDocument,
    Timeline, UserDocument, UserLearningProfile, UserList, UserUpdate, Why,
)


def profile(user_id: str) -> Call[UserLearningProfile]:
    """GET /memory/user/{user_id}"""
    return Call("GET", f"/memory/user/{in_path(user_id)}", {200: UserLearningProfile})


def session_context(session_id: str) -> Call[SessionContext]:
    """GET /memory/session/{session_id}"""
    return Call("GET", f"/memory/session/{in_path(session_id)}", {200: SessionContext})


def memory_summary(
    *,
    session_id: str | None = None,
    user_id: str | None = None,
    accept_language: str | None = None,
) -> Call[MemorySummary]:
    """GET /memory/summary"""
    return Call(
        "GET",
        "/memory/summary",
        {200: MemorySummary},
        query={"session_id": session_id, "user_id": user_id},
        headers={"Accept-Language": accept_language},
    )


def update_session(
    body: SessionUpdate,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[SessionContext | Accepted | None]:
    """POST /memory/session/update"""
    content = encoded(body)
    return Call(
        "POST",
        "/memory/session/update",
        {200: SessionContext, 202: Accepted, 204: None},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def update_user(
    body: UserUpdate,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[UserLearningProfile | Accepted | None]:
    """POST /memory/user/update"""
    content = encoded(body)
    return Call(
        "POST",
        "/memory/user/update",
        {200: UserLearningProfile, 202: Accepted, 204: None},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def post_records(
    records: Records,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[RecordsReply]:
    """POST /v1/records"""
    content = lines(records)
    return Call(
        "POST",
        "/v1/records",
        {200: RecordsReply, 202: RecordsReply},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
        kind=NDJSON,
    )


def post_messages(
    body: NewMessages,
    *,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[MessagesReply]:
    """POST /v1/messages"""
    content = encoded(body)
    return Call(
        "POST",
        "/v1/messages",
        {200: MessagesReply, 202: MessagesReply},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def extract(*, prefer: str | None = None) -> Call[Extracted]:
    """POST /v1/extract"""
    return Call(
        "POST",
        "/v1/extract",
        {200: Extracted, 202: Extracted},
        headers={"Prefer": prefer},
    )


def delete_message(
    message_id: str,
    session_id: str,
    *,
    prefer: str | None = None,
) -> Call[RecordsReply]:
    """DELETE /v1/messages/{message_id}"""
    return Call(
        "DELETE",
        f"/v1/messages/{in_path(message_id)}",
        {200: RecordsReply, 202: RecordsReply},
        query={"session_id": session_id},
        headers={"Prefer": prefer},
    )


def users(
    *,
    prefix: str | None = None,
    from_: Moment | None = None,
    to_: Moment | None = None,
    order: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[UserList]:
    """GET /v1/users"""
    return Call(
        "GET",
        "/v1/users",
        {200: UserList},
        query={
            "prefix": prefix,
            "from": moment(from_),
            "to": moment(to_),
            "order": order,
            "limit": limit,
            "cursor": cursor,
        },
    )


def sessions(
    *,
    prefix: str | None = None,
    user_id: str | None = None,
    from_: Moment | None = None,
    to_: Moment | None = None,
    order: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[SessionList]:
    """GET /v1/sessions"""
    return Call(
        "GET",
        "/v1/sessions",
        {200: SessionList},
        query={
            "prefix": prefix,
            "user_id": user_id,
            "from": moment(from_),
            "to": moment(to_),
            "order": order,
            "limit": limit,
            "cursor": cursor,
        },
    )


def session(session_id: str, *, as_of: Moment | None = None) -> Call[SessionDocument]:
    """GET /v1/sessions/{session_id}"""
    return Call(
        "GET",
        f"/v1/sessions/{in_path(session_id)}",
        {200: SessionDocument},
        query={"as_of": moment(as_of)},
    )


def forget_session(session_id: str, *, prefer: str | None = None) -> Call[Erasure]:
    """DELETE /v1/sessions/{session_id}"""
    return Call(
        "DELETE",
        f"/v1/sessions/{in_path(session_id)}",
        {200: Erasure, 202: Erasure},
        headers={"Prefer": prefer},
    )


def timeline(
    session_id: str,
    *,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[Timeline]:
    """GET /v1/sessions/{session_id}/timeline"""
    return Call(
        "GET",
        f"/v1/sessions/{in_path(session_id)}/timeline",
        {200: Timeline},
        query={"limit": limit, "cursor": cursor},
    )


def events(session_id: str, *, last_event_id: str | None = None) -> Call[SessionEvent]:
    """GET /v1/sessions/{session_id}/events"""
    return Call(
        "GET",
        f"/v1/sessions/{in_path(session_id)}/events",
        {200: EventStream},
        headers={"Last-Event-ID": last_event_id},
    )


def task(task_id: str, *, session_id: str | None = None) -> Call[TaskDocument]:
    """GET /v1/tasks/{task_id}"""
    return Call(
        "GET",
        f"/v1/tasks/{in_path(task_id)}",
        {200: TaskDocument},
        query={"session_id": session_id},
    )


def user(user_id: str) -> Call[UserDocument]:
    """GET /v1/users/{user_id}"""
    return Call("GET", f"/v1/users/{in_path(user_id)}", {200: UserDocument})


def forget_user(user_id: str, *, prefer: str | None = None) -> Call[Erasure]:
    """DELETE /v1/users/{user_id}"""
    return Call(
        "DELETE",
        f"/v1/users/{in_path(user_id)}",
        {200: Erasure, 202: Erasure},
        headers={"Prefer": prefer},
    )


def states(
    user_id: str,
    *,
    as_of: Moment | None = None,
    known_at: Moment | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[States]:
    """GET /v1/users/{user_id}/states"""
    return Call(
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


def mood(user_id: str, *, at: Moment | None = None) -> Call[MoodNow]:
    """GET /v1/users/{user_id}/mood"""
    return Call(
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
) -> Call[Why]:
    """GET /v1/states/{state_id}/why"""
    return Call(
        "GET",
        f"/v1/states/{in_path(state_id)}/why",
        {200: Why},
        query={"limit": limit, "cursor": cursor},
    )


def search(
    query: str,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    kind: str | None = None,
    from_: Moment | None = None,
    to_: Moment | None = None,
    as_of: Moment | None = None,
    limit: int | None = None,
    cursor: str | None = None,
    neighbours: int | None = None,
    about: str | None = None,
) -> Call[SearchPage]:
    """GET /v1/search"""
    return Call(
        "GET",
        "/v1/search",
        {200: SearchPage},
        query={
            "q": query,
            "user_id": user_id,
            "session_id": session_id,
            "kind": kind,
            "from": moment(from_),
            "to": moment(to_),
            "as_of": moment(as_of),
            "limit": limit,
            "cursor": cursor,
            "neighbours": neighbours,
            "about": about,
        },
    )


def dead_letters(
    *,
    reason: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[DeadLetters]:
    """GET /v1/dead-letters"""
    return Call(
        "GET",
        "/v1/dead-letters",
        {200: DeadLetters},
        query={"reason": reason, "limit": limit, "cursor": cursor},
    )


def dead_letter(letter_id: str) -> Call[DeadLetterContent]:
    """GET /v1/dead-letters/{letter_id}"""
    return Call("GET", f"/v1/dead-letters/{in_path(letter_id)}", {200: DeadLetterContent})


def session_messages(
    session_id: str,
    *,
    order: str | None = None,
    limit: int | None = None,
    cursor: str | None = None,
) -> Call[SessionMessages]:
    """GET /v1/sessions/{session_id}/messages"""
    return Call(
        "GET",
        f"/v1/sessions/{in_path(session_id)}/messages",
        {200: SessionMessages},
        query={"order": order, "limit": limit, "cursor": cursor},
    )


def context(
    user_id: str,
    *,
    query: str | None = None,
    session_id: str | None = None,
    max_tokens: int | None = None,
    as_of: Moment | None = None,
    known_at: Moment | None = None,
    sections: str | None = None,
    format: str | None = None,
) -> Call[ContextPack]:
    """GET /v1/users/{user_id}/context"""
    return Call(
        "GET",
        f"/v1/users/{in_path(user_id)}/context",
        {200: ContextPack},
        query={
            "q": query,
            "session_id": session_id,
            "max_tokens": max_tokens,
            "as_of": moment(as_of),
            "known_at": moment(known_at),
            "sections": sections,
            "format": format,
        },
    )


def export_user(user_id: str) -> Call[bytes]:
    """GET /v1/users/{user_id}/export"""
    return Call("GET", f"/v1/users/{in_path(user_id)}/export", {200: Archive})


def correct_state(
    state_id: str,
    body: StateCorrection,
    *,
    user_id: str | None = None,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[State | Accepted]:
    """PATCH /v1/states/{state_id}"""
    content = encoded(body)
    return Call(
        "PATCH",
        f"/v1/states/{in_path(state_id)}",
        {200: State, 202: Accepted},
        query={"user_id": user_id},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def end_state(
    state_id: str,
    reason: str,
    *,
    at: Moment | None = None,
    user_id: str | None = None,
    prefer: str | None = None,
) -> Call[State | Accepted]:
    """DELETE /v1/states/{state_id}"""
    return Call(
        "DELETE",
        f"/v1/states/{in_path(state_id)}",
        {200: State, 202: Accepted},
        query={"reason": reason, "at": moment(at), "user_id": user_id},
        headers={"Prefer": prefer},
    )


def correct_preference(
    preference_id: str,
    body: PreferenceCorrection,
    *,
    user_id: str | None = None,
    prefer: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Preference | Accepted]:
    """PATCH /v1/preferences/{preference_id}"""
    content = encoded(body)
    return Call(
        "PATCH",
        f"/v1/preferences/{in_path(preference_id)}",
        {200: Preference, 202: Accepted},
        query={"user_id": user_id},
        headers={"Prefer": prefer, "Idempotency-Key": key(idempotency_key, content)},
        content=content,
    )


def end_preference(
    preference_id: str,
    reason: str,
    *,
    user_id: str | None = None,
    prefer: str | None = None,
) -> Call[Preference | Accepted]:
    """DELETE /v1/preferences/{preference_id}"""
    return Call(
        "DELETE",
        f"/v1/preferences/{in_path(preference_id)}",
        {200: Preference, 202: Accepted},
        query={"reason": reason, "user_id": user_id},
        headers={"Prefer": prefer},
    )


def forget_turn(
    session_id: str,
    event_id: str,
    *,
    prefer: str | None = None,
) -> Call[Erasure]:
    """DELETE /v1/sessions/{session_id}/turns/{event_id}"""
    return Call(
        "DELETE",
        f"/v1/sessions/{in_path(session_id)}/turns/{in_path(event_id)}",
        {200: Erasure, 202: Erasure},
        headers={"Prefer": prefer},
    )


def erasure(erasure_id: str) -> Call[Erasure]:
    """GET /v1/erasures/{erasure_id}"""
    return Call("GET", f"/v1/erasures/{in_path(erasure_id)}", {200: Erasure})


def healthz() -> Call[Health]:
    """GET /healthz"""
    return Call("GET", "/healthz", {200: Health})


def readyz() -> Call[Ready]:
    """GET /readyz"""
    return Call("GET", "/readyz", {200: Ready, 503: Ready})
