"""Workers that ask a model, a real one over HTTP, and what they show of it."""

import json
import re
import signal
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler
from typing import Any

import msgspec

from streams.broker.ports import free
from streams.topology import WRITE_PLANS
from tests.command import environment, turn
from tests.kafka.working import TOO_LONG, Working, message
from tests.llm.endpoint import Endpoint, Reply, Request, completion, whole
from tests.waiting import until

encode = msgspec.json.Encoder().encode


USERS = 8


class Asking:
    """Workers with `--extractor llm`, and what they show."""

    def __init__(self, working: Working, asked: Endpoint, **settings: str) -> None:
        self.working = working
        (self.port,) = free(1)
        given = {
            "BASE_URL": asked.url, "MODEL": "test", "IDLE_SECONDS": "0.5", "READ_SECONDS": "60",
            "EXTRACT_AFTER": "group",
            "RETRY_SECONDS": "0.2", "BREAKER_SECONDS": "0.2", **settings,
        }  # fmt: skip
        self.env = environment(
            **working.kafka, **{f"TURNFOLD_LLM_{name}": value for name, value in given.items()}
        )

    def start(self, *told: str, **env: str) -> None:
        at = ["--metrics-port", str(self.port)]
        self.working.start(*at, *told, env=self.env | env)
        self.working.await_ready()

    def shown(self, page: str) -> str:
        """A page of the newest worker's metrics port."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/{page}", timeout=10) as told:
                return str(told.read().decode())
        except urllib.error.HTTPError as error:
            return error.read().decode()

    def metric(self, name: str) -> float:
        """The newest value of a sample, by its name with its labels."""
        found = re.search(rf"^{re.escape(name)} (\S+)$", self.shown("metrics"), re.MULTILINE)
        return float(found[1]) if found else -1.0

    def plans(self, by: str = "llm/test") -> list[dict[str, Any]]:
        found = [json.loads(one.value) for one in self.working.read(WRITE_PLANS.name)]
        return [one for one in found if one["extractor"]["name"] == by]

    def asked_about(self) -> list[str]:
        """The turns of all plans of the model, as often as they are in one."""
        return [event for one in self.plans() for event in one["extraction"]["event_ids"]]

    def current(self, topic: str = "states") -> list[str]:
        """What holds, of all users; `topic`: a generation's."""
        states = self.working.newest(topic).values()
        return sorted(one["body_text"] for one in states if one and one["status"] == "active")

    def await_current(self, *texts: str) -> None:
        until(self.current, lambda found: found == sorted(texts), told=self.working.log)

    def say(self, *texts: str, first: int = 0, users: int = 1) -> None:
        """Turns of users side by side, folded and committed."""
        said = [
            turn(f"e{first + n}-{user}", session_id=f"s{user}", user_id=f"u{user}", user_input=text)
            for n, text in enumerate(texts)
            for user in range(users)
        ]
        self.working.send(message(encode(one)) for one in said)

    def end(self, code: int = 0) -> float:
        """Seconds that a worker takes to end by SIGTERM."""
        began = time.monotonic()
        self.working.workers[-1].send_signal(signal.SIGTERM)
        assert self.working.workers[-1].wait(TOO_LONG) == code, self.working.log()[-3000:]
        return time.monotonic() - began


class Held(Reply):
    """An answer that is written when `go` is set."""

    def __init__(self, reply: Reply, go: threading.Event) -> None:
        super().__init__(reply.status, reply.body, **reply.headers)
        self.go = go

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        self.go.wait(TOO_LONG)
        super().write(handler)


def better(request: Request, name: str = "By a model") -> Reply:
    """A model that says of each turn in its own words what is in it."""
    updates = [
        {"kind": "fact", "body_text": f"{name}: {one['user_input']}",
         "evidence_event_ids": [one["event_id"]]}
        for one in request.data["turns"]
    ]  # fmt: skip
    return completion(whole(states=updates))
