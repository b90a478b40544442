"""Two `turnfold serve` over real workers: each answers every key, whatever dies meanwhile."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from threading import Event
from typing import Any

import httpx
import pytest

from streams.broker import Broker
from tests.kafka.served import TOO_LONG, Served
from tests.kafka.working import Working, one_worker

SESSIONS = [f"s-{number}" for number in range(12)]
USERS = [f"u-{number}" for number in range(6)]
WAIT = {"Prefer": "wait=60"}


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    """One of this module's own, which is killed."""
    with Broker.start(short_lived=True) as broker:
        yield broker


@pytest.fixture(scope="module")
def lasting(broker: Broker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Working]:
    with one_worker(tmp_path_factory.mktemp("workers"), broker) as working:
        yield working


@pytest.fixture(scope="module")
def both(
    broker: Broker, lasting: Working, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[list[Served]]:
    """Two of them, ready."""
    folder = tmp_path_factory.mktemp("serve")
    made = [
        Served(folder / f"serve-{number}", "--bootstrap", broker.bootstrap) for number in range(2)
    ]
    try:
        for one in made:
            one.await_ready()
        yield made
    finally:
        for one in made:
            one.stop()


def turn(session: str, number: int) -> dict[str, Any]:
    at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(1_780_000_000 + number))
    return {
        "type": "turn", "event_id": f"{session}-{number}", "session_id": session,
        "user_id": USERS[number % len(USERS)], "occurred_at": at, "source": "chat",
        "user_input": f"question {number}", "agent_answer": "answer",
    }  # fmt: skip


def count_of(reply: httpx.Response) -> int:
    """How many conversations a session has."""
    assert reply.status_code == 200, reply.text
    found: int = reply.json()["conversation_count"]
    return found


def test_a_write_is_read_at_once_where_it_was_made(both: list[Served]) -> None:
    """Each endpoint that writes; the other server has it a moment later."""
    one, other = (served.client for served in both)
    body = {"session_id": "own", "intent": "ask", "topic": "fractions"}
    reply = one.post("/memory/session/update", json=body, headers=WAIT)
    assert (reply.status_code, reply.json()["current_topic"]) == (200, "fractions")
    assert one.get("/memory/session/own").json() == reply.json()

    event = {"intent": "ask", "topic": "fractions"}
    reply = one.post("/memory/user/update", json={"user_id": "own", "event": event}, headers=WAIT)
    assert reply.status_code == 200
    assert one.get("/memory/user/own").json() == reply.json()

    lines = b"\n".join(json.dumps(turn("own", number)).encode() for number in range(3))
    kind = {"Content-Type": "application/x-ndjson", **WAIT}
    reply = one.post("/v1/records", content=lines, headers=kind)
    assert (reply.status_code, reply.json()["counts"]) == (200, {"applied": 3})
    assert count_of(one.get("/v1/sessions/own")) == 3

    deadline = time.monotonic() + TOO_LONG
    while other.get("/v1/sessions/own").json().get("conversation_count") != 3:
        assert time.monotonic() < deadline
        time.sleep(0.02)
    assert other.get("/memory/user/own").json() == one.get("/memory/user/own").json()


def test_every_key_is_answered_through_kills_and_rebalances(
    both: list[Served], lasting: Working
) -> None:
    """No 404 for a session that is known, never fewer turns than the same server has told of, and
    what was acknowledged is there, while a second worker joins and the first one is killed."""
    first = [turn(session, 0) for session in SESSIONS]
    reply = both[0].client.post("/v1/records", json=first, headers=WAIT)
    assert reply.json()["counts"] == {"applied": len(SESSIONS)}
    deadline = time.monotonic() + TOO_LONG
    while any(
        both[1].client.get(f"/v1/sessions/{session}").status_code == 404 for session in SESSIONS
    ):
        assert time.monotonic() < deadline
    over = Event()

    def watch(served: Served) -> int:
        seen = dict.fromkeys(SESSIONS, 0)
        asked = 0
        while not over.is_set():
            for session in SESSIONS:
                count = count_of(served.client.get(f"/v1/sessions/{session}"))
                assert count >= seen[session], f"{session} had {seen[session]}, has {count}"
                seen[session] = count
                asked += 1
            time.sleep(0.02)
        return asked

    def feed() -> int:
        number = 0
        while not over.is_set():
            number += 1
            some = [turn(session, number) for session in SESSIONS]
            reply = both[number % 2].client.post(
                "/v1/records", json=some, headers={"Prefer": "wait=1"}
            )
            assert set(reply.json()["counts"]) <= {"applied", "accepted"}, reply.text
            time.sleep(0.05)
        return number

    with ThreadPoolExecutor(3) as threads:
        watching = [threads.submit(watch, served) for served in both]
        feeding = threads.submit(feed)
        try:
            worker = lasting.workers[-1]
            lasting.start()
            lasting.await_log(": restored ", times=2)
            time.sleep(1)
            worker.kill()
            worker.wait()
            lasting.await_log("restored", times=8)
            time.sleep(1)
        finally:
            over.set()
        assert all(one.result(TOO_LONG) > len(SESSIONS) for one in watching)
        turns = feeding.result(TOO_LONG) + 1
    last = [turn(session, turns) for session in SESSIONS]
    for served in both:
        reply = served.client.post("/v1/records", json=last, headers=WAIT)
        assert set(reply.json()["counts"]) <= {"applied", "duplicate"}
        counts = {count_of(served.client.get(f"/v1/sessions/{one}")) for one in SESSIONS}
        assert counts == {turns + 1}


def test_without_a_worker_a_write_is_202_and_applied_by_the_next(
    both: list[Served], lasting: Working
) -> None:
    client = both[0].client
    lasting.kill()
    body = {"session_id": "later", "topic": "patience"}
    reply = client.post("/memory/session/update", json=body, headers={"Prefer": "wait=0"})
    assert reply.status_code == 202
    assert client.get("/memory/session/later").status_code == 404
    lasting.start()
    deadline = time.monotonic() + TOO_LONG
    while (found := client.get(reply.headers["Location"])).status_code == 404:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    assert found.json()["current_topic"] == "patience"


def test_without_a_broker_503_and_then_well_again(both: list[Served], broker: Broker) -> None:
    client = both[0].client
    known = {"session_id": "mine", "topic": "fractions"}
    assert client.post("/memory/session/update", json=known, headers=WAIT).status_code == 200
    (node,) = broker.nodes
    node.kill()
    deadline = time.monotonic() + TOO_LONG
    while (reply := client.get("/memory/session/mine")).status_code == 200:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    body = {"session_id": "mine", "topic": "silence"}
    for refused in (reply, client.post("/memory/session/update", json=body)):
        assert refused.status_code == 503
        assert int(refused.headers["Retry-After"]) >= 1
        assert refused.headers["Content-Type"] == "application/problem+json"
    node.start()
    broker.await_ready()
    for served in both:
        served.await_ready()
    assert client.get("/memory/session/mine").json()["current_topic"] == "fractions"
    assert client.post("/memory/session/update", json=body, headers=WAIT).status_code == 200
    assert client.get("/memory/session/mine").json()["current_topic"] == "silence"
