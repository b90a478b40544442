"""`POST /v1/messages` of several speakers, and of windows that were cut off."""

from typing import Any
from uuid import uuid4

import httpx
import pytest

from tests.serving.test_api_memory import ok

NOW = {"Prefer": "wait=30"}
CUT_OFF = [
    [{"role": "tool", "tool_call_id": "c0", "content": "old"}],
    [{"role": "tool", "tool_call_id": "c0", "content": "old"}] * 2,
    [{"role": "tool", "tool_call_id": "c0", "content": "old"},
     {"role": "assistant", "content": "done"}],
    [{"type": "function_call_output", "call_id": "c0", "output": "old"}],
    [{"role": "assistant", "content": "done"}],
    [{"role": "system", "content": "Be brief."},
     {"role": "tool", "tool_call_id": "c0", "content": "old"}],
]  # fmt: skip
"""What a window may begin with whose beginning was cut off."""


def post(api: httpx.Client, messages: list[dict[str, Any]], **more: str) -> dict[str, Any]:
    body = {"user_id": "anna", "session_id": f"s-{uuid4()}", "messages": messages, **more}
    return dict(ok(api.post("/v1/messages", json=body, headers=NOW)))


def turns(api: httpx.Client, reply: dict[str, Any]) -> list[dict[str, Any]]:
    found = ok(api.get(f"/v1/sessions/{reply['session_id']}"))
    return list(found["conversations"])


@pytest.mark.parametrize("at_once", [True, False])
def test_only_the_users_own_words_are_theirs(api: httpx.Client, at_once: bool) -> None:
    """Also where each message is a request of its own."""
    told = [
        {"role": "user", "name": "anna", "content": "I'm Anna and I live in Oslo."},
        {"role": "user", "name": "bob", "content": "I live in Pisa and I'm allergic to nuts."},
        {"role": "assistant", "content": "Hi both!"},
    ]
    session, user = f"room-{uuid4()}", f"anna {uuid4().hex.translate(DIGITS)}"
    for some in [told] if at_once else [[one] for one in told]:
        body = {"user_id": user, "session_id": session, "messages": some}
        reply = ok(api.post("/v1/messages", json=body, headers=NOW))
    assert len(turns(api, reply)) == 2
    hits = ok(api.get("/v1/search", params={"q": "Pisa nuts", "user_id": user}))["hits"]
    assert not [one for one in hits if "Pisa" in one["text"] or "nuts" in one["text"]]


@pytest.mark.parametrize("begin", CUT_OFF)
def test_a_result_without_its_call_is_left_out_and_counted(
    api: httpx.Client, begin: list[dict[str, Any]]
) -> None:
    told = [{"role": "user", "content": "I live in Oslo."}, {"role": "assistant", "content": "ok"}]
    reply = post(api, [*begin, *told])
    results = sum(one.get("role") == "tool" or "call_id" in one for one in begin)
    assert sum(reply["left_out"].values()) == results
    assert turns(api, reply)[-1]["user_input"] == "I live in Oslo."


def test_a_late_result_is_left_out_alone(api: httpx.Client) -> None:
    call = {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    reply = post(api, [
        {"role": "user", "content": "I love jazz."},
        {"role": "assistant", "content": "x", "tool_calls": [call]},
        {"role": "user", "content": "never mind"},
        {"role": "tool", "tool_call_id": "c1", "content": "late"},
        {"role": "tool", "tool_call_id": "c9", "content": "nobody's"},
        {"role": "assistant", "content": "ok"},
    ])  # fmt: skip
    assert sum(reply["left_out"].values()) == 1
    assert [one["user_input"] for one in turns(api, reply)] == ["I love jazz.", "never mind"]


def test_results_alone_store_nothing(api: httpx.Client) -> None:
    reply = post(api, [{"role": "tool", "tool_call_id": "c0", "content": "old"}])
    assert reply["turns"] == [] and sum(reply["left_out"].values()) == 1


DIGITS = {ord(digit): "xyzuvwabcd"[int(digit)] for digit in "0123456789"}
