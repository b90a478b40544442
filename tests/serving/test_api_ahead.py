"""Over HTTP a time from the future is refused with its field, and nothing is stored."""

import time
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.base import HOUR, MINUTE
from schemas.time import format_time
from tests.command import turn

AHEAD = {"5 hours": 5 * HOUR, "2099": None}
MESSAGES = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": "hi"}]


def later(ahead: int | None) -> str:
    if ahead is None:
        return "2099-01-01T00:00:00Z"
    return format_time(time.time_ns() // 1000 + ahead)


def requests(session: str, at: str) -> dict[str, tuple[str, dict[str, Any], str]]:
    """Every route that takes a time of what happened: its body, and the field that is wrong."""
    said = [{**one, "created_at": at} for one in MESSAGES]
    return {
        "record": ("/v1/records", turn("e", session_id=session, occurred_at=at), "occurred_at"),
        "messages": (
            "/v1/messages",
            {"user_id": "ann", "session_id": session, "messages": said},
            "messages[0].created_at",
        ),
        "second message": (
            "/v1/messages",
            {"user_id": "ann", "session_id": session, "messages": [MESSAGES[0], said[1]]},
            "messages[1].created_at",
        ),
        "original": (
            "/v1/messages",
            {"user_id": "ann", "session_id": session,
             "messages": [{"original": "kept", "created_at": at}]},
            "messages[0].created_at",
        ),
        "session update": (
            "/memory/session/update",
            {"session_id": session, "topic": "x", "occurred_at": at},
            "occurred_at",
        ),
        "user update": (
            "/memory/user/update",
            {"user_id": session, "event": {"topic": "x"}, "occurred_at": at},
            "occurred_at",
        ),
    }  # fmt: skip


@pytest.mark.parametrize("ahead", AHEAD)
@pytest.mark.parametrize("name", requests("", ""))
def test_a_time_from_the_future_is_refused(api: httpx.Client, name: str, ahead: str) -> None:
    session = uuid4().hex
    path, body, field = requests(session, later(AHEAD[ahead]))[name]
    reply = api.post(path, json=body)
    assert reply.status_code == 422, reply.text
    fault = reply.json()["errors"][0]
    assert fault["field"] == field
    assert fault["reason"].startswith("more than 15 minutes ahead of the log's clock")
    assert api.get(f"/v1/sessions/{session}").status_code == 404
    assert api.get(f"/v1/users/{session}").status_code == 404


@pytest.mark.parametrize("name", requests("", ""))
def test_a_clock_may_be_a_little_ahead(api: httpx.Client, name: str) -> None:
    path, body, _ = requests(uuid4().hex, later(5 * MINUTE))[name]
    assert api.post(path, json=body).status_code == 200


def test_of_several_records_the_others_are_stored(api: httpx.Client) -> None:
    session = uuid4().hex
    records = [
        turn("a", session_id=session),
        turn("b", session_id=session, occurred_at=later(None)),
        turn("c", session_id=session),
    ]
    results = api.post("/v1/records", json=records).json()["results"]
    assert [one["ending"] for one in results] == ["applied", "refused", "applied"]
    assert (results[1]["reason"], results[1]["field"]) == ("invalid", "occurred_at")
