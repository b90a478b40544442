"""What a program does to use a model: `extractor="llm"`, with OPENAI_API_KEY set."""

from collections.abc import Callable
from pathlib import Path

import pytest

from streams.errors import ConfigurationError
from streams.serving.mcp.shared import SharedServer
from tests.command import ndjson, rows, turn, turnfold
from tests.llm.endpoint import Endpoint, error
from tests.waiting import until
from turnfold_client import LocalServerError, Turnfold

pytestmark = pytest.mark.component

Start = Callable[..., Endpoint]
MESSAGES = [{"role": "user", "content": "fact: a cat"}, {"role": "assistant", "content": "Nice."}]


def test_a_client_with_a_key_gets_the_models_facts(
    endpoint: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = endpoint()
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1")
    monkeypatch.setenv("OPENAI_BASE_URL", asked.url)
    monkeypatch.setenv("TURNFOLD_LLM_IDLE_SECONDS", "0.1")
    folder = tmp_path / "memory"
    with Turnfold.local(folder, extractor="llm") as memory:
        memory.add(MESSAGES, user_id="maya")
        until(lambda: memory.context(user_id="maya").items)
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
    done = turnfold("extract", "--history", tmp_path / "memory", "--base-url", asked.url,
                    "--model", "test")  # fmt: skip
    assert done.code == 3
    assert f"{asked.url} does not have the model 'test': set TURNFOLD_LLM_MODEL" in done.err
    assert rows(tmp_path / "memory", "SELECT count(*) FROM dead_letters") == [(0,)]
