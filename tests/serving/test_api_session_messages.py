"""`original` of `POST /v1/messages`, and `GET /v1/sessions/{id}/messages`: messages come back as
they were sent, in order, at once, until they are taken back or their person is forgotten."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.command import turnfold
from tests.serving.serving import Server, serving
from tests.waiting import until

pytestmark = pytest.mark.nightly

ORIGINALS = ['{"a": 2.0, "b": null}', " two  spaces\n", '{"role":"系统"}', "x", "{}", "last"]


def said(index: int) -> dict[str, Any]:
    """Messages of all kinds, some of which memory does not read."""
    spoken: list[dict[str, Any]] = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "I live in Leeds."},
        {},
        {"role": "assistant", "content": "Noted."},
        {"role": "tool", "tool_call_id": "unknown", "content": "12"},
        {"role": "system", "content": "The end."},
    ]
    return spoken[index] | {"original": ORIGINALS[index]}


def add(api: httpx.Client, session: str, *messages: dict[str, Any], key: str = "") -> Any:
    body = {"user_id": session, "session_id": session, "messages": messages}
    headers = {"idempotency-key": key or uuid4().hex, "prefer": "wait=20"}
    reply = api.post("/v1/messages", json=body, headers=headers)
    assert reply.status_code == 200, reply.text
    return reply.json()


def kept(api: httpx.Client, session: str, **query: Any) -> list[dict[str, Any]]:
    reply = api.get(f"/v1/sessions/{session}/messages", params=query)
    assert reply.status_code == 200, reply.text
    found: list[dict[str, Any]] = reply.json()["messages"]
    return found


def originals(api: httpx.Client, session: str, **query: Any) -> list[str]:
    return [one["original"] for one in kept(api, session, **query)]


def test_messages_come_back_as_they_were_sent_however_they_are_cut(api: httpx.Client) -> None:
    for cut in range(1, len(ORIGINALS) + 1):
        session = uuid4().hex
        every = [said(index) for index in range(len(ORIGINALS))]
        for start in range(0, len(every), cut):
            add(api, session, *every[start : start + cut])
            assert originals(api, session) == ORIGINALS[: start + cut], "at once"
        assert originals(api, session, order="newest", limit=2) == ORIGINALS[:-3:-1]
        turns = api.get(f"/v1/sessions/{session}").json()["conversations"]
        assert [(one["user_input"], one["agent_answer"]) for one in turns] == [
            ("I live in Leeds.", "Noted.")
        ]


def test_what_memory_cannot_read_is_said(api: httpx.Client) -> None:
    reply = add(api, uuid4().hex, said(1), said(4))
    assert reply["left_out"] == {"result of a call that the session does not know": 1}
    assert len(reply["message_ids"]) == 2 and len(reply["turns"]) == 1


def test_messages_without_an_original_are_not_listed(api: httpx.Client) -> None:
    session = uuid4().hex
    add(api, session, {"role": "user", "content": "hello"})
    assert kept(api, session) == [] and kept(api, uuid4().hex) == []


def test_a_message_that_is_sent_again_counts_once(tmp_path: Path) -> None:
    """Also where the server has forgotten its key."""
    for times in range(2):
        with serving("--history", tmp_path / "history") as server:
            reply = add(server.client, "s", said(1), said(2), key="k")
            assert reply["counts"] == ({"duplicate": 3} if times else {"applied": 3})
            assert originals(server.client, "s") == ORIGINALS[1:3]


def test_a_message_is_taken_back_once(sample: Server) -> None:
    api, session = sample.client, uuid4().hex
    add(api, session, said(1), said(3))
    newest = kept(api, session, order="newest", limit=1)[0]
    taken = {
        "type": "signal", "scope": "session", "session_id": session, "user_id": session,
        "signal_id": f"takes-back-{newest['id']}", "occurred_at": newest["at"],
        "takes_back": newest["id"],
    }  # fmt: skip
    assert sample.endings([taken]) == ["applied"] and sample.endings([taken]) == ["duplicate"]
    assert originals(api, session) == ORIGINALS[1:2]


@pytest.mark.parametrize("order", ["oldest", "newest"])
def test_pages_have_every_message_once(api: httpx.Client, order: str) -> None:
    """Whatever comes between two pages."""
    session = uuid4().hex
    every = [str(number) for number in range(25)]
    add(api, session, *({"original": one} for one in every))
    found: list[str] = []
    asked: dict[str, Any] = {"limit": 4, "order": order}
    while not found or asked["cursor"]:
        page = api.get(f"/v1/sessions/{session}/messages", params=asked).json()
        found += [one["original"] for one in page["messages"]]
        asked["cursor"] = page["next"]
        if len(found) == 8:
            add(api, session, {"original": "later"})
    assert found == ([*every, "later"] if order == "oldest" else every[::-1])


def test_pages_skip_nothing_where_messages_are_taken_back(sample: Server) -> None:
    """The last one of a page, and one before it."""
    api, session = sample.client, uuid4().hex
    add(api, session, *({"original": str(number)} for number in range(6)))
    path = f"/v1/sessions/{session}/messages"
    page = api.get(path, params={"limit": 3}).json()
    for one in page["messages"][1:]:
        taken = {
            "type": "signal", "scope": "session", "session_id": session, "user_id": session,
            "signal_id": f"takes-back-{one['id']}", "occurred_at": one["at"],
            "takes_back": one["id"],
        }  # fmt: skip
        assert sample.endings([taken]) == ["applied"]
    rest = api.get(path, params={"limit": 3, "cursor": page["next"]}).json()
    assert [one["original"] for one in rest["messages"]] == ["3", "4", "5"]
    assert rest["next"] is None


def test_what_is_not_a_message_is_refused(api: httpx.Client) -> None:
    for message, field in (
        ({"original": 1}, "messages[0].original"),
        ({"role": "x", "original": "{}"}, "messages[0].role"),
        ({"role": "system", "content": "a"}, "messages[0].role"),
    ):
        body = {"user_id": "u", "session_id": uuid4().hex, "messages": [message]}
        reply = api.post("/v1/messages", json=body)
        assert reply.status_code == 422, reply.text
        assert reply.json()["errors"][0]["field"] == field
    signal = {
        "type": "signal", "scope": "user", "user_id": "u", "signal_id": "x", "message": "y",
        "occurred_at": "2026-03-01T09:30:00Z",
    }  # fmt: skip
    reply = api.post("/v1/records", json=signal)
    assert reply.status_code == 422 and "scope session" in reply.text


def test_a_person_who_is_forgotten_leaves_no_message(tmp_path: Path) -> None:
    history = tmp_path / "history"
    with serving("--history", history) as server:
        body = {"session_id": "shared", "messages": [said(1)]}
        for user in ("maya", "noor"):
            server.client.post("/v1/messages", json=body | {"user_id": user})
        only = {"user_id": "maya", "session_id": "own", "messages": [{"original": "{}"}]}
        server.client.post("/v1/messages", json=only)
        assert len(kept(server.client, "shared")) == 2 and len(kept(server.client, "own")) == 1
        done = turnfold("forget", "maya", "--yes", "--history", history)
        assert done.code == 0, done.err
        # the command lends the history back when it has ended
        until(lambda: server.client.get("/v1/sessions/shared/messages").status_code, (200).__eq__)
        left = kept(server.client, "shared")
        assert [one["user_id"] for one in left] == ["noor"]
        assert kept(server.client, "own") == []
