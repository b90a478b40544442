"""`GET /v1/users` and `GET /v1/sessions`: pages of who and what there is, with counts."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.admin_replies import SessionList, UserList
from tests.serving.serving import serving
from tests.serving.test_api_memory import ok
from tests.serving.tiers import TIERS
from tests.waiting import until

AT = "2026-03-01T09:30:00Z"


def turn(number: int, session: str, user: str | None, **more: Any) -> dict[str, Any]:
    return {
        "type": "turn", "event_id": f"{session}-{number}", "session_id": session, "user_id": user,
        "occurred_at": f"2026-03-{number:02}T09:30:00Z", "user_input": "I live in Ghent.",
        "agent_answer": "Noted.", **more,
    }  # fmt: skip


def plan(user: str) -> dict[str, Any]:
    return {
        "type": "write_plan", "plan_id": f"plan-{user}", "user_id": user, "occurred_at": AT,
        "extractor": {"name": "test"},
        "state_updates": [
            {"kind": "fact", "state_id": f"home-{user}", "body_text": "Lives in Ghent.",
             "reason": "said"},
            {"kind": "fact", "state_id": f"trip-{user}", "body_text": "Was in Oslo.",
             "reason": "said", "valid_to": "2026-03-02T00:00:00Z"},
        ],
        "preference_updates": [
            {"op": "confirm", "domain": "food", "polarity": "like", "subject": "tea",
             "confidence": 0.9, "reason": "said"},
        ],
    }  # fmt: skip


def users_of(client: httpx.Client, prefix: str, **query: Any) -> list[dict[str, Any]]:
    found = ok(client.get("/v1/users", params={"prefix": prefix, **query}))
    UserList.model_validate(found)
    return list(found["users"])


def sessions_of(client: httpx.Client, **query: Any) -> list[dict[str, Any]]:
    found = ok(client.get("/v1/sessions", params=query))
    SessionList.model_validate(found)
    return list(found["sessions"])


def test_users_and_sessions_with_their_counts(api: httpx.Client) -> None:
    mark = f"list-{uuid4()}"
    ada, bo = f"{mark}-ada", f"{mark}-bo"
    records = [
        turn(1, f"{mark}-s1", ada),
        turn(2, f"{mark}-s1", bo),
        turn(3, f"{mark}-s2", ada),
        turn(4, f"{mark}-s3", None),
        plan(ada),
    ]
    ok(api.post("/v1/records", json=records, headers={"Prefer": "wait=30"}))
    first, second = until(
        lambda: users_of(api, mark),
        lambda found: len(found) == 2 and sum(one["states"] for one in found) == 1,
    )
    assert first == {
        "user_id": ada, "last_active": "2026-03-03T09:30:00Z", "turns": 2, "sessions": 2,
        "states": 1, "preferences": 1,
    }  # fmt: skip
    assert (second["user_id"], second["turns"], second["states"]) == (bo, 1, 0)
    found = sessions_of(api, prefix=mark)
    assert [one["session_id"][-2:] for one in found] == ["s3", "s2", "s1"]
    assert [one["user_id"] for one in found] == [None, ada, ada]
    assert found[2] == {
        "session_id": f"{mark}-s1", "user_id": ada, "users": 2, "turns": 2, "memory_items": 0,
        "first_line": "I live in Ghent.", "started_at": "2026-03-01T09:30:00Z",
        "last_active": "2026-03-02T09:30:00Z",
    }  # fmt: skip
    assert [one["session_id"] for one in sessions_of(api, user_id=bo)] == [f"{mark}-s1"]
    assert [one["user_id"] for one in users_of(api, mark, to="2026-03-02")] == [bo]
    assert [one["user_id"] for one in users_of(api, mark, **{"from": "2026-03-03"})] == [ada]


def test_a_session_is_listed_by_the_first_line_of_its_first_turn(api: httpx.Client) -> None:
    """But not if that turn asks not to be kept, or was deleted."""
    mark = f"line-{uuid4()}"
    words = ["  Tea?\nOr coffee?", "Please don't store this, but I'm ill.", "Delete me.", "é" * 200]
    records = [
        turn(number % 2 + 1, f"{mark}-{number // 2}", mark, user_input=text)
        for number, text in enumerate(text for said in words for text in (said, "And milk?"))
    ]
    ok(api.post("/v1/records", json=records, headers={"Prefer": "wait=30"}))
    ok(api.delete(f"/v1/messages/{mark}-2-1", params={"session_id": f"{mark}-2"}))
    lines = until(
        lambda: [one["first_line"] for one in sessions_of(api, prefix=mark, order="id")],
        lambda lines: len(lines) == 4 and lines[2] is None,
    )
    assert lines == ["Tea?", None, None, "é" * 120]


@pytest.mark.parametrize("order", ["last_active", "id"])
def test_pages_lead_through_the_whole_list(api: httpx.Client, order: str) -> None:
    mark = f"pages-{uuid4()}"
    records = [turn(1 + number % 3, f"{mark}-{number}", f"{mark}-{number}") for number in range(7)]
    ok(api.post("/v1/records", json=records, headers={"Prefer": "wait=30"}))
    until(lambda: users_of(api, mark), lambda found: len(found) == 7)
    for path, name in (("/v1/users", "users"), ("/v1/sessions", "sessions")):
        query = {"prefix": mark, "order": order}
        whole = ok(api.get(path, params=query))
        assert whole["next"] is None
        paged: list[Any] = []
        cursor: str | None = ""
        while cursor is not None:
            page = ok(
                api.get(path, params=query | {"limit": 2} | ({"cursor": cursor} if cursor else {}))
            )
            paged += page[name]
            cursor = page["next"]
        assert paged == whole[name]
        assert len(paged) == 7


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"order": "turns"}, "order"),
        ({"cursor": "x"}, "cursor"),
        ({"limit": 0}, "limit"),
        ({"from": "yesterday"}, "from"),
        ({"prefix": "x" * 129}, "prefix"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_its_field(
    api: httpx.Client, query: dict[str, Any], field: str
) -> None:
    for path in ("/v1/users", "/v1/sessions"):
        reply = api.get(path, params=query)
        assert reply.status_code == 422
        assert reply.json()["errors"][0]["field"] == field


def test_a_server_that_knows_nobody_lists_nobody(tmp_path: Path) -> None:
    with serving("--history", tmp_path / "history") as server:
        assert ok(server.client.get("/v1/users")) == {"users": [], "next": None}
        assert ok(server.client.get("/v1/sessions")) == {"sessions": [], "next": None}


@pytest.mark.nightly
@pytest.mark.parametrize("tier", TIERS)
def test_both_tiers_list_the_same(tier: str, tmp_path: Path) -> None:
    records = [turn(1, "s1", "ada"), turn(2, "s1", "bo"), turn(3, "s2", "ada"), plan("ada")]
    with TIERS[tier](tmp_path) as here, serving(*here.options) as server:
        server.until("/readyz", 200)
        assert set(server.endings(records)) <= {"applied", "accepted"}
        here.settle()
        server.until("/readyz", 200)
        found = until(
            lambda: users_of(server.client, ""),
            lambda found: sum(one["turns"] + one["states"] for one in found) == 4,
        )
        names = "user_id", "turns", "sessions", "states"
        told = [tuple(one[name] for name in names) for one in found]
        assert told == [("ada", 2, 2, 1), ("bo", 1, 1, 0)]
        assert [one["session_id"] for one in sessions_of(server.client)] == ["s2", "s1"]
