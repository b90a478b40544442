"""`turnfold admin doctor` on settings: unknown, contradicting, open to others; no secrets."""

from pathlib import Path

import pytest

from tests.command import environment, turnfold
from tests.contract.doctor import SECRET, doctor, found


def test_settings_that_are_none_are_named_with_the_nearest(tmp_path: Path) -> None:
    report = found(
        tmp_path, TURNFOLD_HISTROY="h", TURNFOLD_SERVE_PROT="1", TURNFOLD_CONFIG="",
        TURNFOLD_LLM_URL="u",
    )  # fmt: skip
    said = {one["found"]: one["do"] for one in report["settings"]}
    assert said["TURNFOLD_HISTROY: there is no such setting"] == "Did you mean TURNFOLD_HISTORY?"
    assert said["TURNFOLD_SERVE_PROT: there is no such setting"] == (
        "Did you mean TURNFOLD_SERVE_PORT?"
    )
    assert said["TURNFOLD_LLM_URL: there is no such setting"] == (
        "Did you mean TURNFOLD_LLM_BASE_URL?"
    )
    assert len(report["settings"]) == 3


@pytest.mark.parametrize(
    ("env", "status", "said"),
    [
        ({"TURNFOLD_SERVE_HOST": "0.0.0.0"}, "wrong", "keys"),
        ({"TURNFOLD_WORKER_STORE": "rocksdb"}, "wrong", "needs data"),
        ({"TURNFOLD_WORKER_STANDBYS": "1"}, "warning", "worker.store is memory"),
        ({"TURNFOLD_METRICS_PORT": "0.0.0.0:9101"}, "warning", "0.0.0.0"),
    ],
)
def test_settings_that_do_not_go_together_are_told(
    env: dict[str, str], status: str, said: str, tmp_path: Path
) -> None:
    (one,) = found(tmp_path, **env)["settings"]
    assert one["status"] == status
    assert said in one["found"]


def test_a_server_of_another_memory_is_a_warning(tmp_path: Path) -> None:
    report = found(
        tmp_path, "--bootstrap", "localhost:1", TURNFOLD_WORKER_APP_ID="a",
        TURNFOLD_SERVE_APP_ID="b", TURNFOLD_SERVE_RETENTION_DAYS="3",
    )  # fmt: skip
    said = " ".join(one["found"] for one in report["settings"])
    assert "worker.app_id is 'a', serve.app_id is 'b'" in said
    assert "serve.retention_days set" in said


def test_a_quota_of_a_tenant_without_a_key_limits_nobody(tmp_path: Path) -> None:
    keys = tmp_path / "keys.json"
    for tenant in ("acme", "beta"):
        added = turnfold(
            "admin", "keys", "add", "--keys", keys, "--tenant", tenant, "--role", "write"
        )
        assert added.code == 0, added.err
    told = {"TURNFOLD_SERVE_QUOTAS": '{"acme": {"records": 5}, "betta": {"bytes": 5}}'}
    (line,) = found(tmp_path, TURNFOLD_SERVE_KEYS=str(keys), **told)["settings"]
    assert f"tenant betta: no key of {keys} is of it" in line["found"]
    assert line["do"] == "Did you mean beta?"
    lines = found(tmp_path, **told)["settings"]
    assert ["without serve.keys" in one["found"] for one in lines] == [True, True]
    everybody = ("--tenant", "*", "--role", "admin")
    assert turnfold("admin", "keys", "add", "--keys", keys, *everybody).code == 0
    said = found(tmp_path, TURNFOLD_SERVE_KEYS=str(keys), **told).get("settings", [])
    assert all(one["status"] == "ok" for one in said)


def test_a_file_that_others_can_read_and_that_holds_a_secret(tmp_path: Path) -> None:
    file = tmp_path / "turnfold.toml"
    file.write_text(
        '[kafka]\nsecurity_protocol = "SASL_SSL"\nsasl_username = "u"\n'
        f'sasl_password = "{SECRET}"\n'
    )
    file.chmod(0o644)
    named = {"TURNFOLD_CONFIG": file.name}
    done = doctor(tmp_path, **named)
    assert done.code == 1
    assert "chmod 600" in done.out
    assert SECRET not in done.out + done.err
    file.chmod(0o600)
    assert doctor(tmp_path, **named).code == 0


def test_no_secret_is_printed_whatever_an_error_says(tmp_path: Path) -> None:
    env = {
        "TURNFOLD_KAFKA_SASL_PASSWORD": SECRET, "TURNFOLD_KEY": SECRET,
        "TURNFOLD_KAFKA_BOOTSTRAP": f"http://u:{SECRET}@host", "TURNFOLD_LLM_API_KEY": SECRET,
        "TURNFOLD_HISTORY": str(tmp_path / SECRET),
    }  # fmt: skip
    for options in ((), ("-o", "json")):
        done = doctor(tmp_path, *options, **env)
        assert done.code == 2
        assert SECRET not in done.out + done.err


def test_a_model_that_nobody_uses_needs_no_key(tmp_path: Path) -> None:
    done = turnfold("admin", "config", "-o", "json", cwd=tmp_path, env=environment())
    assert done.json()["problems"] == []
    done = turnfold(
        "admin", "config", "-o", "json", cwd=tmp_path, env=environment(TURNFOLD_LLM_TURNS="3")
    )
    assert "set OPENAI_API_KEY" in done.json()["problems"][0]
