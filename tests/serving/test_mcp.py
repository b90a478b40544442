"""Memory as tools, called by the protocol's own client: over stdio, over HTTP, in both eras."""

import asyncio
import json
import os
import re
import signal
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp import Client, MCPError, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from schemas.citation import Citation
from streams.serving.mcp.server import ApiReply, Context, server
from streams.serving.mcp.tools import TOOLS, ApiCall
from tests.command import PROGRAM, environment, files_holding, turn, turnfold
from tests.serving.serving import Server, serving
from tests.serving.test_local import is_served, told
from tests.waiting import WITHIN, until
from turnfold_client import Turnfold

pytestmark = pytest.mark.nightly

NAMES = ["context", "search", "remember", "correct", "end", "why", "state_as_of"]
Use = Callable[[Client], Awaitable[None]]


def key_of(file: Path, role: str, tenant: str = "acme") -> str:
    """A new key's token."""
    done = turnfold("admin", "keys", "add", "--keys", file, "--tenant", tenant, "--role", role)
    assert done.code == 0, done.err
    return done.out.strip()


def stdio(*args: str | Path, **more: str) -> StdioServerParameters:
    """`turnfold mcp` as a desktop client starts it."""
    return StdioServerParameters(
        command=PROGRAM, args=["mcp", *map(str, args)], env=environment(**more)
    )


@asynccontextmanager
async def over_http(url: str, key: str | None = None, mode: str = "auto") -> AsyncIterator[Client]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(headers=headers, timeout=WITHIN) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode) as client:
            yield client


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def says(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    return text_of(result)


async def refuses(client: Client, tool: str, **arguments: Any) -> str:
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    return text_of(result)


async def remembers(client: Client) -> None:
    """The whole way: said, found in it, recalled, explained, asked as of a time, read whole."""
    tools = {tool.name: tool for tool in (await client.list_tools()).tools}
    assert list(tools) == NAMES
    for name, tool in tools.items():
        assert tool.description and tool.annotations
        assert tool.annotations.read_only_hint is (name not in ("remember", "correct", "end"))
        assert tool.annotations.destructive_hint is (name in ("correct", "end"))
    stored = json.loads(await says(client, "remember", user_id="maya", text="I live in Leeds."))
    assert stored["ending"] == "applied"
    (kept,) = stored["kept"]
    assert kept["text"] == "Lives in Leeds."
    context = await says(client, "context", user_id="maya", query="Where do I live?")
    cited = re.search(r"Leeds.*\[(s:\w+)\]", context)
    assert cited, context
    await told_by(client, "why", "I live in Leeds.", id=cited[1])
    await told_by(client, "search", "Leeds", query="Leeds", user_id="maya")
    await told_by(client, "state_as_of", "Leeds", user_id="maya", as_of="2100-01-01")
    before = json.loads(await says(client, "state_as_of", user_id="maya", as_of="2020-01-01"))
    assert before["states"] == []
    templates = (await client.list_resource_templates()).resource_templates
    assert [one.uri_template for one in templates] == [
        "turnfold://users/{id}",
        "turnfold://sessions/{id}",
    ]
    for uri in ("turnfold://users/maya", f"turnfold://sessions/{stored['session_id']}"):
        (document,) = (await client.read_resource(uri)).contents
        assert "Leeds" in json.loads(document.model_dump_json())["text"]
    await corrects_and_ends(client, cited[1])


async def corrects_and_ends(client: Client, home: str) -> None:
    """A fact and a preference, by citation and by id; what is nowhere is an error."""
    why = {"user_id": "maya", "reason": "I never lived in Leeds."}
    told_ = json.loads(await says(client, "correct", id=home, text="Lives in York.", **why))
    assert told_["body_text"] == "Lives in York."
    assert json.loads(await says(client, "end", id=told_["state_id"], **why))["valid_to"]
    stored = json.loads(await says(client, "remember", user_id="maya", text="- Likes: jazz"))
    (like,) = stored["kept"]
    assert like["text"] == "likes jazz"
    told_ = json.loads(await says(client, "correct", id=like["id"], text="blues", **why))
    assert (told_["subject"], told_["status"]) == ("blues", "confirmed")
    cite = str(Citation.of("preference", told_["preference_id"]))
    assert json.loads(await says(client, "end", id=cite, **why))["status"] == "revoked"
    assert "no preference of that id" in await refuses(client, "end", id="nothing", **why)
    stored = json.loads(await says(client, "remember", user_id="maya", text="What a day!"))
    assert stored["kept"] == [] and "no fact or preference" in stored["note"]
    context = await says(client, "context", user_id="maya")
    assert not re.search("York|blues", context.partition("About")[0])


async def told_by(client: Client, tool: str, words: str, **arguments: Any) -> None:
    """Until the history, which is written within seconds, has it too."""
    async with asyncio.timeout(WITHIN):
        while words not in text_of(await client.call_tool(tool, arguments)):
            await asyncio.sleep(0.05)


@pytest.mark.component
@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_tools_over_stdio(tmp_path: Path, mode: str) -> None:
    async with Client(stdio("--history", tmp_path / "memory"), mode=mode) as client:
        await remembers(client)
    until(lambda: not is_served(tmp_path / "memory"))


@pytest.mark.component
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_tools_over_http_with_a_key(tmp_path: Path, mode: str) -> None:
    async def use(url: str) -> None:
        async with over_http(url, key_of(tmp_path / "keys.json", "write"), mode) as client:
            await remembers(client)

    key_of(tmp_path / "keys.json", "read")
    with serving(
        "--history", tmp_path / "memory", "--keys", tmp_path / "keys.json", "--extractor", "rules"
    ) as server:
        asyncio.run(use(server.url))


@pytest.mark.nightly
def test_stdio_to_a_server_with_keys(tmp_path: Path) -> None:
    token = key_of(tmp_path / "keys.json", "write")

    async def use(url: str) -> None:
        async with Client(stdio("--url", url, TURNFOLD_KEY=token)) as client:
            await remembers(client)
        async with Client(stdio("--url", url)) as client:
            assert "send a key" in await refuses(client, "context", user_id="maya")

    with serving(
        "--history", tmp_path / "memory", "--keys", tmp_path / "keys.json", "--extractor", "rules"
    ) as server:
        asyncio.run(use(server.url))


@pytest.mark.nightly
def test_stdio_shares_its_server_with_programs_and_survives_its_crash(tmp_path: Path) -> None:
    folder = tmp_path / "memory"

    async def use(memory: Turnfold) -> None:
        before = told(folder)
        async with Client(stdio("--history", folder, "--user", "maya")) as client:
            assert told(folder) == before
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert tools["context"].input_schema["required"] == []
            await says(client, "remember", text="I live in Leeds.")
            os.kill(before["pid"], signal.SIGKILL)
            await says(client, "remember", text="I like tea.")
            assert "Leeds" in await says(client, "context")
            assert "Leeds" not in await says(client, "context", user_id="ben")
            assert told(folder)["pid"] != before["pid"]
        assert "Leeds" in memory.context("maya").text

    with Turnfold.local(folder) as memory:
        asyncio.run(use(memory))
    until(lambda: not is_served(folder))


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, Path]]:
    """A server with keys."""
    folder = tmp_path_factory.mktemp("mcp")
    key_of(folder / "keys.json", "admin", "*")
    with serving("--history", folder / "memory", "--keys", folder / "keys.json") as server:
        yield server, folder / "keys.json"


@pytest.mark.component
async def test_a_key_sees_its_tenant_and_a_reader_writes_nothing(
    guarded: tuple[Server, Path],
) -> None:
    server, keys = guarded
    acme, other = key_of(keys, "write"), key_of(keys, "read", "other")
    until(lambda: reads(server, other) == 200)
    async with over_http(server.url, acme) as client:
        await says(client, "remember", user_id="maya", text="I live in Leeds.", session_id="s")
        (found,) = (await client.read_resource("turnfold://sessions/s")).contents
        assert "Leeds" in found.model_dump_json()
    async with over_http(server.url, other) as client:
        refused = await refuses(client, "remember", user_id="maya", text="I live in Rome.")
        assert refused == "Forbidden: the key's role is read, and this needs write"
        assert "Leeds" not in await says(client, "context", user_id="maya")
        assert json.loads(await says(client, "search", query="Leeds"))["hits"] == []
        with pytest.raises(MCPError, match="no session of that id"):
            await client.read_resource("turnfold://sessions/s")


def reads(server: Server, key: str) -> int:
    header = {"Authorization": f"Bearer {key}"}
    return server.client.get("/v1/users/nobody/context", headers=header).status_code


def test_without_a_key_nothing_is_answered(guarded: tuple[Server, Path]) -> None:
    server, _ = guarded
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    assert server.client.post("/mcp", json=asked).status_code == 401
    assert server.client.get("/mcp").status_code == 401


def test_pages_of_other_sites_call_no_tool(sample: Server) -> None:
    asked = {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}
    for header in ({"Origin": "https://example.org"}, {"Host": "example.org"}):
        assert sample.client.post("/mcp", json=asked, headers=header).status_code == 403
    assert sample.client.get("/mcp").status_code == 405
    assert sample.client.request("DELETE", "/mcp").status_code == 405


def test_over_http_an_admin_erases_a_user_where_that_is_allowed(tmp_path: Path) -> None:
    keys, folder = tmp_path / "keys.json", tmp_path / "memory"
    admin, writer = key_of(keys, "admin"), key_of(keys, "write")

    async def use(url: str) -> None:
        async with over_http(url, writer) as client:
            await says(client, "remember", user_id="maya", text="I live in Leeds.")
            refused = await refuses(client, "forget", user_id="maya")
            assert refused == "Forbidden: the key's role is write, and this needs admin"
        async with over_http(url, admin) as client:
            tools = {tool.name: tool for tool in (await client.list_tools()).tools}
            assert list(tools) == [*NAMES, "forget"]
            assert tools["forget"].annotations
            assert tools["forget"].annotations.destructive_hint is True
            assert tools["forget"].annotations.read_only_hint is False
            told_ = json.loads(await says(client, "forget", user_id="maya"))
            while told_["status"] != "done":
                told_ = json.loads(await says(client, "forget", user_id="maya"))
            await told_by(client, "context", "(nothing is known)", user_id="maya")

    with serving("--history", folder, "--keys", keys, "--mcp-forget") as server:
        asyncio.run(use(server.url))
    assert files_holding(folder, "Leeds") == []


async def test_over_stdio_it_is_there_when_allowed(tmp_path: Path) -> None:
    given = ("--history", tmp_path / "memory", "--user", "maya")
    async with Client(stdio(*given, "--allow-forget")) as client:
        await says(client, "remember", text="I live in Leeds.")
        told_ = json.loads(await says(client, "forget"))
        while told_["status"] != "done":
            told_ = json.loads(await says(client, "forget"))
        await told_by(client, "context", "(nothing is known)")
    async with Client(stdio(*given)) as client:
        with pytest.raises(MCPError, match="no tool 'forget'"):
            await client.call_tool("forget", {"user_id": "maya"})


@pytest.mark.component
@pytest.mark.parametrize(
    ("tool", "arguments", "says_why"),
    [
        ("context", {}, "user_id: "),
        ("context", {"user_id": ""}, "user_id: "),
        ("context", {"user_id": "maya", "max_tokens": 0}, "max_tokens: "),
        ("context", {"user_id": "maya", "userid": "x"}, "userid: "),
        ("context", {"user_id": "maya", "as_of": "yesterday"}, "as_of: "),
        ("search", {"query": ""}, "query: "),
        ("search", {"query": "tea", "limit": 1000}, "limit: "),
        ("why", {"id": "nothing"}, "no state"),
        ("state_as_of", {"user_id": "maya"}, "as_of: "),
        ("state_as_of", {"user_id": "maya", "as_of": "2026-13-01"}, "as_of: "),
        ("remember", {"user_id": "maya", "text": ""}, "text: "),
        ("remember", {"user_id": "a\nb", "text": "tea"}, "user_id: "),
    ],
)
def test_what_cannot_be_is_told_to_the_agent(
    sample: Server, tool: str, arguments: dict[str, Any], says_why: str
) -> None:
    async def use() -> str:
        async with over_http(sample.url) as client:
            return await refuses(client, tool, **arguments)

    assert says_why in asyncio.run(use())


async def test_ids_of_any_characters_reach_their_own(sample: Server) -> None:
    odd = ["a/b", "a b", "ü?#&", "..", "%2F", "{id}"]
    async with over_http(sample.url) as client:
        for number, name in enumerate(odd):
            told_ = f"I have {number} lamps."
            await says(client, "remember", user_id=name, text=told_, session_id=f"mcp {name}")
        for number, name in enumerate(odd):
            path = "".join(f"%{byte:02X}" for byte in f"mcp {name}".encode())
            (found,) = (await client.read_resource(f"turnfold://sessions/{path}")).contents
            assert f"I have {number} lamps." in found.model_dump_json(), name


async def test_an_unknown_tool_or_resource_is_an_error_that_names_those_there_are(
    sample: Server,
) -> None:
    async with over_http(sample.url) as client:
        with pytest.raises(MCPError, match="no tool 'forget'; there are context, search"):
            await client.call_tool("forget", {"user_id": "maya"})
        for uri in ("turnfold://tasks/t", "turnfold://users/", "https://example.org/users/u"):
            with pytest.raises(MCPError, match="there are turnfold://users/"):
                await client.read_resource(uri)


async def test_what_is_not_kept_of_a_text_is_told(sample: Server) -> None:
    async with over_http(sample.url) as client:
        given = {"user_id": "mcp-maya", "session_id": "mcp-s"}
        kept = json.loads(await says(client, "remember", text="I like tea.", **given))
        assert kept["left_out"] == {}
        image = "data:image/png;base64," + "iVBORw0KGgoAAAANSUhEUgAAAAEAAAAB" * 20
        told_ = json.loads(await says(client, "remember", text=f"Look: {image}", **given))
        assert told_["left_out"] == {"image without a description": 1}
    said = [one["user_input"] for one in sample.session("mcp-s").json()["conversations"]]
    assert said[0] == "I like tea."
    assert not any("iVBOR" in one for one in said)


def test_a_server_that_is_away_is_told_to_the_agent(tmp_path: Path) -> None:
    async def use() -> str:
        async with Client(stdio("--url", "http://127.0.0.1:1")) as client:
            return await refuses(client, "context", user_id="maya")

    assert asyncio.run(use()).startswith("Server away: no answer of the server")


def test_the_command_takes_a_history_or_a_url() -> None:
    for more in ([], ["--history", "m", "--url", "http://localhost:8400"]):
        done = turnfold("mcp", *more)
        assert done.code == 2 and "give --history DIR or --url URL, one of them" in done.err


def test_a_folder_of_other_things_is_left_as_it_was(tmp_path: Path) -> None:
    (tmp_path / "letter.txt").write_text("dear", "utf-8")
    done = turnfold("mcp", "--history", tmp_path)
    assert done.code == 3 and "name a new or empty folder" in done.err
    assert [one.name for one in tmp_path.iterdir()] == ["letter.txt"]


def test_what_is_sent_is_bounded_and_read_as_the_protocol_has_it(sample: Server) -> None:
    accepts = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}

    def post(content: bytes) -> httpx.Response:
        return sample.client.post("/mcp", content=content, headers=accepts)

    assert post(b"{").status_code == 400
    assert post(b"[]").status_code == 400
    assert post(b" " * 5_000_000).status_code == 413
    good = turn("mcp-turn")
    assert sample.endings([good]) == ["applied"]


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


@pytest.mark.component
@pytest.mark.parametrize("user", USERS)
@pytest.mark.parametrize(("tool", "name"), CASES)
def test_null_is_as_absent(tool: str, name: str, user: str | None) -> None:
    every = {one: VALUES[one] for one in TOOLS[tool].takes.model_fields}
    absent = {one: value for one, value in every.items() if one != name}
    assert asked(tool, {**every, name: None}, user) == asked(tool, absent, user)


@pytest.mark.component
@pytest.mark.parametrize("tool", TOOLS)
def test_all_null_is_as_no_arguments(tool: str) -> None:
    nothing = dict.fromkeys(TOOLS[tool].takes.model_fields)
    for user in USERS:
        assert asked(tool, nothing, user) == asked(tool, {}, user) == asked(tool, None, user)


@pytest.mark.component
def test_null_as_user_reads_the_memory_of_the_user_of_the_command_alone() -> None:
    (call,), _, _ = asked("search", {"query": "tea", "user_id": None}, "maya")
    assert call.query["user_id"] == "maya"
