"""`serve --extractor llm`: the model works behind the answers, loses nothing and is never in the
way of a turn."""

import json
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any

import pytest

from streams.errors import ConfigurationError
from streams.files.open_generation import erasing
from tests.command import PROGRAM, environment, files_holding, rows, turn, turnfold
from tests.llm.endpoint import LONG, Endpoint, Hang, Reply, Request, completion, error, model, whole
from tests.serving.serving import END_WITHIN, Server, url_of
from tests.waiting import WITHIN, until

pytestmark = pytest.mark.nightly

PATIENT = {"READ_SECONDS": str(LONG), "TOTAL_SECONDS": str(LONG)}


@contextmanager
def serving(history: Path, asked: Endpoint, *args: str, **settings: str) -> Iterator[Server]:
    """A server whose model is behind an endpoint; SIGTERM ends it, unless it was killed."""
    quick = {"IDLE_SECONDS": "0.3", "RETRY_SECONDS": "0.2", "BREAKER_SECONDS": "0.2"}
    told = {"BASE_URL": asked.url, "MODEL": "test", **quick, **settings}
    process = subprocess.Popen(
        [PROGRAM, "serve", "--port", "0", "-o", "json", "--history", str(history), *args],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env=environment(**{f"TURNFOLD_LLM_{name}": value for name, value in told.items()}),
    )  # fmt: skip
    try:
        server = Server(process, url_of(process))
        with server.client:
            yield server
    finally:
        process.terminate()
        _, said = process.communicate(timeout=END_WITHIN)
    assert process.returncode in (0, -signal.SIGKILL), said.decode()
    assert b"Traceback" not in said, said.decode()


def told(number: int, user: str = "u", **fields: Any) -> dict[str, Any]:
    return turn(f"e{number}", user_input=f"fact: {number}", user_id=user, session_id=f"s-{user}",
                **fields)  # fmt: skip


def states(server: Server, user: str = "u") -> list[str]:
    """What the API says of a user."""
    found = server.client.get(f"/v1/users/{user}/states")
    assert found.status_code in (200, 404), found.text
    listed = found.json().get("states", []) if found.status_code == 200 else []
    return sorted(one["body_text"] for one in listed)


def metric(server: Server, name: str) -> float:
    lines = server.client.get("/metrics").text.splitlines()
    return sum(float(line.rsplit(" ", 1)[1]) for line in lines if line.startswith(name))


def test_turns_are_answered_first_and_extracted_then(tmp_path: Path) -> None:
    """The model answers nothing until all turns are posted."""
    posted = threading.Event()

    def slow(request: Request) -> Reply:
        assert posted.wait(WITHIN)
        return model(request)

    with (
        Endpoint(slow) as asked,
        serving(tmp_path / "h", asked, "--extractor", "llm", **PATIENT) as server,
    ):
        for number in range(30):
            assert server.endings([told(number, f"u{number % 3}")]) == ["applied"]
        assert not any(states(server, f"u{user}") for user in range(3))
        posted.set()
        until(lambda: sum(len(states(server, f"u{user}")) for user in range(3)) == 30)
        assert metric(server, "turnfold_model_calls_total") == len(asked.requests)
        until(lambda: "is asked" in server.client.get("/readyz").json()["about"])
    found = rows(tmp_path / "h", "SELECT count(*), count(DISTINCT plan_id) FROM plans")
    assert found == [(len(asked.requests),) * 2]
    assert rows(tmp_path / "h", "SELECT count(*) FROM dead_letters") == [(0,)]


def test_the_choice_is_remembered_and_nothing_is_asked_twice(tmp_path: Path) -> None:
    with Endpoint() as asked:
        with serving(tmp_path / "h", asked, "--extractor", "llm") as server:
            server.post([told(1)])
            until(lambda: states(server) == ["1"])
        with serving(tmp_path / "h", asked) as server:
            server.post([told(2)])
            until(lambda: states(server) == ["1", "2"])
        assert [one.said for one in asked.requests] == [["fact: 1"], ["fact: 2"]]


def test_killed_again_and_again_each_turn_is_extracted_once(tmp_path: Path) -> None:
    def slowly(request: Request) -> Reply:
        time.sleep(0.1)
        return model(request)

    users, turns = 6, 6
    with Endpoint(slowly) as asked:
        kills = 3
        for round_ in range(kills):
            goal = len(asked.requests) + 3
            with serving(tmp_path / "h", asked, "--extractor", "llm", TURNS="2") as server:
                mine = range(round_ * 2, round_ * 2 + 2)
                batch = [told(user * 100 + n, f"u{user}") for n in mine for user in range(users)]
                assert set(server.endings(batch)) <= {"applied", "duplicate"}
                until(lambda goal=goal: len(asked.requests) >= goal)  # type: ignore[misc]
                server.process.send_signal(signal.SIGKILL)
                server.process.wait()
        with serving(tmp_path / "h", asked) as server:
            until(
                lambda: (
                    sum(len(states(server, f"u{user}")) for user in range(users)) == users * turns
                )
            )
    history = tmp_path / "h"
    named = "SELECT event_id, count(*) FROM (SELECT unnest(evidence_event_ids) AS event_id FROM "
    twice = rows(history, f"{named} state_current) GROUP BY 1 HAVING count(*) > 1")
    assert twice == [], "each turn has led to one state"
    assert rows(history, "SELECT count(*) FROM dead_letters") == [(0,)]
    # a request that was under way at a kill is paid for again, and no other
    assert len(asked.requests) <= users * turns // 2 + kills * 4 + users


def test_an_endpoint_that_is_down_delays_and_is_visible(tmp_path: Path) -> None:
    with (
        Endpoint(lambda _: error(503, "maintenance")) as asked,
        serving(tmp_path / "h", asked, "--extractor", "llm", ATTEMPTS="2") as server,
    ):
        server.post([turn("e1", user_input="I live in Porto.")])
        until(lambda: states(server) == ["Lives in Porto."])  # the rules come first
        until(lambda: "does not answer" in server.client.get("/readyz").json()["about"])
        assert server.client.get("/readyz").status_code == 200, "memory answers"
        until(lambda: metric(server, "turnfold_model_retries_total") >= 2)
        assert metric(server, "turnfold_model_waiting_groups") == 1

        def back(request: Request) -> Reply:
            update = {"kind": "fact", "body_text": "Lives in Porto, Portugal.",
                      "evidence_event_ids": ["e1"]}  # fmt: skip
            return completion(whole(states=[update]))

        asked.behave = back
        until(lambda: "Lives in Porto, Portugal." in states(server))
    standing = "SELECT body_text FROM state_current WHERE status = 'active'"
    assert rows(tmp_path / "h", standing) == [("Lives in Porto, Portugal.",)]


def test_who_is_forgotten_while_the_model_is_asked_is_forgotten(tmp_path: Path) -> None:
    with Endpoint(lambda request: waiting(request)) as asked:

        def waiting(request: Request) -> Reply:
            if len(asked.requests) == 1:
                done = turnfold("forget", "u", "--history", tmp_path / "h", "--yes")
                assert done.code == 0, done.err
                forgotten.set()
            return model(request)

        forgotten = threading.Event()
        with serving(tmp_path / "h", asked, "--extractor", "llm", READ_SECONDS="60") as server:
            server.post([turn("e1", user_input="fact: keeps a diary")])
            until(lambda: len(asked.requests) == 1)
            server.until("/readyz", 200, WITHIN)
            server.post([told(2, "v")])
            until(lambda: states(server, "v") == ["2"])
            until(forgotten.is_set)
            read = server.client.post("/v1/extract", headers={"Prefer": "wait=60"})
            assert read.json()["status"] == "done", read.text
            assert states(server) == []
    assert rows(tmp_path / "h", "SELECT DISTINCT user_id FROM plans") == [("v",)]
    assert files_holding(tmp_path / "h", "keeps a diary") == []


def test_an_answer_that_finds_no_room_keeps_nobody_from_being_forgotten(tmp_path: Path) -> None:
    """No file of the server may grow; the answer waits, and `forget` has its lock meanwhile."""
    free = 0

    def forgetting() -> bool:
        nonlocal free
        time.sleep(1.0)
        try:
            with erasing(tmp_path / "h", alone=True):
                free += 1
        except ConfigurationError:
            return False
        return free >= 4  # the answer is there before the last

    with Endpoint(lambda request: full(request)) as asked:

        def full(request: Request) -> Reply:
            limit(1)
            return model(request)

        with serving(tmp_path / "h", asked, "--extractor", "llm", READ_SECONDS="60") as server:

            def limit(size: int) -> None:
                hard = resource.RLIM_INFINITY
                resource.prlimit(server.process.pid, resource.RLIMIT_FSIZE, (size, hard))

            server.post([told(1)])
            until(lambda: bool(asked.requests))
            until(forgetting)
            limit(resource.RLIM_INFINITY)
            until(lambda: states(server) == ["1"])
    assert len(asked.requests) == 1, "it is not asked again"


def test_it_ends_at_once_although_the_model_thinks(tmp_path: Path) -> None:
    with (
        Endpoint(lambda _: Hang(LONG)) as asked,
        serving(tmp_path / "h", asked, "--extractor", "llm", **PATIENT) as server,
    ):
        server.post([told(1)])
        until(lambda: bool(asked.requests))


@pytest.mark.parametrize("sticky", [False, True])
def test_without_settings_it_is_refused_or_said(tmp_path: Path, sticky: bool) -> None:
    history = tmp_path / "h"
    if not sticky:
        done = turnfold("serve", "--history", history, "--extractor", "llm", "--port", "0")
        assert done.code == 3 and "TURNFOLD_LLM_BASE_URL" in done.err
        return
    with Endpoint() as asked, serving(history, asked, "--extractor", "llm") as server:
        server.until("/readyz", 200, WITHIN)  # before that it may end without having noted it
    from tests.serving.serving import serving as plain

    with plain("--history", history) as server:
        server.until("/readyz", 200, WITHIN)
        posted = server.post([turn("e1", user_input="I live in Porto.")])
        assert posted.status_code in (200, 202), posted.text  # 202: it is still folding
        until(lambda: states(server) == ["Lives in Porto."])


def test_who_is_erased_while_turns_wait_for_the_model_is_not_told_to_it(tmp_path: Path) -> None:
    """One request at a time: the other users' turns were read, and wait behind it."""

    def slow(request: Request) -> Reply:
        until(lambda: erased or len(asked.requests) > 1)
        return model(request)

    erased: list[str] = []
    with Endpoint(slow) as asked:
        history = tmp_path / "h"
        first = {"CONCURRENCY": "1", "READ_SECONDS": "100"}
        with serving(history, asked, "--extractor", "llm", **first) as server:
            server.post([told(number, f"u{number}") for number in range(4)])
            until(lambda: asked.requests)
            (begun,) = [text for one in asked.requests for text in one.said]
            for number in range(4):
                if begun == f"fact: {number}":
                    continue
                reply = server.client.delete(f"/v1/users/u{number}", headers={"Prefer": "wait=60"})
                assert reply.json()["status"] == "done", reply.text
            erased.append("all but the first")
            until(lambda: states(server, f"u{begun[-1]}") == [begun[-1]])
            server.post([told(9, "last")])
            until(lambda: states(server, "last") == ["9"])
        assert [one.said for one in asked.requests] == [[begun], ["fact: 9"]]


SECRET = "Quillfeather lives at the old mill"


def refusing(request: Request) -> Reply:
    return completion("", refusal=f"I must not note that {request.said[0]}")


def quoting(request: Request) -> Reply:
    asked_for = json.dumps(request.body["messages"][-1]["content"])
    return error(400, f"content policy: {asked_for[:2000]}")


def misnaming(request: Request) -> Reply:
    update = {"kind": "fact", "body_text": "x", "state_id": request.said[0],
              "evidence_event_ids": [request.data["turns"][0]["event_id"]]}  # fmt: skip
    return completion(whole(states=[update]))


def naming(request: Request) -> Reply:
    return completion(whole(**{request.said[0]: 1}))


def naming_in_a_state(request: Request) -> Reply:
    update = {"kind": "fact", "body_text": "x", request.said[0]: 1,
              "evidence_event_ids": [request.data["turns"][0]["event_id"]]}  # fmt: skip
    return completion(whole(states=[update]))


class Phrased(Reply):
    """A status line in words of its own."""

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        handler.wfile.write(b"HTTP/1.1 400 " + self.body + b"\r\nContent-Length: 0\r\n\r\n")


def phrasing(request: Request) -> Reply:
    return Phrased(400, next(iter(request.said), SECRET).encode())


@pytest.mark.parametrize(
    "behave", [refusing, quoting, misnaming, naming, naming_in_a_state, phrasing]
)
def test_readiness_and_log_hold_no_word_of_a_user(
    tmp_path: Path, behave: Callable[[Request], Reply]
) -> None:
    """Whatever the endpoint or the model says of it: `/readyz` needs no key."""
    with Endpoint(behave) as asked, serving(tmp_path / "h", asked, "--extractor", "llm") as server:
        said = [
            turn(f"e{number}", user_input=SECRET, user_id=f"u{number}", session_id=f"s{number}")
            for number in range(4)
        ]
        assert server.endings(said) == ["applied"] * 4
        words = ("gives no usable answer", "is not asked")

        def about() -> str:
            return str(server.client.get("/readyz").json()["about"])

        until(about, lambda shown: any(one in shown for one in words))
        assert "Quillfeather" not in about() and "old mill" not in about()
        server.process.terminate()
        _, log = server.process.communicate(timeout=END_WITHIN)
    assert any(one.encode() in log for one in words)
    assert b"Quillfeather" not in log and b"old mill" not in log


@pytest.mark.parametrize("status", [500, 503])
@pytest.mark.parametrize("what", ["/v1/users/u", "/v1/sessions/s-u"])
def test_who_is_erased_while_the_endpoint_is_away_is_not_told_to_it(
    tmp_path: Path, what: str, status: int
) -> None:
    """What was asked already waits to be asked again."""
    with Endpoint(lambda _: error(status)) as asked, serving(
        tmp_path / "h", asked, "--extractor", "llm", ATTEMPTS="50", RETRY_SECONDS="2"
    ) as server:  # fmt: skip
        server.post([told(1)])
        until(lambda: len(asked.requests) >= 2)
        gone = server.client.delete(what, headers={"Prefer": "wait=60"})
        assert gone.json()["status"] == "done", gone.text
        sent = len(asked.requests)
        asked.behave = model
        server.post([told(2, "v")])
        until(lambda: states(server, "v") == ["2"])
        assert all("fact: 1" not in one.said for one in asked.requests[sent:])
    assert files_holding(tmp_path / "h", "fact: 1") == []
