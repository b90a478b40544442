"""One conversation over two servers: its messages become the turns that one server makes of it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from random import Random
from typing import Any

import httpx
import pytest

from schemas.base import SECOND, format_time
from sinks.digest import digest
from tests.command import folded
from tests.kafka.served import START, Served, send_marked
from tests.kafka.working import Working
from tests.serving.serving import serving

pytestmark = pytest.mark.component
Json = dict[str, Any]


@pytest.fixture(scope="module")
def both(
    lasting: Working, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[httpx.Client]]:
    folder = tmp_path_factory.mktemp("serve")
    made = [Served(folder / f"serve-{number}", *lasting.at) for number in (0, 1)]
    try:
        for served in made:
            served.await_ready()
        yield [served.client for served in made]
    finally:
        for served in made:
            served.stop()


def messages(draw: Random, session: str, turns: int) -> Iterator[list[Json]]:
    """The messages of each turn: some have calls and their results, some no answer, some two."""
    number = 0

    def message(role: str, **fields: Any) -> Json:
        nonlocal number
        number += 1
        at = format_time(START + number * SECOND)
        text = {"content": f"{role} says {number}"}
        return {"id": f"{session}-{number}", "role": role, "created_at": at, **text, **fields}

    for turn in range(turns):
        made = [message("system")] * (turn == 0) + [message("user")]
        for _ in range(draw.choice((0, 0, 1, 2))):
            calls = [f"{session}-call-{number}-{at}" for at in range(draw.choice((1, 2)))]
            function = {"type": "function", "function": {"name": "look", "arguments": "{}"}}
            asked = [{"id": call, **function} for call in calls]
            made.append(message("assistant", content=None, tool_calls=asked))
            made += [message("tool", tool_call_id=call) for call in calls]
        yield made + [message("assistant") for _ in range(draw.choice((0, 1, 1, 1, 2)))]


def requests(draw: Random, session: str, turns: int) -> list[list[Json]]:
    """The conversation in pieces. A system message does not end one."""
    pieces: list[list[Json]] = [[]]
    for message in (one for turn in messages(draw, session, turns) for one in turn):
        if pieces[-1] and pieces[-1][-1]["role"] != "system" and draw.random() < 0.6:
            pieces.append([])
        pieces[-1].append(message)
    return pieces


def post(client: httpx.Client, session: str, piece: list[Json], wait: float = 60) -> httpx.Response:
    body = {"user_id": f"user of {session}", "session_id": session, "messages": piece}
    return client.post("/v1/messages", json=body, headers={"prefer": f"wait={wait:g}"})


def told(client: httpx.Client, session: str) -> Json:
    """The session and its tasks."""
    found: Json = client.get(f"/v1/sessions/{session}").json()
    tasks = [talk["task_id"] for talk in found["conversations"]]
    return found | {"tasks": [
        client.get(f"/v1/tasks/{one}", params={"session_id": session}).json() for one in tasks
    ]}  # fmt: skip


def of_one_server(folder: Path, sent: dict[str, list[list[Json]]]) -> tuple[Json, str]:
    """What one server makes of the same pieces, and the digest of its memory."""
    with serving(f"--history={folder}") as server:
        for session, pieces in sent.items():
            for piece in pieces:
                assert post(server.client, session, piece).status_code == 200
        found = {session: told(server.client, session) for session in sent}
    return found, str(digest(folder)["memory"])


def digest_of_topics(lasting: Working, folder: Path, sessions: set[str]) -> str:
    """The digest of the memory that the topics' records make in files."""
    folder.mkdir()
    records = [
        message.value
        for topic in ("turns", "recursions")
        for message in lasting.read(topic)
        if json.loads(message.value)["session_id"] in sessions
    ]
    (folder / "records.ndjson").write_bytes(b"".join(one + b"\n" for one in records))
    folded(folder / "records.ndjson", history=folder / "memory")
    return str(digest(folder / "memory")["memory"])


def test_a_conversation_spread_over_two_servers_is_the_same(
    lasting: Working, both: list[httpx.Client], tmp_path: Path
) -> None:
    """Each request comes to either server, some are not waited for, and some come to both at once,
    as of a client that tries again elsewhere."""
    draw = Random(37)
    sent = {f"spread-{number}": requests(draw, f"spread-{number}", 6) for number in range(4)}
    with ThreadPoolExecutor(8) as threads:

        def converse(session: str, draw: Random) -> None:
            for piece in sent[session]:
                how = draw.random()
                if how < 0.25:  # at both at once
                    replies = list(threads.map(post, both, [session] * 2, [piece] * 2))
                else:
                    replies = [post(draw.choice(both), session, piece, 60 if how < 0.8 else 0)]
                for reply in replies:
                    assert reply.status_code in (200, 202), reply.text
                    assert reply.json()["message_ids"] == [one["id"] for one in piece]

        with ThreadPoolExecutor(len(sent)) as clients:
            list(clients.map(lambda one: converse(one, Random(f"37 {one}")), sent))
    wanted, memory = of_one_server(tmp_path / "one", sent)
    lasting.await_done()
    for client in both:
        for session, pieces in sent.items():
            last = post(client, session, pieces[-1])
            assert (last.status_code, set(last.json()["counts"])) == (200, {"duplicate"})
            assert told(client, session) == wanted[session]
    assert digest_of_topics(lasting, tmp_path / "topics", set(sent)) == memory


def test_whole_turns_of_one_session_may_come_to_both_servers_at_once(
    lasting: Working, both: list[httpx.Client], tmp_path: Path
) -> None:
    session = "at-once"
    pieces = [turn for turn in messages(Random(3), session, 12) if turn[-1]["role"] == "assistant"]
    pieces = [[one for one in turn if one["role"] != "system"] for turn in pieces]
    draw = Random(3)
    with ThreadPoolExecutor(6) as threads:
        replies = list(threads.map(lambda one: post(draw.choice(both), session, one), pieces))
    assert [reply.status_code for reply in replies] == [200] * len(pieces)
    wanted, memory = of_one_server(tmp_path / "one", {session: pieces})
    for client in both:
        assert post(client, session, pieces[0]).json()["counts"].keys() == {"duplicate"}
        assert told(client, session) == wanted[session]
    assert digest_of_topics(lasting, tmp_path / "topics", {session}) == memory


def test_marks_of_transactions_hold_up_no_messages(
    lasting: Working, both: list[httpx.Client]
) -> None:
    """They come behind the records of a mapping, and no worker's position passes the last one."""
    session = "marked"
    send_marked(lasting.settings, session)
    question, answer = ([{"role": role, "content": role}] for role in ("user", "assistant"))
    for client, piece in zip(both, (question, answer), strict=True):
        assert post(client, session, piece).status_code == 200
    # of the server that took the answer: the other one reads it a moment later
    assert [one["agent_answer"] for one in told(both[1], session)["conversations"]] == [
        "hi", "assistant",
    ]  # fmt: skip


def test_a_server_corrects_what_another_has_just_changed(
    lasting: Working, both: list[httpx.Client]
) -> None:
    """Each request finds the state as the one before has left it, whichever server took that."""
    update = {"op": "upsert", "kind": "fact", "state_id": "home", "body_text": "in Leeds"}
    plan = {
        "type": "write_plan", "plan_id": "home", "user_id": "corrected", "extractor": {"name": "t"},
        "occurred_at": format_time(START), "state_updates": [update],
    }  # fmt: skip
    wait = {"prefer": "wait=60"}
    assert both[0].post("/v1/records", json=plan, headers=wait).status_code == 200
    for number in range(40):  # each server is asked for what itself has said last
        told = both[number % 2].patch(
            "/v1/states/home", params={"user_id": "corrected"}, headers=wait,
            json={"reason": "said so", "body_text": f"in town {number % 2}"},
        )  # fmt: skip
        assert told.status_code == 200, told.text
    changes = [one for one in lasting.read("revisions") if one.key == b"default/corrected"]
    assert len(changes) == 41
