"""`POST /v1/messages` over real sockets, over files and over Kafka: what messages become, what is
refused, and what a request that comes again does."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx
import pytest

from schemas.time import format_time, parse_time
from tests.serving.serving import Server, serving
from tests.serving.test_api_memory import fields, ok
from tests.serving.tiers import TIERS

Json = dict[str, Any]
USER = {"role": "user", "content": "I moved to Oslo."}
ANSWER = {"role": "assistant", "content": "Welcome to Oslo!"}
CALL = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "c1", "type": "function", "function": {"name": "time", "arguments": "{}"}}
    ],
}
RESULT = {"role": "tool", "tool_call_id": "c1", "content": "noon"}


@pytest.fixture(scope="module", params=["files", pytest.param("kafka", marks=pytest.mark.nightly)])
def server(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Server]:
    with (
        TIERS[request.param](tmp_path_factory.mktemp("messages")) as tier,
        serving("--within=60", *tier.options) as server,
    ):
        server.until("/readyz", 200)
        yield server


def add(server: Server, *messages: Json, key: str | None = None, **body: Any) -> httpx.Response:
    """One request, by a user of its own unless one is named."""
    said = {"user_id": "maya", "messages": messages, **body}
    headers = {"idempotency-key": key} if key else {}
    return server.client.post("/v1/messages", json=said, headers=headers)


def fresh() -> str:
    return uuid4().hex


def conversations(server: Server, session_id: str) -> list[Json]:
    """Input, answer and status of each."""
    found: list[Json] = ok(server.session(session_id))["conversations"]
    return [{name: one[name] for name in ("user_input", "agent_answer", "status")} for one in found]


def endings(reply: httpx.Response, status: int = 200) -> list[tuple[str, str]]:
    return [(turn["status"], turn["ending"]) for turn in ok(reply, status)["turns"]]


def test_a_question_and_its_answer_are_a_turn(server: Server) -> None:
    session = fresh()
    reply = ok(add(server, USER, ANSWER, session_id=session))
    (turn,) = reply["turns"]
    assert reply["session_id"] == session and reply["counts"] == {"applied": 2}
    assert turn == {"id": reply["message_ids"][0], "status": "done", "ending": "applied"}
    assert conversations(server, session) == [
        {"user_input": USER["content"], "agent_answer": ANSWER["content"], "status": "done"}
    ]


def test_an_answer_ends_the_turn_that_waits(server: Server) -> None:
    session = fresh()
    streaming = ANSWER | {"content": "Wel", "status": "in_progress"}
    assert endings(add(server, USER, streaming, session_id=session)) == [("running", "applied")]
    assert endings(add(server, CALL, session_id=session)) == [("running", "applied")]
    assert endings(add(server, RESULT, session_id=session)) == [("running", "applied")]
    ended = ok(add(server, ANSWER, session_id=session))
    assert [(one["status"], one["ending"]) for one in ended["turns"]] == [("done", "applied")]
    assert conversations(server, session) == [
        {"user_input": USER["content"], "agent_answer": ANSWER["content"], "status": "done"}
    ]
    found = ok(server.client.get(f"/v1/tasks/{ended['turns'][0]['id']}?session_id={session}"))
    called, answered = found["recursion_history"]
    assert called["action"]["output"]["tool_calls"][0]["result"] == "noon"
    assert answered["action"]["output"] == {"answer": ANSWER["content"]}
    assert found["global"]["status"] == "completed"


def test_a_question_that_is_not_answered_ends_with_the_next(server: Server) -> None:
    session = fresh()
    add(server, USER, session_id=session)
    assert endings(add(server, USER | {"content": "Hello?"}, session_id=session)) == [
        ("done", "applied"),
        ("running", "applied"),
    ]
    assert [one["status"] for one in conversations(server, session)] == ["done", "running"]


def test_items_of_the_responses_api_are_messages_too(server: Server) -> None:
    session = fresh()
    items: list[Json] = [
        {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Time?"}]},
        {"type": "reasoning", "id": fresh(), "summary": [{"type": "summary_text", "text": "Hm"}]},
        {"type": "function_call", "call_id": "c9", "name": "time", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c9", "output": "noon"},
        {"type": "message", "role": "assistant", "status": "completed",
         "content": [{"type": "output_text", "text": "Noon."}]},
    ]  # fmt: skip
    reply = ok(add(server, *items, session_id=session))
    assert reply["counts"] == {"applied": 5}
    assert conversations(server, session) == [
        {"user_input": "Time?", "agent_answer": "Noon.", "status": "done"}
    ]


def test_of_images_the_description_is_kept_and_no_byte(server: Server) -> None:
    session = fresh()
    image = {
        "type": "image_url",
        "image_url": {"url": "data:image/png;base64,iVBORw0KGgo" + "A" * 64},
    }
    parts = [{"type": "text", "text": "Look"}, image, image | {"description": "a red door"}]
    reply = ok(add(server, {"role": "user", "content": parts}, session_id=session))
    assert reply["left_out"] == {"image without a description": 1}
    assert conversations(server, session)[0]["user_input"] == "Look"


def test_the_same_request_again_is_a_duplicate_and_the_same_words_are_not(server: Server) -> None:
    session, key = fresh(), fresh()
    first = ok(add(server, USER, ANSWER, session_id=session, key=key))
    again = ok(add(server, USER, ANSWER, session_id=session, key=key))
    assert again["counts"] == {"duplicate": 2}
    assert [one["id"] for one in again["turns"]] == [one["id"] for one in first["turns"]]
    assert ok(add(server, USER, ANSWER, session_id=session, key=fresh()))["counts"] == {
        "applied": 2
    }
    assert len(conversations(server, session)) == 2


def test_another_body_under_a_key_changes_nothing(server: Server) -> None:
    session, key = fresh(), fresh()
    add(server, USER, session_id=session, key=key)
    before = ok(server.session(session))
    reply = add(server, USER, ANSWER, session_id=session, key=key)
    assert fields(reply, 409) == ["Idempotency-Key"]
    assert ok(server.session(session)) == before


def test_ids_and_times_may_be_given(server: Server) -> None:
    session = fresh()
    question = USER | {"id": "q", "created_at": 1_767_225_600}
    answer = ANSWER | {"id": "a", "created_at": "2026-01-01T00:00:05Z"}
    first = ok(add(server, question, answer, session_id=session, topic="moving"))
    assert first["message_ids"] == ["q", "a"]
    assert ok(add(server, question, session_id=session, topic="moving"))["counts"] == {
        "duplicate": 1
    }
    document = ok(server.session(session))
    assert document["created_at"] == "2026-01-01T00:00:00Z"
    assert document["updated_at"] == "2026-01-01T00:00:05Z"
    assert document["context"]["current_topic"] == "moving"
    other = add(server, question | {"content": "other"}, answer, session_id=session)
    assert fields(other, 409) == ["messages[0].id", "messages[1].id"]
    assert ok(server.session(session)) == document


def test_the_session_is_the_users_of_the_day(server: Server) -> None:
    user = fresh()

    def session(day: str, **body: Any) -> str:
        said = USER | {"created_at": f"{day}T10:00:00Z"}
        found: str = ok(add(server, said, **{"user_id": user, **body}))["session_id"]
        return found

    assert session("2026-01-01") == session("2026-01-01")
    assert (
        len({session("2026-01-01"), session("2026-01-02"), session("2026-01-01", user_id="x")}) == 3
    )


@pytest.mark.parametrize(
    ("messages", "named"),
    [
        ([], ["messages"]),
        ([USER, {"role": "bishop", "content": "x"}], ["messages[1].role"]),
        ([USER, "x"], ["messages[1]"]),
        ([{"role": "user"}], ["messages[0].content"]),
        ([{"role": "user", "content": 1}], ["messages[0].content"]),
        ([USER, ANSWER | {"content": [{"type": "text", "text": "a"}, {"type": "smell"}]}],
         ["messages[1].content[1].type"]),
        ([ANSWER | {"content": [{"type": "text"}]}], ["messages[0].content[0].text"]),
        ([{"role": "tool", "content": "x"}], ["messages[0].tool_call_id"]),
        ([CALL | {"tool_calls": [{"function": {}}]}], ["messages[0].tool_calls[0].id"]),
        ([USER | {"id": "x"}, ANSWER | {"id": "x"}], ["messages[1].id"]),
        ([USER | {"id": "\n"}], ["messages[0].id"]),
        ([USER, ANSWER | {"created_at": "yesterday"}], ["messages[1].created_at"]),
        *(
            ([USER, ANSWER | {"created_at": at}], ["messages[1].created_at"])
            for at in (-62_135_596_801, -62_135_510_401.5, 253_402_214_400, -1e300, 1e300, 10**30)
        ),
        ([USER | {"status": "in_progress"}, ANSWER], ["messages[0].status"]),
        ([USER, ANSWER, {"role": "system", "content": "x"}], ["messages[2].role"]),
        ([USER, ANSWER, USER | {"content": "x" * 1_000_001}], ["messages[2]"]),
        ([USER] * 1_001, ["messages"]),
        ([USER, {"type": "function_call", "name": "f"}], ["messages[1].call_id"]),
    ],
)  # fmt: skip
def test_one_bad_message_and_nothing_is_written(
    server: Server, messages: list[Any], named: list[str]
) -> None:
    session = fresh()
    assert fields(add(server, *messages, session_id=session)) == named
    assert server.session(session).status_code == 404


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({"user_id": ""}, ["user_id"]),
        ({"user_id": None}, ["user_id"]),
        ({"sesion_id": "s"}, ["sesion_id"]),
        ({"metadata": {"correct_rate": 2}}, ["metadata.correct_rate"]),
    ],
)
def test_a_bad_body_is_named(server: Server, body: Json, named: list[str]) -> None:
    assert fields(add(server, USER, **body)) == named


def test_another_tenant_and_what_is_withheld(server: Server) -> None:
    session = fresh()
    assert add(server, USER, session_id=session, tenant="other").status_code == 403
    hidden = ok(add(server, USER | {"source": "meta_request"}, session_id=session))
    assert hidden["counts"] == {"withheld": 1} and hidden["turns"] == []
    assert server.session(session).status_code == 404


def test_who_does_not_wait_is_answered_at_once_and_stays_in_order(server: Server) -> None:
    """The answer's request comes before its question is applied: it waits for that."""
    session, soon = fresh(), {"prefer": "respond-async"}
    asked = {"user_id": "maya", "session_id": session, "messages": [USER]}
    reply = server.client.post("/v1/messages", json=asked, headers=soon)
    assert reply.status_code in (200, 202)
    assert endings(add(server, ANSWER, session_id=session)) == [("done", "applied")]
    assert len(conversations(server, session)) == 1


def test_a_restarted_server_knows_what_came_before(tmp_path: Path) -> None:
    """No cache: the times of the first are kept, so that nothing is doubled or refused."""
    requests: list[list[Json]] = [[USER], [CALL], [RESULT], [ANSWER], [USER, ANSWER]]
    keys = [fresh() for _ in requests]
    history = tmp_path / "history"

    def say(server: Server) -> list[Json]:
        replies = [
            ok(add(server, *some, session_id="s", key=key))
            for some, key in zip(requests, keys, strict=True)
        ]
        return [reply["counts"] for reply in replies]

    with serving("--history", history) as server:
        assert say(server) == [{"applied": 1}] * 3 + [{"applied": 2}] * 2
        before = ok(server.session("s"))
    with serving("--history", history) as server:
        assert say(server) == [{"duplicate": 1}] * 4 + [{"duplicate": 2}]
        assert ok(server.session("s")) == before
        letters = ok(server.client.get("/v1/dead-letters"))["dead_letters"]
        assert letters == []


def test_times_are_the_servers(server: Server) -> None:
    session = fresh()
    add(server, USER, ANSWER, session_id=session)
    document = ok(server.session(session))
    took = parse_time(document["updated_at"]) - parse_time(document["created_at"])
    assert took == 1, "a microsecond from one message to the next"
    assert format_time(parse_time(document["created_at"])) == document["created_at"]
    assert json.dumps(document)
