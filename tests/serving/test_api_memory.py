"""The memory endpoints over real sockets: the published examples, and other requests."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from threading import Event
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.learner import MemorySummary, UserLearningProfile
from schemas.session import SessionContext
from streams.folds.outcome import Outcome
from streams.serving.backends.embedded import EmbeddedBackend
from streams.serving.backends.fold_thread import IngestThread
from streams.serving.http.app import create_app
from tests.serving.serving import serving
from tests.waiting import WITHIN

LIMITS = "微积分-极限"
USER_UPDATE = {
    "user_id": "u123",
    "event": {
        "intent": "quiz",
        "topic": LIMITS,
        "artifact": "quiz_set",
        "metadata": {"difficulty": "easy", "correct_rate": 0.4},
    },
}
SESSION_UPDATE = {"session_id": "s456", "intent": "quiz", "topic": LIMITS, "artifact": "quiz_set"}


def ok(reply: httpx.Response, status: int = 200) -> Any:
    """The reply's JSON."""
    assert reply.status_code == status, reply.text
    return reply.json()


def fields(reply: httpx.Response, status: int = 422) -> list[str]:
    """The fields that a problem names."""
    assert reply.headers["content-type"] == "application/problem+json"
    problem = ok(reply, status)
    assert problem["status"] == status and problem["type"].startswith("/problems/")
    return [one["field"] for one in problem.get("errors", [])]


def test_the_published_examples_request_by_request(tmp_path: Path) -> None:
    """On a server that knows nobody: §3.3, §3.4, then §3.1, §3.2 and §2.3 say what they did."""
    with serving("--history", tmp_path / "history") as server:
        _published_examples(server.client)


def _published_examples(api: httpx.Client) -> None:
    profile = ok(api.post("/memory/user/update", json=USER_UPDATE))
    assert profile["mastery"] == {LIMITS: "weak"}
    assert profile["history"] == {
        "quiz_sessions": 1,
        "homework_help_count": 0,
        "topics_visited": [LIMITS],
    }
    assert ok(api.get("/memory/user/u123")) == profile
    UserLearningProfile.model_validate(profile)

    context = ok(api.post("/memory/session/update", json=SESSION_UPDATE))
    assert context["recent_intents"] == ["quiz"]
    assert (context["current_topic"], context["last_artifact"]) == (LIMITS, "quiz_set")
    assert ok(api.get("/memory/session/s456")) == context
    SessionContext.model_validate(context)

    summary = ok(api.get("/memory/summary?session_id=s456&user_id=u123"))
    MemorySummary.model_validate(summary)
    assert summary == {
        "topic_hint": LIMITS,
        "user_mastery_hint": "weak",
        "known": True,
        "recent_behavior": "用户刚做过极限练习题",
    }


def test_a_better_answer_makes_a_weak_topic_medium(api: httpx.Client) -> None:
    user = uuid4().hex
    for rate, mastery in ((0.4, "weak"), (0.8, "medium")):
        event = {"topic": "t", "metadata": {"difficulty": "easy", "correct_rate": rate}}
        profile = ok(api.post("/memory/user/update", json={"user_id": user, "event": event}))
        assert profile["mastery"] == {"t": mastery}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ("ja", "ユーザーは极限の練習問題を解いたところです"),
        ("en-GB", "The user has just done a quiz on 极限"),
        ("fr, en;q=0.2, zh-CN;q=0.9", "用户刚做过极限练习题"),
        ("fr, *", "用户刚做过极限练习题"),
        ("zh;q=0, en;q=x", "用户刚做过极限练习题"),
    ],
)
def test_a_summary_speaks_the_language_asked_for(api: httpx.Client, asked: str, said: str) -> None:
    session = uuid4().hex
    ok(api.post("/memory/session/update", json=SESSION_UPDATE | {"session_id": session}))
    headers = {"accept-language": asked}
    summary = ok(api.get(f"/memory/summary?session_id={session}", headers=headers))
    assert summary["recent_behavior"] == said


def test_a_summary_of_the_sample_takes_the_sessions_user(api: httpx.Client) -> None:
    """The question names no user: the session's turns do."""
    with_user = ok(api.get("/memory/summary?session_id=lin-calculus&user_id=lin"))
    assert ok(api.get("/memory/summary?session_id=lin-calculus")) == with_user
    assert with_user["known"] is True


def test_a_stranger_is_a_new_user_and_no_error(api: httpx.Client) -> None:
    summary = ok(api.get("/memory/summary?session_id=nobody&user_id=nobody"))
    assert summary == {
        "topic_hint": None,
        "user_mastery_hint": "weak",
        "known": False,
        "recent_behavior": "New user",
    }
    assert fields(api.get("/memory/summary")) == ["session_id"]


@pytest.mark.parametrize("path", ["/memory/user/nobody", "/memory/session/nobody"])
def test_who_is_unknown_is_not_found(api: httpx.Client, path: str) -> None:
    assert fields(api.get(path), 404) == []


def test_the_same_idempotency_key_writes_once(api: httpx.Client) -> None:
    user = uuid4().hex
    headers = {"idempotency-key": f"key of {user}"}
    for _ in range(3):
        profile = ok(
            api.post("/memory/user/update", json=USER_UPDATE | {"user_id": user}, headers=headers)
        )
        assert profile["history"]["quiz_sessions"] == 1
    other = {"idempotency-key": "another"}
    again = api.post("/memory/user/update", json=USER_UPDATE | {"user_id": user}, headers=other)
    assert ok(again)["history"]["quiz_sessions"] == 2


def test_a_key_is_of_one_user_and_not_of_what_was_refused(api: httpx.Client) -> None:
    one, two = uuid4().hex, uuid4().hex
    headers = {"idempotency-key": f"key of {one}"}
    picture = {"note": "data:image/png;base64," + "A" * 64}
    refused = {"user_id": one, "event": {"intent": "quiz"}} | picture
    assert fields(api.post("/memory/user/update", json=refused, headers=headers)) == ["note"]
    for user in (one, two):
        update = {"user_id": user, "event": {"intent": "quiz"}}
        profile = ok(api.post("/memory/user/update", json=update, headers=headers))
        assert profile["user_id"] == user and profile["history"]["quiz_sessions"] == 1


def test_a_signal_id_with_other_content_is_a_conflict(api: httpx.Client) -> None:
    session = uuid4().hex
    update = {"session_id": session, "signal_id": "one", "occurred_at": "2026-03-01T09:30:00Z"}
    for _ in range(2):
        ok(api.post("/memory/session/update", json=update | {"intent": "quiz"}))
    conflict = api.post("/memory/session/update", json=update | {"intent": "notes"})
    assert fields(conflict, 409) == ["signal_id"]


def test_a_signal_id_sent_again_without_a_time_writes_once(api: httpx.Client) -> None:
    """The times of the two requests are no reason to call it another signal."""
    update = {"session_id": uuid4().hex, "signal_id": "one", "intent": "quiz"}
    for _ in range(2):
        reply = ok(api.post("/memory/session/update", json=update))
        assert reply["recent_intents"] == ["quiz"]


def test_an_update_too_large_or_too_deep_is_refused(api: httpx.Client) -> None:
    large = {"session_id": "s", "list": [{}] * 1_000_000}
    assert fields(api.post("/memory/session/update", json=large), 413) == []
    for depth in (100, 300, 900):
        deep = '{"session_id": "s", "x": %s}' % ("[" * depth + "]" * depth)
        headers = {"content-type": "application/json"}
        fields(api.post("/memory/session/update", content=deep, headers=headers))


@pytest.mark.parametrize(
    ("topic", "said"), [("calculus-", "a quiz on calculus-"), ("a - limits", "a quiz on limits")]
)
def test_a_summary_names_a_topic_however_it_is_spelt(
    api: httpx.Client, topic: str, said: str
) -> None:
    session = uuid4().hex
    update = {"session_id": session, "intent": "quiz", "topic": topic}
    ok(api.post("/memory/session/update", json=update))
    summary = ok(api.get("/memory/summary", params={"session_id": session}))
    assert summary["recent_behavior"].endswith(said)


class Lent(EmbeddedBackend):
    """Its store is lent to another command as soon as a write has been applied."""

    async def submit(self, *posted: Any, **options: Any) -> list[Outcome]:
        outcomes = await super().submit(*posted, **options)
        self._folded.clear()
        self._store, self._why = None, "the history is lent"
        return outcomes


def test_a_write_that_was_applied_is_not_answered_as_if_it_was_not(tmp_path: Path) -> None:
    """A 503 would have it sent again, and counted twice."""

    async def ask() -> httpx.Response:
        async with Lent(tmp_path / "history") as memory:
            store = memory._store
            transport = httpx.ASGITransport(create_app(memory))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
                reply = await api.post("/memory/user/update", json=USER_UPDATE)
            memory._store = store
            return reply

    assert ok(asyncio.run(ask()), 202)["look"] == "/memory/user/u123"


@asynccontextmanager
async def unfolded(history: Path) -> AsyncIterator[tuple[httpx.AsyncClient, Event]]:
    """A server in this process that folds nothing until the event is set."""
    fold, apply = Event(), IngestThread._apply

    def apply_then(*given: Any) -> Any:
        fold.wait()
        return apply(*given)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(IngestThread, "_apply", apply_then)
        async with EmbeddedBackend(history) as memory:
            transport = httpx.ASGITransport(create_app(memory))
            async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as api:
                try:
                    yield api, fold
                finally:
                    fold.set()


async def until_found(api: httpx.AsyncClient, path: str) -> httpx.Response:
    """The reply, once it is 200."""
    async with asyncio.timeout(WITHIN):
        while (reply := await api.get(path)).status_code != 200:
            await asyncio.sleep(0.01)
    return reply


async def test_who_does_not_wait_is_told_where_to_look(tmp_path: Path) -> None:
    session = f"a/{uuid4().hex}"
    async with unfolded(tmp_path / "history") as (api, fold):
        update = SESSION_UPDATE | {"session_id": session}
        headers = {"prefer": "respond-async"}
        reply = await api.post("/memory/session/update", json=update, headers=headers)
        accepted = ok(reply, 202)
        assert accepted["ending"] == "accepted"
        assert reply.headers["location"] == accepted["look"]
        fold.set()
        assert ok(await until_found(api, accepted["look"]))["session_id"] == session


def test_what_must_not_be_kept_is_not(api: httpx.Client) -> None:
    session = uuid4().hex
    update = SESSION_UPDATE | {"session_id": session, "source": "meta_request"}
    reply = api.post("/memory/session/update", json=update)
    assert (reply.status_code, reply.content) == (204, b"")
    assert api.get(f"/memory/session/{session}").status_code == 404


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, ["session_id"]),
        ({"session_id": ""}, ["session_id"]),
        ({"session_id": "x" * 129}, ["session_id"]),
        ({"session_id": "s", "intent": 3}, ["intent"]),
        ({"session_id": "s", "occurred_at": "yesterday"}, ["occurred_at"]),
        ([], ["body"]),
    ],
)
def test_a_wrong_body_is_told_by_field(api: httpx.Client, body: Any, named: list[str]) -> None:
    assert fields(api.post("/memory/session/update", json=body)) == named


def test_a_wrong_event_is_told_by_field(api: httpx.Client) -> None:
    body = {"user_id": "u", "event": {"metadata": {"correct_rate": 1.5}}}
    named = fields(api.post("/memory/user/update", json=body))
    assert named == ["event.metadata.correct_rate"]


def test_a_body_of_another_tenant_is_refused(api: httpx.Client) -> None:
    for body in ({"tenant": "other"}, {"event": {"tenant": "other"}}):
        update = {"user_id": "u", "event": {}} | body
        assert fields(api.post("/memory/user/update", json=update), 403) == []


@pytest.mark.parametrize(
    ("content", "kind", "status"),
    [
        (b'{"session_id": "s", "intent": NaN}', "application/json", 400),
        (b'{"session_id": "\xff"}', "application/json", 400),
        (b'{"session_id": "s"', "application/json", 400),
        (b"[" * 5_000, "application/json", 400),
        (b"", "application/json", 400),
        (b"session_id=s", "application/x-www-form-urlencoded", 415),
        (b'{"session_id": "s"}', "application/json; charset=latin-1", 415),
    ],
)
def test_what_is_no_json_is_refused(
    api: httpx.Client, content: bytes, kind: str, status: int
) -> None:
    reply = api.post("/memory/session/update", content=content, headers={"content-type": kind})
    fields(reply, status)
