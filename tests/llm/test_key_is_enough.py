"""What a program does to use a model: `extractor="llm"`, with OPENAI_API_KEY set."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streams.errors import ConfigurationError
from streams.serving.mcp.shared import SharedServer
from tests.command import ndjson, rows, turn, turnfold
from tests.llm.endpoint import Endpoint, Reply, Request, error, model
from turnfold_client import AsyncTurnfold, LocalServerError, StatusError, Turnfold
from turnfold_client.models import Extracted

pytestmark = pytest.mark.component

Start = Callable[..., Endpoint]
MESSAGES = [{"role": "user", "content": "fact: a cat"}, {"role": "assistant", "content": "Nice."}]


def test_a_client_with_a_key_gets_the_models_facts(
    endpoint: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = endpoint()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", asked.url)
    folder = tmp_path / "memory"
    with Turnfold.local(folder, extractor="llm") as memory:
        memory.add(MESSAGES, user_id="maya")
        reply = memory.extract()
        assert isinstance(reply, Extracted) and reply.status == "done", reply
        assert memory.context(user_id="maya").items
        assert asked.requests[0].headers["Authorization"] == "Bearer sk-1"
        for extractor in ("rules", "none"):
            reason = rf"its server runs with extractor 'llm', not '{extractor}'"
            with pytest.raises(LocalServerError, match=reason):
                Turnfold.local(folder, extractor=extractor)
            shared = SharedServer(folder, extractor)
            with shared.held(), pytest.raises(ConfigurationError, match=reason):
                shared.address()
        for same in ("llm", None):
            Turnfold.local(folder, extractor=same).close()


async def test_a_short_script_loses_nothing(
    endpoint: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its end waits for the answers to what it has added; so does that of an async one."""

    def slow(request: Request) -> Reply:
        time.sleep(0.5)
        return model(request)

    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint(slow).url)
    folder = tmp_path / "memory"
    with Turnfold.local(folder, extractor="llm") as memory:
        memory.add(MESSAGES, user_id="maya")
    found = "SELECT owner_id, body_text FROM state_current ORDER BY 1"
    assert rows(folder, found) == [("maya", "a cat")]
    async with AsyncTurnfold.local(folder) as client:
        await client.add(MESSAGES, user_id="noah")
    assert rows(folder, found) == [("maya", "a cat"), ("noah", "a cat")]


def test_the_end_of_a_script_does_not_wait_for_an_endpoint_that_is_away(
    endpoint: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: Any
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", endpoint(lambda _: error(401, "who are you?")).url)
    begun = time.monotonic()
    with Turnfold.local(tmp_path / "memory", extractor="llm") as memory:
        memory.add(MESSAGES, user_id="maya")
        reply = memory.extract(prefer="wait=600")
        assert reply.status == "waiting" and "who are you?" in reply.about
    assert "the model has not read all turns" in caplog.text
    assert time.monotonic() - begun < 600


def test_a_server_that_asks_no_model_says_so(tmp_path: Path) -> None:
    with Turnfold.local(tmp_path / "memory", extractor="rules") as memory:
        memory.add(MESSAGES, user_id="maya")
        with pytest.raises(StatusError, match="runs with extractor 'rules', and asks no model"):
            memory.extract()


def test_a_server_without_a_key_is_not_one_that_asks_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its folder has chosen the model, and it runs with the rules alone."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    folder = tmp_path / "memory"
    Turnfold.local(folder, extractor="rules").close()
    (choice,) = folder.rglob("_extractor.json")
    choice.write_text('{"name": "llm"}')
    with Turnfold.local(folder) as memory:
        memory.add(MESSAGES, user_id="maya")
        with pytest.raises(LocalServerError, match="runs with extractor 'rules', not 'llm'"):
            Turnfold.local(folder, extractor="llm")


def test_without_a_key_the_error_says_which_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(LocalServerError, match="there is no key: set OPENAI_API_KEY"):
        Turnfold.local(tmp_path / "memory", extractor="llm")


@pytest.mark.parametrize(
    "message",
    [
        "The model `test` does not exist or you do not have access to it.",
        'model "test" not found, try pulling it first',
        "The model test was not found",
    ],
)
def test_a_model_that_the_endpoint_does_not_have(
    endpoint: Start, tmp_path: Path, message: str
) -> None:
    """As OpenAI, vLLM and Ollama say it."""
    asked = endpoint(lambda _: error(404, message))
    file = ndjson(tmp_path / "turns.ndjson", [turn("e1", user_id="u", user_input="a cat")])
    turnfold("run", file, "--history", tmp_path / "memory")
    done = turnfold("admin", "extract", "--history", tmp_path / "memory", "--base-url", asked.url,
                    "--model", "test")  # fmt: skip
    assert done.code == 3
    assert f"{asked.url} does not have the model 'test': set TURNFOLD_LLM_MODEL" in done.err
    assert rows(tmp_path / "memory", "SELECT count(*) FROM dead_letters") == [(0,)]
