"""The whole way with login and encryption; and what refuses it says so within seconds."""

import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import product
from pathlib import Path

import pytest

from sinks.digest import digest
from streams import sample
from streams.broker import Broker, Security
from tests.command import Done, environment, folded, turnfold
from tests.kafka.conftest import PASSWORD, USER, Certificates
from tests.kafka.working import Working
from tests.waiting import WITHIN

SAMPLE = Path(sample.__file__).with_name("conversations.ndjson")
SECONDS = 60.0
"""A hang lasts longer. An answer comes within 10 s (`client.admin.WITHIN`), at once as a rule;
the rest is for a machine that has other things to do."""


def scram(certificates: Certificates) -> dict[str, str]:
    """SASL_SSL, by SCRAM."""
    return {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "SCRAM-SHA-512",
        "SASL_USERNAME": USER,
        "SASL_PASSWORD": PASSWORD,
        "TLS_CA": str(certificates.authority),
    }


def plain(certificates: Certificates) -> dict[str, str]:
    """SASL_SSL, by PLAIN."""
    return scram(certificates) | {"SASL_MECHANISM": "PLAIN"}


def mutual(certificates: Certificates) -> dict[str, str]:
    """TLS, where the client too has a certificate."""
    return {
        "SECURITY_PROTOCOL": "SSL",
        "TLS_CA": str(certificates.authority),
        "TLS_CERTIFICATE": str(certificates.client),
    }


def variables(bootstrap: str, settings: dict[str, str]) -> dict[str, str]:
    """A command's environment."""
    given = {f"TURNFOLD_KAFKA_{name}": value for name, value in settings.items()}
    return environment(TURNFOLD_KAFKA_BOOTSTRAP=bootstrap, **given)


class Guarded:
    """A broker of its own; `env` is how its clients come in."""

    def __init__(self, broker: Broker, env: dict[str, str], folder: Path) -> None:
        self.broker, self.env, self.folder = broker, env, folder

    def run(self, *args: str | Path) -> Done:
        done = turnfold(*args, env=self.env)
        assert done.code == 0, done.err
        return done

    def health(self) -> "subprocess.CompletedProcess[str]":
        asked = [sys.executable, "-m", "streams.kafka.transport.health", "turnfold"]
        return subprocess.run(asked, env=self.env, capture_output=True, text=True)


@pytest.fixture(params=[("SASL_TLS", scram), ("SASL_TLS", plain), ("TLS", mutual)],
                ids=["scram", "plain", "mutual TLS"])  # fmt: skip
def way(
    request: pytest.FixtureRequest, certificates: Certificates, tmp_path: Path
) -> Iterator[Guarded]:
    listener, settings = request.param
    security = Security(
        users={USER: PASSWORD},
        certificate=certificates.broker,
        authority=certificates.authority,
    )
    with Broker.start(security=security, short_lived=True) as broker:
        env = variables(broker.bootstrap_of(listener), settings(certificates))
        yield Guarded(broker, env, tmp_path)


def test_worker_produce_lag_sink_and_admin_come_in(way: Guarded) -> None:
    working = Working(way.broker, way.folder)  # reads by the plain listener
    working.start(env=way.env)
    try:
        working.await_ready()
        sent = way.run("produce", SAMPLE, "--json").json()
        working.sent = sent["sent"]
        counts = working.await_done()
        healthy = way.health()
        assert healthy.returncode == 0, healthy.stderr
        behind = {one["topic"]: one["lag"] for one in way.run("lag", "--json").json()}
        assert behind["turns"] == 0
        history = way.folder / "sunk"
        sunk = way.run("sink", "--history", history, "--once", "--json").json()
        assert sunk["rows"] > counts["applied"] > 0
        by_file = folded(SAMPLE, history=way.folder / "by-file")
        assert by_file["applied"] == counts["applied"]
        assert digest(history)["memory"] == digest(way.folder / "by-file")["memory"]
        way.run("dlq", "replay", "--history", history, "--json")
        working.workers[-1].terminate()
        assert working.workers[-1].wait(WITHIN) == 0
        assert PASSWORD not in working.log()
    finally:
        working.stop()


# --- what is refused --------------------------------------------------------------------------

WRONG: dict[str, tuple[str, dict[str, str | None], int, str]] = {
    # listener, what is other than it should be (None: not given), exit code, part of the reason
    "wrong password": ("SASL_TLS", {"SASL_PASSWORD": "guessed"}, 3, "refused"),
    "nobody of that name": ("SASL_TLS", {"SASL_USERNAME": "mallory"}, 3, "refused"),
    "a mechanism it has not": ("SASL_TLS", {"SASL_MECHANISM": "SCRAM-SHA-256"}, 3, "refused"),
    "an authority nobody knows": ("SASL_TLS", {"TLS_CA": None}, 3, "certificate"),
    "no such file": ("SASL_TLS", {"TLS_CA": "none.pem"}, 3, "none.pem"),
    "no password": ("SASL_TLS", {"SASL_PASSWORD": None}, 3, "sasl_password"),
    "plain, where TLS is spoken": ("SASL_TLS", {"SECURITY_PROTOCOL": None}, 5, "protocol"),
    "TLS, where plain is spoken": ("PLAINTEXT", {}, 5, "protocol"),
    "login, where none is taken": ("TLS", {}, 5, "protocol"),
}
COMMANDS: dict[str, list[str]] = {
    "worker": ["worker"],
    "sink": ["sink", "--history", "{folder}/history", "--once"],
    "produce": ["produce", str(SAMPLE)],
    "lag": ["lag"],
}


def wrong_settings(given: dict[str, str], other: dict[str, str | None]) -> dict[str, str]:
    if other.get("SECURITY_PROTOCOL", "") is None:  # then nothing of TLS and login fits either
        return {}
    return {name: value for name, value in {**given, **other}.items() if value is not None}


@pytest.mark.parametrize(
    ("command", "name"),
    [*(("worker", name) for name in WRONG), *product(("sink", "produce", "lag"), list(WRONG)[::3])],
)
def test_a_client_that_is_refused_says_why_and_ends(
    guarded: Broker, certificates: Certificates, tmp_path: Path, command: str, name: str
) -> None:
    listener, other, code, reason = WRONG[name]
    settings = wrong_settings(scram(certificates), other)
    env = variables(guarded.bootstrap_of(listener), settings)
    began = time.monotonic()
    done = turnfold(*[part.format(folder=tmp_path) for part in COMMANDS[command]], env=env)
    assert time.monotonic() - began < SECONDS
    assert done.code == code, done.err
    assert reason in done.err and done.out == ""
    assert PASSWORD not in done.err and "guessed" not in done.err
    assert not (tmp_path / "history").exists()


def test_faust_s_own_command_says_so_too(guarded: Broker, certificates: Certificates) -> None:
    settings = scram(certificates) | {"SASL_PASSWORD": "guessed"}
    env = variables(guarded.bootstrap_of("SASL_TLS"), settings)
    faust = [sys.executable, "-m", "faust", "-A", "streams.apps.worker", "worker"]
    done = subprocess.run(faust, env=env, capture_output=True, text=True, timeout=2 * SECONDS)
    assert done.returncode != 0
    assert "refused" in done.stdout + done.stderr
