"""A key of OpenAI is all that is needed; it is sent to nobody else."""

from pathlib import Path

import pytest

from streams.errors import ConfigurationError
from streams.llm.settings import MODEL_OF_OPENAI, OPENAI, LlmSettings
from tests.command import environment, ndjson, turn, turnfold

pytestmark = pytest.mark.component

PROXY = "http://proxy:1/v1"


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("variables", "address", "model", "key"),
    [
        ({"OPENAI_API_KEY": "sk-1"}, OPENAI, MODEL_OF_OPENAI, "sk-1"),
        ({"OPENAI_API_KEY": "sk-1\n", "TURNFOLD_LLM_MODEL": "m"}, OPENAI, "m", "sk-1"),
        ({"TURNFOLD_LLM_API_KEY": "sk-2"}, OPENAI, MODEL_OF_OPENAI, "sk-2"),
        ({"TURNFOLD_LLM_API_KEY": "sk-2", "OPENAI_API_KEY": "sk-1"}, OPENAI, MODEL_OF_OPENAI,
         "sk-2"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": PROXY}, PROXY, MODEL_OF_OPENAI, "sk-1"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": ""}, OPENAI, MODEL_OF_OPENAI, "sk-1"),
        ({"OPENAI_BASE_URL": PROXY}, PROXY, MODEL_OF_OPENAI, None),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_BASE_URL": OPENAI}, OPENAI, MODEL_OF_OPENAI,
         "sk-1"),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_BASE_URL": "https://eu.api.openai.com/v1"},
         "https://eu.api.openai.com/v1", MODEL_OF_OPENAI, "sk-1"),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_BASE_URL": "http://localhost:1/v1",
          "TURNFOLD_LLM_MODEL": "m"}, "http://localhost:1/v1", "m", None),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_BASE_URL": "http://api.openai.com/v1",
          "TURNFOLD_LLM_MODEL": "m"}, "http://api.openai.com/v1", "m", None),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_MODEL": "m",
          "TURNFOLD_LLM_BASE_URL": "https://api.openai.com.evil.example/v1"},
         "https://api.openai.com.evil.example/v1", "m", None),
        ({"OPENAI_API_KEY": "sk-1", "TURNFOLD_LLM_MODEL": "m",
          "TURNFOLD_LLM_BASE_URL": "https://notapi.openai.com.example/v1"},
         "https://notapi.openai.com.example/v1", "m", None),
    ],
)  # fmt: skip
def test_where_requests_go_and_with_which_key(
    variables: dict[str, str], address: str, model: str, key: str | None,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    settings = LlmSettings.load()
    sent = settings.api_key and settings.api_key.get_secret_value()
    assert (settings.base_url, settings.model, sent) == (address, model, key)


@pytest.mark.parametrize(
    ("variables", "reason"),
    [
        ({}, "TURNFOLD_LLM_API_KEY: there is no key: set OPENAI_API_KEY, or TURNFOLD_LLM_BASE_URL"),
        ({"OPENAI_API_KEY": " "}, "there is no key: set OPENAI_API_KEY"),
        ({"TURNFOLD_LLM_BASE_URL": OPENAI}, "there is no key: set OPENAI_API_KEY"),
        ({"TURNFOLD_LLM_BASE_URL": "http://x/v1"}, "TURNFOLD_LLM_MODEL: name a model that http://x"),
        ({"OPENAI_API_KEY": "sk-1ü"}, "TURNFOLD_LLM_API_KEY: OPENAI_API_KEY: it holds control or"),
        ({"OPENAI_API_KEY": "sk-1", "OPENAI_BASE_URL": "proxy"},
         "TURNFOLD_LLM_BASE_URL: OPENAI_BASE_URL: expected http://HOST/v1"),
        ({"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": "http://u:sk-1@x/v1"}, "not into the address"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named_in_a_line(
    variables: dict[str, str], reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigurationError) as caught:
        LlmSettings.load()
    assert reason in str(caught.value) and "sk-1" not in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("table", ["serve", "worker"])
def test_a_file_that_nobody_named_does_not_send_turns_to_a_model(
    table: str, tmp_path: Path
) -> None:
    """With a key in the environment that would be all it takes."""
    file = tmp_path / "turnfold.toml"
    file.write_text(f'[{table}]\nextractor = "llm"\n')
    records = ndjson(tmp_path / "turns.ndjson", [turn("e1")])
    command = ("run", records, "--history", tmp_path / "history")
    env = environment(OPENAI_API_KEY="sk-1", OPENAI_BASE_URL="http://127.0.0.1:1/v1")
    refused = turnfold(*command, env=env, cwd=tmp_path)
    assert refused.code == 3 and f"{table}.extractor: only a file that you name" in refused.err
    file.write_text(f'[{table}]\nextractor = "rules"\n')
    assert turnfold(*command, env=env, cwd=tmp_path).code == 0
