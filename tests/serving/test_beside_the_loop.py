"""Long bodies are read beside the event loop: what it does for one does not grow with the body.

Counted in steps of the loop's own thread, which no busy machine changes. `sys.settrace` sees one
thread.
"""

import asyncio
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import FrameType, SimpleNamespace
from typing import TYPE_CHECKING, Any, cast

import pytest

from streams.folds.constants import Rules
from streams.folds.outcome import ACCEPTED, Outcome
from streams.pipeline.entity import Entity
from streams.serving.backends.backend import EntityRows
from streams.serving.backends.change_waiters import Changes
from streams.serving.http import app as app_module
from streams.serving.http import openapi
from streams.serving.http.app import create_app
from streams.serving.http.body_readers import SHORT
from streams.serving.http.endpoints import ENDPOINTS
from streams.serving.http.settings import ServeSettings
from tests.command import turn

if TYPE_CHECKING:
    from streams.serving.backends.backend import Backend

OWN = tuple(str(Path(__file__).parents[2] / name) for name in ("streams", "schemas"))
MOST_STEPS, OF_A_RECORD = 6_000, 12
"""Of the event loop, for one request, and for each of its records that is taken."""
LONG = 50 * SHORT


class Accepting:
    """A backend that takes everything and applies nothing."""

    live = SimpleNamespace(name="live", rules=Rules())
    history = kafka = None

    def __init__(self) -> None:
        self.changes = Changes()
        self.preparing: list[Any] = []
        self.worked: list[Any] = []

    async def rows(self, table: str, tenant: str, key: str) -> EntityRows:
        return EntityRows(Entity(table, tenant, key, {}), Rules())

    async def catch_up(self, *_: Any) -> None:
        return

    async def submit(self, records: list[bytes], *_: Any) -> list[Outcome]:
        return [ACCEPTED] * len(records)


def lines(record: dict[str, Any]) -> bytes:
    line = json.dumps(record).encode() + b"\n"
    return line * (LONG // len(line))


def array(record: Any) -> bytes:
    one = json.dumps(record)
    return f"[{','.join([one] * (LONG // len(one)))}]".encode()


def messages(part: Any) -> bytes:
    said = [{"role": "user", "content": part}, {"role": "assistant", "content": "b"}]
    return json.dumps({"user_id": "u", "session_id": "s", "messages": said}).encode()


NDJSON, JSON = "application/x-ndjson", "application/json"
CLOUD = "application/cloudevents-batch+json"
RECORDS, MESSAGES, STATE = "/v1/records", "/v1/messages", "/v1/states/state?user_id=u"
PREFERENCE = "/v1/preferences/preference?user_id=u"
SESSION, USER = "/memory/session/update", "/memory/user/update"
BODIES: list[tuple[str, str, str, bytes]] = [
    ("POST", RECORDS, NDJSON, lines(turn("e"))),
    ("POST", RECORDS, NDJSON, lines({"type": "turn"})),
    ("POST", RECORDS, NDJSON, b"{}\n" * (LONG // 3)),
    ("POST", RECORDS, JSON, array(turn("e"))),
    ("POST", RECORDS, JSON, array({})),
    ("POST", RECORDS, JSON, json.dumps(turn("e", intent=[0] * 15_000)).encode()),
    ("POST", RECORDS, CLOUD, array({"specversion": "1.0", "data": turn("e")})),
    ("POST", RECORDS, CLOUD, array({})),
    ("POST", MESSAGES, JSON, messages("a" * LONG)),
    ("POST", MESSAGES, JSON, messages([{"type": "text", "text": "a" * 60}] * 3_000)),
    ("POST", MESSAGES, JSON, messages([{"type": "no"}] * 6_000)),
    ("POST", SESSION, JSON, json.dumps({"session_id": "s", "topic": "a" * LONG}).encode()),
    ("POST", USER, JSON, json.dumps({"user_id": "u", "event": {"x": [{}] * 6_000}}).encode()),
    ("PATCH", STATE, JSON, json.dumps({"reason": "r", "body_text": "a" * LONG}).encode()),
    ("PATCH", PREFERENCE, JSON, json.dumps({"reason": "r", "subject": "a" * LONG}).encode()),
]


def counted(call: Callable[[], int]) -> tuple[int, int]:
    """What a call returns, and the lines of our code that its thread runs."""
    count = 0

    def within(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return within

    def entered(frame: FrameType, event: str, argument: object) -> Any:
        return within if frame.f_code.co_filename.startswith(OWN) else None

    before = sys.gettrace()
    sys.settrace(entered)
    try:
        return call(), count
    finally:
        sys.settrace(before)


def status_of(method: str, address: str, media: str, body: bytes) -> tuple[int, int]:
    """Status of a request, and the loop's steps for it."""
    app = create_app(cast("Backend", Accepting()), settings=ServeSettings(inspector=False))
    path, _, query = address.partition("?")
    head = {"host": "localhost", "content-type": media, "content-length": str(len(body))}
    scope: dict[str, Any] = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "scheme": "http",
        "method": method, "path": path, "raw_path": path.encode(), "root_path": "",
        "query_string": query.encode(), "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2),
        "headers": [(name.encode(), value.encode()) for name, value in head.items()],
    }  # fmt: skip
    status = 0

    async def receive() -> Any:
        return {"type": "http.request", "body": body, "more_body": False}

    async def send(message: Any) -> None:
        nonlocal status
        status = message.get("status", status)

    def ask() -> int:
        asyncio.run(app(scope, receive, send))
        return status

    asyncio.run(app({**scope, "path": "/healthz", "headers": scope["headers"][:1]}, receive, send))
    return counted(ask)


@pytest.mark.parametrize(
    ("method", "path", "media", "body"), BODIES, ids=[f"{at}" for at in range(len(BODIES))]
)
def test_a_long_body_takes_few_steps_of_the_event_loop(
    method: str, path: str, media: str, body: bytes
) -> None:
    assert len(body) > SHORT
    status, steps = status_of(method, path, media, body)
    assert status in (200, 202, 404, 413, 422), status  # 404: nobody has the state
    taken = body.count(b"event_id") if status == 202 else 0
    assert steps < MOST_STEPS + OF_A_RECORD * taken


def test_the_openapi_document_is_made_beside_the_event_loop() -> None:
    for made in (app_module._document, openapi.document):
        made.cache_clear()
    status, steps = status_of("GET", "/openapi.json", JSON, b"")
    assert status == 200
    assert steps < 1_000


def test_each_way_in_has_a_body() -> None:
    """Whoever adds an endpoint with a body adds one here."""
    taking = {(one.method, one.path) for one in ENDPOINTS if one.reply.body is not None}
    tried = {
        (method, re.sub(r"/(state|preference)$", r"/{\1_id}", path.partition("?")[0]))
        for method, path, _, _ in BODIES
    }
    assert tried == taking
