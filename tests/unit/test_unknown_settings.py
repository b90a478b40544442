"""What the environment says that is no setting."""

import logging
from pathlib import Path
from typing import Annotated

import pytest
from pydantic import Field
from pydantic_settings import SettingsConfigDict

from streams.apps.worker import make_app
from streams.apps.worker_settings import WorkerSettings
from streams.errors import ConfigurationError
from streams.kafka.client.settings import KafkaSettings
from streams.llm.settings import LlmSettings
from streams.serving.http.settings import ServeSettings
from streams.settings import Settings, _warn


class Sample(Settings):
    """Settings of a test."""

    model_config = SettingsConfigDict(env_prefix="TURNFOLD_SAMPLE_", extra="forbid")
    about = "sample settings"
    port: Annotated[int, Field(description="A port.")] = 1


@pytest.fixture(autouse=True)
def _nothing_was_said() -> None:
    _warn.cache_clear()


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("TURNFOLD_SAMPLE_PORTS", "TURNFOLD_SAMPLE_PORTS (did you mean TURNFOLD_SAMPLE_PORT?)"),
        ("turnfold_sample_prot", "TURNFOLD_SAMPLE_PROT (did you mean TURNFOLD_SAMPLE_PORT?)"),
        ("TURNFOLD_SAMPLE_NOSUCH", "ignored: TURNFOLD_SAMPLE_NOSUCH"),
        ("TURNFOLD_SAMPLE_", "ignored: TURNFOLD_SAMPLE_"),
    ],
)
def test_a_variable_that_is_no_setting_is_named_once(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str, said: str
) -> None:
    monkeypatch.setenv(name, "9")
    with caplog.at_level(logging.WARNING):
        assert Sample.load().port == Sample.load().port == 1
    (message,) = caplog.messages
    assert message.startswith("sample settings: unknown settings are ignored") and message.endswith(
        said
    )
    assert "9" not in message


@pytest.mark.parametrize("settings", [WorkerSettings, KafkaSettings, LlmSettings, ServeSettings])
def test_every_setting_is_known(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, settings: type[Settings]
) -> None:
    """None is warned of, whatever its value; an unknown one beside them is."""
    prefix = settings.model_config["env_prefix"]
    for name in settings.model_fields:
        monkeypatch.setenv(f"{prefix}{name.upper()}", "")
    monkeypatch.setenv(f"{prefix}NO_SUCH", "")
    assert settings._unknown() == []  # none is of a file
    (message,) = caplog.messages
    assert message.split("ignored: ")[1].split()[0] == f"{prefix}NO_SUCH"
    assert message.count(prefix) == 1 + message.count("did you mean")


def test_the_session_of_a_worker_is_a_setting_within_what_a_broker_allows(tmp_path: Path) -> None:
    kafka = KafkaSettings.plain("localhost:1")
    for seconds in (10.0, 30.0):
        app = make_app(kafka, WorkerSettings(session_seconds=seconds), tmp_path)
        assert app.conf.broker_session_timeout == seconds
    assert WorkerSettings().session_seconds == 10.0
    for wrong in (5.9, 301):
        with pytest.raises(ConfigurationError, match="TURNFOLD_WORKER_SESSION_SECONDS"):
            WorkerSettings.load(session_seconds=wrong)
