"""Workers that ask a model, killed at the worst moments: nothing is lost, nothing is made twice."""

import signal
from collections import Counter
from http.server import BaseHTTPRequestHandler
from pathlib import Path

from tests.kafka.asking import USERS, Asking
from tests.kafka.working import Working, alone
from tests.llm.endpoint import Endpoint, Reply, Request, model
from tests.waiting import until

KILLS = 3


class Killing(Reply):
    """Kills the newest worker with SIGKILL, before it has the answer or as soon as it has."""

    def __init__(self, reply: Reply, working: Working, before: bool) -> None:
        super().__init__(reply.status, reply.body, **reply.headers)
        self.working, self.before = working, before

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        worker = self.working.workers[-1]
        if not self.before:
            super().write(handler)
            handler.wfile.flush()
        worker.send_signal(signal.SIGKILL)


def test_workers_killed_between_question_and_commit_double_nothing(tmp_path: Path) -> None:
    deadly: list[bool] = []

    def behave(request: Request) -> Reply:
        return Killing(model(request), working, deadly.pop()) if deadly else model(request)

    with alone(tmp_path) as working, Endpoint(behave) as asked:
        asking = Asking(working, asked, TURNS="2")
        for kill in range(KILLS):
            asking.start(*["--extractor", "llm"] * (kill == 0))
            deadly.append(kill % 2 == 0)
            asking.say(f"fact: {2 * kill}", f"fact: {2 * kill + 1}", first=2 * kill, users=USERS)
            assert working.workers[-1].wait(120) == -signal.SIGKILL, working.log()[-3000:]
        asking.start()
        turns = 2 * KILLS * USERS
        until(lambda: len(asking.asked_about()) >= turns, told=working.log)
        assert Counter(Counter(asking.asked_about()).values()) == {1: turns}
        assert len(asked.requests) <= len(asking.plans()) + KILLS * 2 * 4
        asking.await_current(*(f"{n}" for n in range(2 * KILLS) for _ in range(USERS)))
        counts = working.await_done()
        assert counts["dead"] == counts["duplicate"] == 0


def test_one_of_two_workers_is_killed_and_the_other_asks_on(tmp_path: Path) -> None:
    with alone(tmp_path) as working, Endpoint() as asked:
        asking = Asking(working, asked, TURNS="2")
        asking.start("--extractor", "llm")
        working.start("--extractor", "llm", env=asking.env)
        until(lambda: ": 2 partitions" in working.log(0) and ": 2 partitions" in working.log(1),
              told=working.log)  # fmt: skip
        asking.say(*(f"fact: {n}" for n in range(6)), users=USERS)
        until(lambda: len(asking.plans()) >= 4, told=working.log)
        working.kill()
        until(lambda: len(asking.asked_about()) >= 6 * USERS, told=lambda: working.log(0))
        working.await_done()
        assert Counter(Counter(asking.asked_about()).values()) == {1: 6 * USERS}
        assert working.workers[0].poll() is None
