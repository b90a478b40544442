"""A real HTTP server on a loopback port that speaks as models' endpoints do, well or badly."""

import json
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from streams.llm.budget import Budget
from streams.llm.client import Client
from streams.llm.extractor import Extractor
from streams.llm.settings import LlmSettings

LONG = 600
"""Seconds that nobody waits for: a test that did would fail."""
SENT, RECEIVED = 700, 30
"""Tokens an answer says it took."""


class Request(NamedTuple):
    """One that came in: when, its headers, and what it asks."""

    at: float
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def data(self) -> Any:
        """The document the model is given: turns, states, preferences."""
        return json.loads(self.body["messages"][1]["content"])

    @property
    def said(self) -> list[str]:
        """What its turns' users say."""
        return [turn["user_input"] for turn in self.data["turns"]]

    @property
    def is_repair(self) -> bool:
        return len(self.body["messages"]) > 2


class Reply:
    """Writes itself to the socket; each way to go wrong is a class or a function below."""

    def __init__(self, status: int, body: bytes, **headers: str) -> None:
        self.status, self.body, self.headers = status, body, headers

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(self.status)
        named = {"Content-Length": str(len(self.body)), "Content-Type": "application/json"}
        for name, value in {**named, **self.headers}.items():
            handler.send_header(name.replace("_", "-"), value)
        handler.end_headers()
        handler.wfile.write(self.body)


class Hang(Reply):
    """Says nothing for so long."""

    def __init__(self, seconds: float) -> None:
        super().__init__(200, b"")
        self.seconds = seconds

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        time.sleep(self.seconds)


class CutChunks(Reply):
    """A chunked body that ends in the middle of a chunk."""

    def write(self, handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(200)
        handler.send_header("Transfer-Encoding", "chunked")
        handler.end_headers()
        handler.wfile.write(f"{len(self.body):x}\r\n".encode() + self.body[: len(self.body) // 2])


def completion(text: str, finish_reason: str = "stop", **message: Any) -> Reply:
    """What an endpoint answers with."""
    said = {"role": "assistant", "content": text, **message}
    usage = {"prompt_tokens": SENT, "completion_tokens": RECEIVED}
    choice = {"index": 0, "message": said, "finish_reason": finish_reason}
    return Reply(200, json.dumps({"choices": [choice], "usage": usage}).encode())


NOTHING_SAID: dict[str, Any] = {
    "states": [], "preferences": [], "affect": None, "context": None, "about": None,
}  # fmt: skip


def whole(**said: Any) -> str:
    """A model's answer with every field that the schema requires."""
    return json.dumps({**NOTHING_SAID, **said})


def half(text: str) -> Reply:
    """A Content-Length longer than what comes."""
    cut = completion(text)
    cut.headers["Content-Length"] = str(len(cut.body))
    cut.body = cut.body[: len(cut.body) // 2]
    return cut


def error(status: int, message: str = "not today", **headers: str) -> Reply:
    return Reply(status, json.dumps({"error": {"message": message}}).encode(), **headers)


def facts(request: Request) -> dict[str, Any]:
    """A model: each turn that says "fact: X" is the fact X; "feel: X" a feeling."""
    updates = [
        {
            "kind": "fact", "op": "upsert", "state_id": None,
            "body_text": turn["user_input"].removeprefix("fact: "), "confidence": 0.9,
            "evidence_event_ids": [turn["event_id"]], "reason": "the user said so",
        }
        for turn in request.data["turns"]
        if turn["user_input"].startswith("fact: ")
    ]  # fmt: skip
    return {**NOTHING_SAID, "states": updates}


def model(request: Request) -> Reply:
    """`facts`, as an endpoint says it."""
    return completion(json.dumps(facts(request)))


Behaviour = Callable[[Request], Reply]


class Endpoint:
    """Answers each request by `behave`; `requests` are those that came, in order."""

    def __init__(self, behave: Behaviour = model) -> None:
        self.behave = behave
        self.requests: list[Request] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["Content-Length"]))
                request = Request(time.monotonic(), dict(self.headers), json.loads(body))
                outer.requests.append(request)
                self.close_connection = True  # of a reply without headers, too
                with suppress(BrokenPipeError, ConnectionResetError):  # the client has gone
                    outer.behave(request).write(self)

            def end_headers(self) -> None:
                self.send_header("Connection", "close")  # else a client may ask on it once more
                super().end_headers()

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()

    def settings(self, **more: Any) -> LlmSettings:
        """How to reach it, with short waits between attempts. An answer has time: the machine may
        be busy."""
        given: dict[str, Any] = {
            "base_url": self.url, "model": "test", "read_seconds": 30.0, "total_seconds": 60.0,
            "retry_seconds": 0.2, "breaker_seconds": 0.1, "price_input": 1.0, "price_output": 10.0,
        }  # fmt: skip
        return LlmSettings(**{**given, **more})


@asynccontextmanager
async def extractor(
    settings: LlmSettings, budget: Budget | None = None, *, patient: bool = False
) -> AsyncIterator[Extractor]:
    """One with an open connection."""
    budget = budget or Budget(settings)
    async with Client(settings, budget, patient=patient) as client:
        yield Extractor(settings, client, budget)


def in_turn(*replies: Reply | Behaviour, then: Behaviour = model) -> Behaviour:
    """Each reply once, in this order, then as a model does."""
    left = list(replies)
    lock = threading.Lock()

    def behave(request: Request) -> Reply:
        with lock:
            one = left.pop(0) if left else then
        return one if isinstance(one, Reply) else one(request)

    return behave
