"""Settings of the Kafka clients: login and TLS reach every client, passwords reach no text."""

import asyncio
import time
from pathlib import Path
from typing import Any, get_args
from uuid import uuid4

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer

from streams.apps.worker import make_app
from streams.apps.worker_settings import WorkerSettings
from streams.broker import Broker
from streams.errors import ConfigurationError, TurnfoldError, Unreachable
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from streams.llm.settings import LlmSettings
from streams.serving.http.settings import ServeSettings
from streams.settings import Settings
from tests.kafka.conftest import PASSWORD, USER, Certificates


def login(mechanism: str = "PLAIN", password: str = PASSWORD) -> dict[str, Any]:
    return {
        "security_protocol": "SASL_PLAINTEXT",
        "sasl_mechanism": mechanism,
        "sasl_username": USER,
        "sasl_password": password,
    }


def tls(certificates: Certificates, **more: Any) -> dict[str, Any]:
    return {"security_protocol": "SSL", "tls_ca": certificates.authority, **more}


async def round_trip(settings: KafkaSettings) -> bytes | None:
    """Creates a topic, writes a record into it and reads it back: admin, producer, consumer."""
    topic = f"round-trip-{uuid4()}"
    async with connected(settings) as admin:
        await create(admin, [spec(topic, 1)])
    async with AIOKafkaProducer(**settings.client()) as producer:
        await producer.send_and_wait(topic, b"hello")
    async with AIOKafkaConsumer(
        topic, auto_offset_reset="earliest", **settings.client()
    ) as consumer:
        record = await asyncio.wait_for(consumer.getone(), 120)
    value: bytes | None = record.value
    return value


async def refused(settings: KafkaSettings) -> TurnfoldError:
    """The error of a connection that must not come about, within ten seconds."""
    start = time.monotonic()
    with pytest.raises(TurnfoldError) as caught:
        async with connected(settings):
            pass
    assert time.monotonic() - start < 60
    return caught.value


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_clients_log_in(guarded: Broker, mechanism: str) -> None:
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("SASL"), **login(mechanism))
    assert asyncio.run(round_trip(settings)) == b"hello"


def test_clients_encrypt_and_show_a_certificate(
    guarded: Broker, certificates: Certificates
) -> None:
    settings = KafkaSettings.load(
        bootstrap=guarded.bootstrap_of("TLS"),
        **tls(certificates, tls_certificate=certificates.client),
    )
    assert asyncio.run(round_trip(settings)) == b"hello"


def test_clients_log_in_over_tls(guarded: Broker, certificates: Certificates) -> None:
    both = {**tls(certificates), **login("SCRAM-SHA-512"), "security_protocol": "SASL_SSL"}
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("SASL_TLS"), **both)
    assert asyncio.run(round_trip(settings)) == b"hello"


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-512"])
def test_a_wrong_password_is_a_configuration_error(guarded: Broker, mechanism: str) -> None:
    wrong = login(mechanism, password="looking-glass")
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("SASL"), **wrong)
    error = asyncio.run(refused(settings))
    assert isinstance(error, ConfigurationError), error
    assert USER in str(error) and "looking-glass" not in str(error)


def test_a_mechanism_the_broker_has_not_is_a_configuration_error(guarded: Broker) -> None:
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("SASL"), **login("SCRAM-SHA-256"))
    error = asyncio.run(refused(settings))
    assert isinstance(error, ConfigurationError), error
    assert "SCRAM-SHA-256" in str(error)


def test_a_certificate_that_nobody_vouches_for_is_a_configuration_error(guarded: Broker) -> None:
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("TLS"), security_protocol="SSL")
    error = asyncio.run(refused(settings))
    assert isinstance(error, ConfigurationError), error
    assert "certificate" in str(error)


def test_a_client_without_the_certificate_that_is_asked_for_gets_an_error(
    guarded: Broker, certificates: Certificates
) -> None:
    settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of("TLS"), **tls(certificates))
    assert asyncio.run(refused(settings)).exit_code in (3, 5)


def test_the_wrong_protocol_is_an_error_not_a_hang(
    guarded: Broker, certificates: Certificates
) -> None:
    for listener, given in [
        ("SASL", {}),
        ("TLS", {}),
        ("PLAINTEXT", login()),
        ("PLAINTEXT", tls(certificates)),
        ("SASL", tls(certificates)),
    ]:
        settings = KafkaSettings.load(bootstrap=guarded.bootstrap_of(listener), **given)
        assert asyncio.run(refused(settings)).exit_code in (3, 5), (listener, given)


def test_a_server_that_never_answers_is_unreachable() -> None:
    async def mute(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # until the client has gone
        writer.close()
        await writer.wait_closed()

    async def against_a_mute_server() -> TurnfoldError:
        server = await asyncio.start_server(mute, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        async with server:
            with pytest.raises(Unreachable) as caught:
                async with connected(KafkaSettings.plain(f"127.0.0.1:{port}"), within=1.0):
                    pass
            await asyncio.sleep(0.1)  # lets `mute` see that
        return caught.value

    start = time.monotonic()
    assert "127.0.0.1" in str(asyncio.run(against_a_mute_server()))
    assert time.monotonic() - start < 10, "as long as without `within`"


def test_the_second_address_is_asked_when_the_first_is_dead(broker: Broker) -> None:
    settings = KafkaSettings.plain(f"127.0.0.1:1,{broker.bootstrap}")
    assert asyncio.run(round_trip(settings)) == b"hello"


PATHS = [
    (kind, name)
    for kind in (KafkaSettings, LlmSettings, ServeSettings, WorkerSettings)
    for name, field in kind.model_fields.items()
    if Path in get_args(field.annotation)
]


@pytest.mark.parametrize(("kind", "name"), PATHS, ids=[f"{one.__name__}-{n}" for one, n in PATHS])
def test_an_empty_path_is_not_the_current_folder(
    monkeypatch: pytest.MonkeyPatch, kind: type[Settings], name: str
) -> None:
    variable = kind.model_config["env_prefix"] + name.upper()
    monkeypatch.setenv(variable, "")
    with pytest.raises(ConfigurationError, match=f"{variable}: is empty"):
        kind.load()


def test_the_environment_is_read_and_arguments_win(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TURNFOLD_KAFKA_BOOTSTRAP", "a:1,b:2")
    monkeypatch.setenv("TURNFOLD_KAFKA_PARTITIONS", "6")
    assert KafkaSettings.load().addresses == [("a", 1), ("b", 2)]
    given = KafkaSettings.load(bootstrap="[::1]:3", partitions=None)
    assert given.addresses == [("::1", 3)]
    assert given.partitions == 6
    assert KafkaSettings.plain("c:4").partitions == 4


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"bootstrap": "kafka"}, "TURNFOLD_KAFKA_BOOTSTRAP"),
        ({"bootstrap": "kafka:99999"}, "'kafka:99999' is not host:port"),
        ({"bootstrap": "a:1,me:secret@kafka:9092"}, "sasl_username"),
        ({"partitions": 0}, "TURNFOLD_KAFKA_PARTITIONS"),
        ({"security_protocol": "SASL_SSL"}, "sasl_username"),
        ({"sasl_username": "alice", "sasl_password": "secret"}, "security_protocol"),
        ({"tls_ca": "ca.pem"}, "security_protocol"),
        ({"security_protocol": "SSL", "tls_key": "key.pem"}, "tls_certificate"),
        ({"sasl_mechanism": "GSSAPI"}, "TURNFOLD_KAFKA_SASL_MECHANISM"),
    ],
)
def test_what_does_not_fit_together_is_named(given: dict[str, Any], named: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        KafkaSettings.load(**given)
    assert named in str(caught.value)
    assert "secret" not in str(caught.value)


def test_no_text_of_the_settings_holds_the_password() -> None:
    settings = KafkaSettings.load(bootstrap="a:1", **login())
    for text in (repr(settings), str(settings), settings.model_dump_json()):
        assert PASSWORD not in text
    assert settings.client()["sasl_plain_password"] == PASSWORD


def test_a_tls_file_that_cannot_be_used_is_named(
    tmp_path: Path, certificates: Certificates
) -> None:
    for field in ("tls_ca", "tls_certificate"):
        for path in (tmp_path / "missing.pem", tmp_path / "empty.pem"):
            (tmp_path / "empty.pem").touch()
            given = {"tls_ca": certificates.authority, field: path}
            settings = KafkaSettings.load(bootstrap="a:1", security_protocol="SSL", **given)
            with pytest.raises(ConfigurationError, match=f"TURNFOLD_KAFKA_{field.upper()}"):
                settings.client()


def test_a_key_in_the_place_of_its_file_is_not_repeated() -> None:
    pasted = "-----BEGIN PRIVATE KEY-----\nsecret"
    settings = KafkaSettings.load(bootstrap="a:1", security_protocol="SSL", tls_certificate=pasted)
    with pytest.raises(ConfigurationError, match="TURNFOLD_KAFKA_TLS_CERTIFICATE") as caught:
        settings.client()
    assert "secret" not in str(caught.value)


def test_faust_s_producer_gets_what_aiokafka_gets(
    certificates: Certificates, tmp_path: Path
) -> None:
    for given in (
        {},
        login("SCRAM-SHA-512"),
        tls(certificates),
        {**tls(certificates), **login(), "security_protocol": "SASL_SSL"},
        {"topic_prefix": "acme."},
    ):
        settings = KafkaSettings.load(bootstrap="a:1", **given)
        ours = settings.client()
        faust = make_app(settings, WorkerSettings(), tmp_path).connection
        assert ("ssl_context" in ours) == ("ssl_context" in faust)
        assert {**ours, "ssl_context": None} == {**faust, "ssl_context": None}


@pytest.mark.parametrize(
    ("prefix", "reason"),
    [
        ("acme/", "contains '/'"),
        ("über.", "contains 'ü'"),
        ("a b", "contains ' '"),
        ("x" * 240, "has 240 characters; at most 233 are possible"),
        ("turns.", "begins with 'turns.'"),
    ],
)
def test_a_wrong_prefix_is_refused_with_the_reason(prefix: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match="TURNFOLD_KAFKA_TOPIC_PREFIX") as caught:
        KafkaSettings.load(topic_prefix=prefix)
    assert reason in str(caught.value)
