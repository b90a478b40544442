"""Bodies that are refused cost their tenant's quota, and take no longer than others."""

import asyncio
import json
import re
import sys
from types import FrameType
from typing import Any

import httpx
import pytest

from schemas.messages import MAX_MESSAGES
from streams.importers import session_messages
from streams.serving.http import kept_messages
from streams.serving.http.app import create_app
from streams.serving.http.auth import READING
from streams.serving.http.settings import ServeSettings
from tests.command import turn
from tests.serving.test_api_memory import Lent

HEADERS = {
    "content-type": "application/json", "accept": "application/json, text/event-stream, */*",
    "sec-fetch-site": "same-origin", "origin": "http://localhost",
}  # fmt: skip
OPEN = {"POST /sign-in", "POST /sign-out"}
CALLS = 400
NEW: Any = {}
"""The rows of a session that nobody has seen."""


Charges = dict[tuple[str, str], tuple[int, float]]
BYTES = 100_000
SECOND_TURN = json.dumps(turn("e2")).encode()
"""A record to store."""
BODIES = {
    "no JSON": b"x" * BYTES,
    "space": b" " * BYTES,
    "space in a list": b"[" + b" " * BYTES + b"]",
    "an unknown field": b'{"x":"' + b"y" * BYTES + b'"}',
    "space around a record": b" " * BYTES + SECOND_TURN,
    "a record and a refused one": b'[{"type":"turn","x":"' + b"y" * BYTES + b'"},%s]' % SECOND_TURN,
    "no tool": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%s"}}'
               % (b"y" * BYTES),
}  # fmt: skip


@pytest.fixture(scope="module")
def charges(tmp_path_factory: pytest.TempPathFactory) -> Charges:
    """Status and charged bytes of each body at each route that may have one."""

    async def ask() -> Charges:
        charged: Charges = {}
        async with Lent(tmp_path_factory.mktemp("refused") / "history") as memory:
            app = create_app(memory, settings=ServeSettings(quota_bytes=10**9))
            quotas = app.state.serving.quotas
            quotas._clock = lambda: 0.0
            bucket = quotas._quotas.buckets("default", 0.0)["bytes"]
            async with (
                app.router.lifespan_context(app),
                httpx.AsyncClient(
                    transport=httpx.ASGITransport(app), base_url="http://localhost", headers=HEADERS
                ) as client,
            ):
                routes: list[Any] = app.router.routes
                for route in routes:
                    for method in route.methods - READING:
                        path = re.sub(r"\{\w+\}", "x", route.path)
                        names = BODIES if method != "DELETE" else ["no JSON"]
                        for name in names:
                            body = BODIES[name]
                            before = bucket.left(0.0)
                            reply = await client.request(method, path, content=body)
                            charge = before - bucket.left(0.0)
                            charged[f"{method} {path}", name] = reply.status_code, charge
        return charged

    return asyncio.run(ask())


@pytest.mark.component
@pytest.mark.parametrize("name", BODIES)
def test_a_body_is_charged_whatever_comes_of_it(name: str, charges: Charges) -> None:
    of_body = {route: charge for (route, body), charge in charges.items() if body == name}
    assert {"POST /mcp", "POST /v1/records", "PATCH /v1/states/x"} < of_body.keys()
    for route, (status, charge) in of_body.items():
        if status not in (429, 500, 503) and route not in OPEN:
            assert charge == len(BODIES[name]), (route, status)


# --- results of calls that nobody made ----------------------------------------------------------


def request(messages: list[Any]) -> session_messages.Request:
    """A request with these messages of a new session."""
    ids = [f"m{at}" for at in range(len(messages))]
    return session_messages.Request("s", "u", ids, messages, {})


def result(call: int) -> dict[str, Any]:
    """A tool's answer to a call."""
    return {"role": "tool", "tool_call_id": f"c{call}", "content": "r"}


def calling(count: int) -> dict[str, Any]:
    """An assistant's message with so many calls."""
    calls = [{"id": f"c{at}", "function": {"name": "f"}} for at in range(count)]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def lines_run(messages: list[Any], originals: list[str | None]) -> int:
    """Lines of code that reading the request takes."""
    count = 0

    def within(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        count += event == "line"
        return within

    before = sys.gettrace()
    sys.settrace(within)
    try:
        kept_messages.read(NEW, request(messages), originals, lambda: 0)
    finally:
        sys.settrace(before)
    return count


SHAPES: dict[str, Any] = {
    "results of no call": lambda count: [
        {"role": "user", "content": "x"}, *map(result, range(count)),
    ],
    "results before anybody speaks": lambda count: [
        *map(result, range(count)), {"role": "user", "content": "x"},
    ],
    "results of one message's calls": lambda count: [calling(count), *map(result, range(count))],
    "results of one call": lambda count: [calling(count), *[result(0)] * count],
    "calls and results in turn": lambda count: [
        one
        for at in range(count // 2)
        for one in ({**calling(1), "tool_calls": [{"id": f"c{at}"}]}, result(at))
    ],
    "calls without ids": lambda count: [
        {"role": "assistant", "tool_calls": [{"function": {"name": "f"}}] * count},
        *[{"role": "tool", "name": "f", "content": "r"}] * count,
    ],
}  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_reading_messages_takes_steps_by_their_number(shape: str) -> None:
    """Twice as many messages take twice the steps, and not four times."""
    counts = []
    for count in (CALLS // 2, CALLS):
        messages = SHAPES[shape](count)
        counts.append(lines_run(messages, ["kept"] * len(messages)))
    assert counts[1] < 2.5 * counts[0]
    assert counts[1] < 1_000 * CALLS


def test_results_of_no_call_are_counted_and_the_others_find_theirs() -> None:
    messages = [result(9), {"role": "user", "content": "x"}, result(8), calling(2), result(1),
                result(7), result(0)]  # fmt: skip
    read = kept_messages.read(NEW, request(messages), ["kept"] * len(messages), lambda: 0)
    answers = [one.record for one in read.turns if one.record["type"] == "tool_result"]
    assert [one["tool_call_id"] for one in answers] == ["c1", "c0"]
    assert [one.place for one in read.turns if one.record["type"] == "tool_result"] == [4, 6]
    assert read.records.left_out[kept_messages.UNANSWERED] == 3
    assert len(messages) < MAX_MESSAGES
