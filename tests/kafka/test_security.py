"""The whole way with login and encryption; and what refuses it says so within seconds."""

import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import product
from pathlib import Path

import pytest

from sinks.digest import digest
from streams.broker import Broker
from streams.errors import ConfigurationError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from tests.command import environment, folded, turnfold
from tests.kafka.conftest import PASSWORD, USER, Certificates, certificate
from tests.kafka.installation import Installation, installed
from tests.kafka.issuer import AUDIENCE, CLIENT, SECRET, Issuer
from tests.planned import CONVERSATIONS
from tests.tiers import soaked
from tests.waiting import WITHIN

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


def weaker_scram(certificates: Certificates) -> dict[str, str]:
    """SASL_SSL, by SCRAM of 256 bits."""
    return scram(certificates) | {"SASL_MECHANISM": "SCRAM-SHA-256"}


def one_way(certificates: Certificates) -> dict[str, str]:
    """TLS, where only the broker has a certificate."""
    return {"SECURITY_PROTOCOL": "SSL", "TLS_CA": str(certificates.authority)}


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


WAYS: dict[str, tuple[str, Callable[[Certificates], dict[str, str]]]] = {
    "PLAIN": ("SASL_TLS", plain),
    "SCRAM-SHA-512": ("SASL_TLS", scram),
    "mutual TLS": ("TLS", mutual),
    "SCRAM-SHA-256": ("SASL_TLS", weaker_scram),
    "TLS": ("SERVER_TLS", one_way),
}
TOKENS = ("OAUTHBEARER, a server", "OAUTHBEARER, a file")


@pytest.fixture(params=[*soaked(WAYS, 3), *soaked(TOKENS, 1)])
def way(
    request: pytest.FixtureRequest, guarded: Broker, certificates: Certificates, issuer: Issuer,
    tmp_path: Path,
) -> Iterator[Installation]:  # fmt: skip
    """An installation of its own, whose processes come in that way."""
    prefix = re.sub("[^a-z0-9]+", "-", request.param.lower()) + "."
    tokens = {
        "SECURITY_PROTOCOL": "SASL_SSL",
        "SASL_MECHANISM": "OAUTHBEARER",
        "TLS_CA": str(certificates.authority),
    }
    with ExitStack() as stack:
        if request.param in WAYS:
            listener, settings = WAYS[request.param]
            told = settings(certificates)
        elif request.param.endswith("a file"):
            listener, file = "SASL_TLS", tmp_path / "token"
            file.write_text(issuer.token(USER) + "\n")
            told = tokens | {"OAUTH_TOKEN_FILE": str(file)}
        else:
            listener, url = "SASL_TLS", stack.enter_context(issuer.serving(USER))
            told = tokens | {"OAUTH_TOKEN_URL": url, "OAUTH_CLIENT_ID": CLIENT,
                             "OAUTH_CLIENT_SECRET": SECRET}  # fmt: skip
        told["BOOTSTRAP"] = guarded.bootstrap_of(listener)
        yield stack.enter_context(installed(guarded, prefix, tmp_path / "way", **told))


@pytest.mark.nightly
def test_worker_produce_lag_sink_and_admin_come_in(way: Installation) -> None:
    way.run("kafka", "produce", CONVERSATIONS)
    way.await_read()
    history = way.folder / "sunk"
    assert way.run("kafka", "sink", "--history", history, "--once")["rows"] > 0
    folded(CONVERSATIONS, history=way.folder / "by-file")
    assert digest(history)["memory"] == digest(way.folder / "by-file")["memory"]
    way.run("admin", "dlq", "replay", "--history", history)
    way.working.workers[-1].terminate()
    assert way.working.workers[-1].wait(WITHIN) == 0
    said = way.working.log()
    assert PASSWORD not in said and SECRET not in said and "Bearer" not in said


@pytest.mark.nightly
def test_a_certificate_is_renewed_without_a_restart(
    guarded: Broker, certificates: Certificates, tmp_path: Path
) -> None:
    file, usable = tmp_path / "client.pem", certificates.client.read_text()
    file.write_text(usable)
    settings = KafkaSettings(
        bootstrap=guarded.bootstrap_of("TLS"), security_protocol="SSL",
        tls_ca=certificates.authority, tls_certificate=file,
    )  # fmt: skip
    stranger = certificate(tmp_path, "stranger", "-addext", "subjectAltName=IP:127.0.0.1")

    async def answers() -> bool:
        async with connected(settings) as admin:
            return isinstance(await admin.list_topics(), list)

    async def scene() -> None:
        assert await answers()
        file.write_text("renewed soon")
        assert await answers(), "with the certificate of before"
        file.write_text(stranger.read_text())
        with pytest.raises((ConfigurationError, Unreachable)):
            await answers()
        file.write_text(usable)
        assert await answers()

    asyncio.run(scene())


# --- what is refused --------------------------------------------------------------------------

WRONG: dict[str, tuple[str, dict[str, str | None], int, str]] = {
    # listener, what is other than it should be (None: not given), exit code, part of the reason
    "wrong password": ("SASL_TLS", {"SASL_PASSWORD": "guessed"}, 3, "refused"),
    "nobody of that name": ("SASL_TLS", {"SASL_USERNAME": "mallory"}, 3, "refused"),
    "a mechanism it has not": (
        "SASL",
        {"SASL_MECHANISM": "SCRAM-SHA-256", "SECURITY_PROTOCOL": "SASL_PLAINTEXT", "TLS_CA": None},
        3, "refused",
    ),
    "an authority nobody knows": ("SASL_TLS", {"TLS_CA": None}, 3, "certificate"),
    "no such file": ("SASL_TLS", {"TLS_CA": "none.pem"}, 3, "none.pem"),
    "no password": ("SASL_TLS", {"SASL_PASSWORD": None}, 3, "sasl_password"),
    "plain, where TLS is spoken": ("SASL_TLS", {"SECURITY_PROTOCOL": None}, 5, "protocol"),
    "TLS, where plain is spoken": ("PLAINTEXT", {}, 5, "protocol"),
    "login, where none is taken": ("TLS", {}, 5, "protocol"),
}  # fmt: skip
COMMANDS: dict[str, list[str]] = {
    "worker": ["kafka", "worker"],
    "sink": ["kafka", "sink", "--history", "{folder}/history", "--once"],
    "produce": ["kafka", "produce", str(CONVERSATIONS)],
    "lag": ["kafka", "lag"],
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


def bearing(certificates: Certificates, **more: str) -> dict[str, str]:
    return {
        "SECURITY_PROTOCOL": "SASL_SSL", "SASL_MECHANISM": "OAUTHBEARER",
        "TLS_CA": str(certificates.authority), **more,
    }  # fmt: skip


def test_a_token_that_is_no_good_is_refused_with_the_reason(
    guarded: Broker, certificates: Certificates, issuer: Issuer, tmp_path: Path
) -> None:
    file = tmp_path / "token"
    settings = bearing(certificates, OAUTH_TOKEN_FILE=str(file))
    env = variables(guarded.bootstrap_of("SASL_TLS"), settings)
    for token, reason in (
        (None, "No such file"),
        ("", "is empty"),
        (issuer.token(USER, seconds=-3600), "does not take the token"),
        (issuer.token(USER, audience=f"not {AUDIENCE}"), "does not take the token"),
        (issuer.token(USER)[:-20], "does not take the token"),
    ):
        if token is not None:
            file.write_text(token)
        done = turnfold("kafka", "lag", env=env)
        assert (done.code, done.out) == (3, ""), done.err
        assert reason in done.err
        assert not token or token not in done.err


def test_an_authorization_server_that_refuses_or_is_away_is_told(
    guarded: Broker, certificates: Certificates, issuer: Issuer
) -> None:
    with issuer.serving(USER) as url:
        wrong = bearing(certificates, OAUTH_TOKEN_URL=url, OAUTH_CLIENT_ID=CLIENT,
                        OAUTH_CLIENT_SECRET="guessed")  # fmt: skip
        done = turnfold("kafka", "lag", env=variables(guarded.bootstrap_of("SASL_TLS"), wrong))
        assert done.code == 3 and "401" in done.err and "guessed" not in done.err
    done = turnfold("kafka", "lag", env=variables(guarded.bootstrap_of("SASL_TLS"), wrong))
    assert done.code == 5 and url in done.err
