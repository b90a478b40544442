"""`kafka extract --bootstrap` against a real broker: nothing waits on it, nothing is made twice."""

import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import msgspec
import pytest

from streams.kafka.client.settings import KafkaSettings
from streams.llm import template
from streams.llm.kafka_log import Stream, StreamOptions
from streams.llm.settings import LlmSettings
from streams.topology import WRITE_PLANS
from tests.command import PROGRAM, environment, rows, turn
from tests.kafka.working import TOO_LONG, Given, Working, message
from tests.llm.endpoint import Endpoint, Hang, Reply, Request, error, model
from tests.waiting import until

Start = Callable[..., "Extracting"]
USERS = 12
encode = msgspec.json.Encoder().encode


def talk(first: int, last: int, **fields: Any) -> list[Given]:
    """Turns of users side by side."""
    said = (
        turn(f"e{n}-{user}", session_id=f"s{user}", user_id=f"u{user}", user_input=f"fact: {n}")
        for n in range(first, last)
        for user in range(USERS)
    )
    return [message(encode({**one, **fields})) for one in said]


class Extracting:
    """The real command beside a worker."""

    def __init__(self, working: Working, asked: Endpoint, *more: str) -> None:
        env = environment(
            TURNFOLD_LLM_BASE_URL=asked.url, TURNFOLD_LLM_MODEL="test",
            TURNFOLD_LLM_READ_SECONDS="20", TURNFOLD_LLM_RETRY_SECONDS="0.2",
            TURNFOLD_LLM_BREAKER_SECONDS="0.2", TURNFOLD_LLM_IDLE_SECONDS="1",
            TURNFOLD_LLM_EXTRACT_AFTER="group",
        )  # fmt: skip
        self._log = working.folder / "extract.log"
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(
                [PROGRAM, "kafka", "extract", *working.at, "-o", "json", *more],
                env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log,
            )  # fmt: skip

    @property
    def log(self) -> str:
        return self._log.read_text()

    def end(self, code: int = 0, sent: signal.Signals | None = None) -> Any:
        """Its counts, once it has ended."""
        if sent:
            self.process.send_signal(sent)
        out, _ = self.process.communicate(timeout=TOO_LONG)
        assert self.process.returncode == code, self.log[-3000:]
        return json.loads(out) if out else None

    def kill(self) -> None:
        self.process.kill()
        if self.process.stdout and not self.process.stdout.closed:
            self.process.communicate()


@pytest.fixture
def flowing(working: Working) -> Iterator[Working]:
    """A worker that is ready."""
    working.start()
    working.await_ready()
    yield working


@pytest.fixture
def start(flowing: Working) -> Iterator[Start]:
    """Starts extractors that end with the test."""
    started: list[Extracting] = []

    def start(asked: Endpoint, *more: str) -> Extracting:
        started.append(Extracting(flowing, asked, *more))
        return started[-1]

    yield start
    for one in started:
        one.kill()


def plans(working: Working) -> list[dict[str, Any]]:
    return [json.loads(one.value) for one in working.read(WRITE_PLANS.name)]


def extracted(working: Working) -> list[str]:
    """The turns of all plans, as often as they are in one. How many are in one plan depends on how
    fast they came."""
    return [event for one in plans(working) for event in one["extraction"]["event_ids"]]


def wait_until(true: Any, extracting: Extracting) -> None:
    until(true, told=lambda: extracting.log[-3000:])


@pytest.mark.component
def test_plans_come_of_turns_and_the_worker_applies_them(
    flowing: Working, start: Start, tmp_path: Path
) -> None:
    flowing.send(talk(0, 7))
    with Endpoint() as asked:
        counts = start(asked, "--once").end()
        again = start(asked, "--once").end()
    assert (counts["turns"], counts["groups"], counts["failed"]) == (7 * USERS, 2 * USERS, 0)
    assert again["calls"] == 0
    made = plans(flowing)
    assert len({one["plan_id"] for one in made}) == len(made) == 2 * USERS
    flowing.sent += len(made)
    flowing.await_done()
    history = flowing.history(tmp_path / "history")
    found = rows(history, "SELECT owner_id, count(*) FROM state_current GROUP BY 1 ORDER BY 1")
    assert [count for _, count in found] == [7] * USERS
    sums = "SELECT sum(CAST(doc ->> '$.extraction.calls' AS INT)) FROM plans"
    assert rows(history, sums) == [(2 * USERS,)]


def test_turns_flow_while_the_model_hangs_and_is_down(flowing: Working, start: Start) -> None:
    """The worker's turns take as long as without an extractor; what waits is not lost."""
    with Endpoint(lambda _: Hang(600)) as asked:
        extracting = start(asked)
        wait_until(lambda: "partitions" in extracting.log, extracting)
        flowing.send(talk(0, 100))
        flowing.await_done()
        wait_until(lambda: asked.requests, extracting)
        assert plans(flowing) == []
        asked.behave = lambda _: error(503)
        extracting.end(sent=signal.SIGTERM)  # abandons what is under way
        extracting = start(asked)
        wait_until(lambda: "the model does not answer" in extracting.log, extracting)
        assert plans(flowing) == []
        asked.behave = model
        wait_until(lambda: len(plans(flowing)) >= USERS * 100 // 6, extracting)
        extracting.end(sent=signal.SIGINT)
    seen = extracted(flowing)
    assert len(seen) == len(set(seen))


def test_killed_again_and_again_no_turn_is_lost_or_extracted_twice(
    flowing: Working, start: Start
) -> None:
    def slowly(request: Request) -> Reply:
        time.sleep(0.4)  # longer than a commit takes
        return model(request)

    flowing.send(talk(0, 24))
    with Endpoint(slowly) as asked:
        for goal in (8, 20, 32):
            extracting = start(asked)
            wait_until(lambda goal=goal: len(plans(flowing)) >= goal, extracting)
            extracting.kill()
        extracting = start(asked, "--once")
        extracting.end()
    seen = extracted(flowing)
    assert len(seen) == len(set(seen)) == 24 * USERS
    paid = len(asked.requests)
    lost = "but for what was under way at each kill, or came back during a commit"
    assert paid <= len(plans(flowing)) + 3 * 12, lost
    flowing.sent += len(plans(flowing))
    assert flowing.await_done()["dead"] == 0


def test_two_share_the_work_and_one_that_dies_leaves_it_to_the_other(
    flowing: Working, start: Start
) -> None:
    requests, shared = count(), threading.Event()

    def waiting(request: Request) -> Reply:
        if next(requests) >= 8:
            shared.wait(TOO_LONG)
        return model(request)

    flowing.send(talk(0, 36))
    with Endpoint(waiting) as asked:
        first = start(asked)
        wait_until(lambda: len(plans(flowing)) >= 4, first)
        second = start(asked)
        wait_until(lambda: second.log.count(": 2 partitions") == 2, second)
        so_far = len(plans(flowing))
        shared.set()
        wait_until(lambda: len(plans(flowing)) >= so_far + 4, second)
        first.kill()
        wait_until(lambda: len(extracted(flowing)) >= 36 * USERS, second)
        second.end(sent=signal.SIGTERM)
    seen = extracted(flowing)
    assert len(seen) == len(set(seen)) == 36 * USERS


def test_the_states_shown_are_those_of_the_sinks_history(
    flowing: Working, start: Start, tmp_path: Path
) -> None:
    home = {"kind": "fact", "body_text": "lives in Kyoto", "evidence_event_ids": ["e"]}
    known = {"type": "write_plan", "plan_id": "p", "user_id": "u0", "extractor": {"name": "hand"},
             "occurred_at": "2025-12-01T00:00:00Z", "state_updates": [home]}  # fmt: skip
    flowing.send([message(encode(known))])
    flowing.await_done()
    history = flowing.history(tmp_path / "history")
    flowing.send(talk(0, 1))
    with Endpoint() as asked:
        start(asked, "--once", "--history", str(history)).end()
    shown = {
        request.data["turns"][0]["event_id"]: [one["body_text"] for one in request.data["states"]]
        for request in asked.requests
    }
    assert shown.pop("e0-0") == ["lives in Kyoto"]
    assert set(map(tuple, shown.values())) == {()} and len(shown) == USERS - 1


def test_a_configuration_error_ends_it_with_its_reason(flowing: Working, start: Start) -> None:
    flowing.send(talk(0, 6))
    with Endpoint(lambda _: error(401, "who are you?")) as asked:
        extracting = start(asked)
        extracting.end(code=3)
    assert "HTTP 401 Unauthorized: who are you?" in extracting.log
    assert plans(flowing) == []


def test_groups_are_named_after_model_and_prompt(settings: KafkaSettings) -> None:
    told = LlmSettings.load(base_url="http://x/v1", model="qwen3")
    assert Stream(settings, told, StreamOptions()).group == f"llm/qwen3-{template.VERSION}"
    assert Stream(settings, told, StreamOptions(group="mine")).group == "mine"
