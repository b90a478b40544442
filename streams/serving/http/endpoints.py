"""Every endpoint of the API, once: what answers it, and what it takes and gives."""

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel

from schemas import http, managing
from schemas.base import JsonObject
from schemas.context import ContextPack
from schemas.learner import MemorySummary, UserLearningProfile
from schemas.memory import MoodNow, Preference, State, UserDocument
from schemas.messages import MessagesReply, NewMessages, SessionMessages
from schemas.session import SessionContext, SessionDocument
from schemas.task import TaskDocument
from streams.serving.http import (
    routes_archive,
    routes_context,
    routes_erasure,
    routes_extract,
    routes_health,
    routes_lists,
    routes_memory,
    routes_message_deletion,
    routes_messages,
    routes_preferences,
    routes_reading,
    routes_records,
    routes_session_messages,
    routes_states,
)
from streams.serving.http.route import Route

LIMITS = "微积分-极限"


class Endpoint(NamedTuple):
    """`gives`: status -> the reply's model, or None for no content. `takes`: the body's model, or
    "records". `also`: statuses of problems beyond those that every endpoint can have."""

    method: Literal["GET", "POST", "PATCH", "DELETE"]
    path: str
    call: Any
    tag: str
    gives: Mapping[int, type[BaseModel] | None]
    takes: type[BaseModel] | Literal["records"] | None = None
    also: tuple[int, ...] = ()
    example: JsonObject | None = None

    def route(self) -> Route:
        """As the router takes it."""
        return Route(self.path, self.call, methods=[self.method], tags=[self.tag],
                     response_model=None)  # fmt: skip


WRITTEN = (400, 403, 408, 409, 413, 415, 422, 429, 503, 507)
NOW = (404, 422, 429, 503)
SOUGHT = (422, 429, 501, 503)
THEN = (404, 422, 429, 501, 503)

ENDPOINTS = (
    Endpoint(
        "GET", "/memory/user/{user_id}", routes_memory.profile, "memory",
        {200: UserLearningProfile}, also=NOW,
    ),
    Endpoint(
        "GET", "/memory/session/{session_id}", routes_memory.session_context, "memory",
        {200: SessionContext}, also=NOW,
    ),
    Endpoint(
        "GET", "/memory/summary", routes_memory.memory_summary, "memory",
        {200: MemorySummary}, also=(422, 429, 503),
    ),
    Endpoint(
        "POST", "/memory/user/update", routes_memory.update_user, "memory",
        {200: UserLearningProfile, 202: http.Accepted, 204: None}, http.UserUpdate, WRITTEN,
        {
            "user_id": "u123",
            "event": {
                "intent": "quiz",
                "topic": LIMITS,
                "artifact": "quiz_set",
                "metadata": {"difficulty": "easy", "correct_rate": 0.4},
            },
        },
    ),
    Endpoint(
        "POST", "/memory/session/update", routes_memory.update_session, "memory",
        {200: SessionContext, 202: http.Accepted, 204: None}, http.SessionUpdate, WRITTEN,
        {"session_id": "s456", "intent": "quiz", "topic": LIMITS, "artifact": "quiz_set"},
    ),
    Endpoint(
        "POST", "/v1/records", routes_records.post_records, "records",
        {200: http.RecordsReply, 202: http.RecordsReply}, "records", WRITTEN,
        {
            "type": "turn",
            "event_id": "e1",
            "session_id": "s456",
            "user_id": "u123",
            "occurred_at": "2026-03-01T09:30:00Z",
            "user_input": "什么是极限？",
            "agent_answer": "极限是…",
            "intent": "question",
            "topic": LIMITS,
        },
    ),
    Endpoint(
        "POST", "/v1/messages", routes_messages.post_messages, "records",
        {200: MessagesReply, 202: MessagesReply}, NewMessages, WRITTEN,
        {
            "user_id": "maya",
            "session_id": "chat-1",
            "messages": [
                {"role": "user", "content": "I moved to Oslo."},
                {"role": "assistant", "content": "Welcome to Oslo!"},
            ],
        },
    ),
    Endpoint(
        "POST", "/v1/extract", routes_extract.extract, "records",
        {200: http.Extracted, 202: http.Extracted}, also=(422, 429, 501, 503),
    ),
    Endpoint(
        "DELETE", "/v1/messages/{message_id}", routes_message_deletion.delete_message, "records",
        {200: http.RecordsReply, 202: http.RecordsReply}, also=(404, *WRITTEN),
    ),
    Endpoint(
        "GET", "/v1/sessions", routes_lists.sessions, "sessions",
        {200: managing.SessionList}, also=SOUGHT,
    ),
    Endpoint(
        "GET", "/v1/sessions/{session_id}", routes_reading.session, "sessions",
        {200: SessionDocument}, also=THEN,
    ),
    Endpoint(
        "DELETE", "/v1/sessions/{session_id}", routes_erasure.forget_session, "sessions",
        {200: managing.Erasure, 202: managing.Erasure}, also=(422, 429, 501, 503, 507),
    ),
    Endpoint(
        "DELETE", "/v1/sessions/{session_id}/turns/{event_id}", routes_erasure.forget_turn,
        "sessions", {200: managing.Erasure, 202: managing.Erasure}, also=(422, 429, 501, 503, 507),
    ),
    Endpoint(
        "GET", "/v1/sessions/{session_id}/messages", routes_session_messages.session_messages,
        "sessions", {200: SessionMessages}, also=SOUGHT,
    ),
    Endpoint(
        "GET", "/v1/sessions/{session_id}/timeline", routes_reading.timeline, "sessions",
        {200: http.Timeline}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/sessions/{session_id}/events", routes_reading.events, "sessions",
        {200: http.EventStream}, also=NOW,
    ),
    Endpoint(
        "GET", "/v1/tasks/{task_id}", routes_reading.task, "sessions",
        {200: TaskDocument}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/users", routes_lists.users, "users", {200: managing.UserList}, also=SOUGHT,
    ),
    Endpoint(
        "GET", "/v1/users/{user_id}", routes_reading.user, "users",
        {200: UserDocument}, also=NOW,
    ),
    Endpoint(
        "DELETE", "/v1/users/{user_id}", routes_erasure.forget_user, "users",
        {200: managing.Erasure, 202: managing.Erasure}, also=(422, 429, 501, 503, 507),
    ),
    Endpoint(
        "GET", "/v1/erasures/{erasure_id}", routes_erasure.erasure, "operations",
        {200: managing.Erasure}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/users/{user_id}/context", routes_context.context, "users",
        {200: ContextPack}, also=(422, 429, 503),
    ),
    Endpoint(
        "GET", "/v1/users/{user_id}/export", routes_archive.export_user, "users",
        {200: http.Archive}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/users/{user_id}/states", routes_reading.states, "users",
        {200: http.States}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/users/{user_id}/mood", routes_reading.mood, "users",
        {200: MoodNow}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/states/{state_id}/why", routes_reading.why, "users",
        {200: http.Why}, also=THEN,
    ),
    Endpoint(
        "PATCH", "/v1/states/{state_id}", routes_states.correct_state, "users",
        {200: State, 202: http.Accepted}, http.StateCorrection, (404, 501, *WRITTEN),
        {"reason": "Emma wrote to support: she moved in June", "body_text": "Lives in Leiden."},
    ),
    Endpoint(
        "DELETE", "/v1/states/{state_id}", routes_states.end_state, "users",
        {200: State, 202: http.Accepted}, also=(404, 501, *WRITTEN),
    ),
    Endpoint(
        "PATCH", "/v1/preferences/{preference_id}", routes_preferences.correct_preference, "users",
        {200: Preference, 202: http.Accepted}, http.PreferenceCorrection, (404, 501, *WRITTEN),
        {"reason": "Emma wrote to support: green tea alone", "subject": "green tea"},
    ),
    Endpoint(
        "DELETE", "/v1/preferences/{preference_id}", routes_preferences.end_preference, "users",
        {200: Preference, 202: http.Accepted}, also=(404, 501, *WRITTEN),
    ),
    Endpoint(
        "GET", "/v1/search", routes_reading.search, "search", {200: http.SearchPage}, also=SOUGHT
    ),
    Endpoint(
        "GET", "/v1/dead-letters", routes_reading.dead_letters, "operations",
        {200: http.DeadLetters}, also=THEN,
    ),
    Endpoint(
        "GET", "/v1/dead-letters/{letter_id}", routes_reading.dead_letter, "operations",
        {200: http.DeadLetterWhole}, also=THEN,
    ),
    Endpoint("GET", "/healthz", routes_health.healthz, "operations", {200: http.Health}),
    Endpoint(
        "GET", "/readyz", routes_health.readyz, "operations", {200: http.Ready, 503: http.Ready}
    ),
)  # fmt: skip
