"""The MCP inspector's command line against `POST /mcp` and `turnfold mcp`: a client that nobody
here wrote, on another SDK than the server's.

It needs node and npm: `.ci/run` asks for it by name, pytest alone does not."""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.building import run
from tests.command import PROGRAM
from tests.serving.serving import serving

PACKAGE = Path(__file__).with_name("mcp_inspector")
TOOLS = ["context", "search", "remember", "correct", "end", "why", "state_as_of"]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The inspector, of the versions in the lock file."""
    folder = tmp_path_factory.mktemp("inspector")
    for name in ("package.json", "package-lock.json"):
        (folder / name).write_bytes((PACKAGE / name).read_bytes())
    run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", folder=folder)
    return folder / "node_modules/@modelcontextprotocol/inspector-cli/build/index.js"


@pytest.fixture(scope="module", params=["http", "stdio"])
def target(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Any]:
    """The server as the inspector reaches it."""
    history = tmp_path_factory.mktemp("memory") / "history"
    if request.param == "stdio":
        yield [PROGRAM, "mcp", "--history", history, "--user", "maya"]
        return
    with serving("--history", history, "--extractor", "rules") as server:
        yield [f"{server.url}/mcp", "--transport", "http"]


def asked(program: Path, target: list[str], method: str, **more: Any) -> dict[str, Any]:
    """What the inspector prints, of a method of the protocol and the arguments of a tool."""
    options = [("--" + name.replace("_", "-"), value) for name, value in more.items()]
    given = [each for name, value in options for each in _each(name, value)]
    done = subprocess.run(
        ["node", program, *target, "--method", method, *given],
        capture_output=True, text=True, timeout=120, env=os.environ, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def _each(name: str, value: Any) -> list[str]:
    if isinstance(value, dict):
        return [name, *(f"{key}={text}" for key, text in value.items())]
    return [name, value]


def test_it_lists_tools_and_resources_with_their_schemas(program: Path, target: Any) -> None:
    tools = asked(program, target, "tools/list")["tools"]
    assert [tool["name"] for tool in tools] == TOOLS
    for tool in tools:
        assert tool["inputSchema"]["type"] == "object" and tool["description"]
        assert tool["annotations"]["destructiveHint"] is (tool["name"] in ("correct", "end"))
    templates = asked(program, target, "resources/templates/list")["resourceTemplates"]
    assert {each["uriTemplate"] for each in templates} == {
        "turnfold://users/{id}", "turnfold://sessions/{id}"
    }  # fmt: skip


def test_what_it_stores_it_finds_again(program: Path, target: Any) -> None:
    said = {"user_id": "maya", "text": "I live in Leeds."}
    stored = asked(program, target, "tools/call", tool_name="remember", tool_arg=said)
    assert json.loads(stored["content"][0]["text"])["ending"] == "applied"
    pack = asked(program, target, "tools/call", tool_name="context", tool_arg={"user_id": "maya"})
    assert not pack["isError"] and "Lives in Leeds." in pack["content"][0]["text"]
    document = asked(program, target, "resources/read", uri="turnfold://users/maya")
    (content,) = document["contents"]
    assert content["mimeType"] == "application/json"
    assert json.loads(content["text"])["user_id"] == "maya"


def test_a_wrong_argument_is_named(program: Path, target: Any) -> None:
    refused = asked(program, target, "tools/call", tool_name="context", tool_arg={"usr": "maya"})
    assert refused["isError"] and "usr: Extra inputs are not permitted" in str(refused["content"])
