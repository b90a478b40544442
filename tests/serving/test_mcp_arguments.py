"""What a tool of MCP asks of the API, whatever arguments a model writes: null is as absent."""

import asyncio
from typing import Any

import pytest
from mcp import Client

from streams.serving.mcp.server import ApiReply, Context, server
from streams.serving.mcp.tools import TOOLS, ApiCall

pytestmark = pytest.mark.component

VALUES: dict[str, Any] = {
    "user_id": "ben", "query": "tea", "session_id": "s", "max_tokens": 200, "limit": 3,
    "as_of": "2026-03-01", "known_at": "2026-03-02", "text": "I live in Leeds.", "answer": "ok",
    "id": "s:0123456789", "reason": "She wrote so.",
}  # fmt: skip
CASES = [(tool, name) for tool, one in TOOLS.items() for name in one.takes.model_fields]
USERS = ("maya", None)


def asked(
    tool: str, arguments: dict[str, Any] | None, user: str | None
) -> tuple[list[ApiCall], bool, str]:
    """The requests that a call made, whether it failed, and what it said."""
    calls: list[ApiCall] = []

    async def ask(_: Context, call: ApiCall) -> ApiReply:
        calls.append(call._replace(key=None))
        return ApiReply(404, {"title": "Not found", "detail": "nothing"})

    async def use() -> tuple[bool, str]:
        async with Client(server(ask, user, forget=True)) as client:
            result = await client.call_tool(tool, arguments)
            return bool(result.is_error), result.content[0].model_dump()["text"]

    return calls, *asyncio.run(use())


@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(("tool", "name"), CASES)
def test_null_is_as_absent(tool: str, name: str, user: str | None) -> None:
    every = {one: VALUES[one] for one in TOOLS[tool].takes.model_fields}
    absent = {one: value for one, value in every.items() if one != name}
    assert asked(tool, {**every, name: None}, user) == asked(tool, absent, user)


@pytest.mark.parametrize("tool", TOOLS)
def test_all_null_is_as_no_arguments(tool: str) -> None:
    nothing = dict.fromkeys(TOOLS[tool].takes.model_fields)
    for user in USERS:
        assert asked(tool, nothing, user) == asked(tool, {}, user) == asked(tool, None, user)


def test_null_as_user_reads_the_memory_of_the_user_of_the_command_alone() -> None:
    (call,), _, _ = asked("search", {"query": "tea", "user_id": None}, "maya")
    assert call.query["user_id"] == "maya"
