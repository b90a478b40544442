"""Workers and clients on the broker that a test process shares."""

import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import pytest

from streams.broker import Broker, Security
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.tools.acls import ALL
from tests.kafka.acls import grant
from tests.kafka.counting import Counting
from tests.kafka.issuer import Issuer
from tests.kafka.working import Working, alone, one_worker, shared_broker, shared_settings

USER, PASSWORD = "alice", "wonderland"
PROCESSES = ("worker", "sink", "serve", "extract", "produce", "replay", "lag", "topics", "health",
             "doctor", "reset")  # fmt: skip
PRINCIPALS = ("operator", *PROCESSES, *(f"{name}-without" for name in PROCESSES))
numbers = count()


@dataclass(frozen=True)
class Certificates:
    """PEM files: an authority, and keys with chains signed by it for a broker and a client."""

    authority: Path
    broker: Path
    client: Path


@pytest.fixture(scope="session")
def broker() -> Broker:
    """One node, without login. All tests share it: give your topics and groups a prefix, or names
    of their own."""
    return shared_broker()


@pytest.fixture
def counting(broker: Broker, tmp_path: Path) -> Iterator[Counting]:
    """Topics of its own on the session's broker."""
    made = Counting(broker.bootstrap, f"counting{next(numbers)}", tmp_path)
    made.create()
    yield made
    made.stop()


@pytest.fixture
def working(tmp_path: Path) -> Iterator[Working]:
    """Workers with topics of their own."""
    with alone(tmp_path) as made:
        yield made


@pytest.fixture(scope="module")
def lasting(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Working]:
    """One worker, for all tests of a module."""
    with one_worker(tmp_path_factory.mktemp("workers")) as made:
        yield made


@pytest.fixture
def settings(broker: Broker) -> KafkaSettings:
    """How to reach `broker`."""
    return KafkaSettings.plain(broker.bootstrap)


@pytest.fixture
def prefixed() -> KafkaSettings:
    """The same with a topic prefix: topics and groups of this test's own, and none there yet."""
    return shared_settings()


@pytest.fixture(scope="session")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    """Made anew for each run by openssl, valid for a day."""
    folder = tmp_path_factory.mktemp("certificates")
    authority = certificate(folder, "authority")
    signed = ("-CA", str(authority), "-CAkey", str(folder / "authority.key"))
    return Certificates(
        authority,
        certificate(folder, "broker", *signed, "-addext", "subjectAltName=IP:127.0.0.1"),
        certificate(folder, "client", *signed),
    )


@pytest.fixture(scope="session")
def issuer(tmp_path_factory: pytest.TempPathFactory) -> Issuer:
    """An authorization server whose tokens `guarded` takes."""
    return Issuer(tmp_path_factory.mktemp("issuer"))


@pytest.fixture(scope="session")
def guarded(certificates: Certificates, issuer: Issuer) -> Iterator[Broker]:
    """A broker with all listeners: SASL, TLS for clients with a certificate, SERVER_TLS, SASL_TLS.
    It obeys ACLs: `USER` and the client with the certificate may do everything, `PRINCIPALS`
    nothing until they are given it (`acls.grant`)."""
    security = Security(
        users={USER: PASSWORD, **dict.fromkeys(PRINCIPALS, PASSWORD)},
        certificate=certificates.broker,
        authority=certificates.authority,
        tokens=issuer.accepted,
        guarded=True,
    )
    with Broker.start(security=security, short_lived=True) as started:
        for user in (USER, "CN=client", "ANONYMOUS"):
            grant(started, user, "", ALL)
        yield started


def certificate(folder: Path, name: str, *options: str) -> Path:
    """NAME.pem (certificate and, for all but the authority, its key) and NAME.key."""
    key, pem = folder / f"{name}.key", folder / f"{name}.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1",
         "-subj", f"/CN={name}", "-keyout", str(key), "-out", str(pem), *options],
        check=True, capture_output=True,
    )  # fmt: skip
    if options:
        pem.write_text(key.read_text() + pem.read_text())
    return pem
