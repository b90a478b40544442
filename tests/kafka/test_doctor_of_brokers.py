"""`turnfold admin doctor` over real brokers: topics, rows, clocks, login, and no secret told."""

import asyncio
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from aiokafka.admin import NewTopic
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType

from streams.broker import Broker
from streams.doctor import clock
from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import changelog_name
from streams.kafka.transport.marker import MARKER_KEY
from streams.topology import AGENTS
from tests.command import environment, turnfold
from tests.kafka.conftest import PASSWORD, USER, Certificates
from tests.kafka.counting import create_known
from tests.kafka.working import Working, alone

OLD = json.dumps({"offsets": {}, "note": {}, "log": "log", "partitions": 4, "format": 0}).encode()


def found(*options: str | Path, code: int, **env: str) -> dict[str, dict[str, Any]]:
    """The findings of one call by check; its exit code."""
    done = turnfold("admin", "doctor", *options, "-o", "json", env=environment(**env))
    assert done.code == code, done
    assert PASSWORD not in done.out + done.err
    report = {one["check"]: one for one in done.json()["findings"]}
    assert len(report) >= 4
    return report


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Working]:
    """A broker of this test's own, without topics."""
    with Broker.start(short_lived=True) as own, alone(tmp_path, own) as made:
        yield made


def test_a_cluster_from_its_first_day_to_a_wrong_topic(fresh: Working, tmp_path: Path) -> None:
    at = fresh.at
    report = found(*at, code=0)
    assert report["topics"]["found"] == "none there yet; the first worker creates them"
    assert report["replicas"]["status"] == "ok"
    assert report["security"]["status"] == "ok"  # loopback
    assert report["clock"]["status"] == "ok"

    fresh.start("--store", "rocksdb", "--data", str(tmp_path / "tables"))
    fresh.await_ready()
    data = {"TURNFOLD_WORKER_STORE": "rocksdb", "TURNFOLD_WORKER_DATA": str(tmp_path / "tables"),
            "TURNFOLD_SERVE_STORE": "rocksdb", "TURNFOLD_SERVE_DATA": str(tmp_path)}  # fmt: skip
    report = found(*at, code=1, **data)  # one broker alone is a warning
    assert report["topics"]["found"].startswith("19 as they should be"), report["topics"]
    assert report["replicas"]["status"] == "warning"
    assert "1 members" in report["broker"]["found"]
    assert report["worker tables"]["status"] == "ok"
    assert report["fsync of worker.data"]["status"] == "ok"
    assert report["fsync of serve.data"]["status"] == "ok"

    report = found(*at, code=2, TURNFOLD_KAFKA_PARTITIONS="6")
    assert "(partitions)" in report["topics"]["found"]

    asyncio.run(altered(fresh.bootstrap, "turns", {"message.timestamp.type": "CreateTime"}))
    report = found(*at, code=2)
    assert "turns (message.timestamp.type" in report["topics"]["found"]


def test_probe_measures_the_clock_and_leaves_one_topic(
    settings: KafkaSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    report = found("--bootstrap", settings.bootstrap, "--probe", code=0)
    assert report["clock"]["status"] == "ok"
    assert report["write"]["status"] == "ok"
    real = time.time
    for off, status in ((30.0, "warning"), (-3_600.0, "wrong")):
        monkeypatch.setattr("streams.doctor.clock.time.time", lambda off=off: real() + off)
        _, one = asyncio.run(clock.probe(settings))
        assert one.status == status, one
        assert ("ahead" if off > 0 else "behind") in one.found


def test_a_record_from_the_future_is_told_without_a_write(fresh: Working) -> None:
    """Another program's topic, whose records have the time of their producer."""
    settings = fresh.settings
    asyncio.run(sent(settings, "turns", b"k", b"v", int((time.time() + 1_800) * 1000)))
    report = found(*fresh.at, code=2)
    assert report["clock"]["status"] == "wrong"
    assert "future" in report["clock"]["found"]


def test_rows_of_an_older_version_are_wrong(fresh: Working) -> None:
    settings = fresh.settings
    asyncio.run(sent(settings, changelog_name("turnfold", AGENTS[0]), MARKER_KEY, OLD))
    report = found(*fresh.at, code=2)
    assert "format 0" in report["row format"]["found"]


def test_a_login_is_named_and_its_password_is_not(
    guarded: Broker, certificates: Certificates
) -> None:
    at = {
        "TURNFOLD_KAFKA_BOOTSTRAP": guarded.bootstrap_of("SASL_TLS"),
        "TURNFOLD_KAFKA_SECURITY_PROTOCOL": "SASL_SSL",
        "TURNFOLD_KAFKA_SASL_MECHANISM": "SCRAM-SHA-512",
        "TURNFOLD_KAFKA_SASL_USERNAME": USER,
        "TURNFOLD_KAFKA_SASL_PASSWORD": PASSWORD,
        "TURNFOLD_KAFKA_TLS_CA": str(certificates.authority),
    }
    report = found(code=1, **at)
    assert report["security"]["status"] == "warning"  # the certificate is valid for a day
    assert f"logged in as {USER}" in report["security"]["found"]
    wrong = at | {"TURNFOLD_KAFKA_SASL_PASSWORD": PASSWORD + "-not"}
    assert "refused" in found(code=2, **wrong)["broker"]["found"]


async def sent(
    settings: KafkaSettings, topic: str, key: bytes, value: bytes, at: int | None = None
) -> None:
    """One record of a time, in a topic that is made for it."""
    async with connected(settings) as admin:
        await create_known(admin, NewTopic(topic, 4, 1))
    async with KafkaProducer(**settings.client()) as producer:
        await producer.send_and_wait(topic, value, key=key, partition=0, timestamp_ms=at)


async def altered(bootstrap: str, topic: str, settings: dict[str, str]) -> None:
    async with connected(KafkaSettings.plain(bootstrap)) as admin:
        resource = ConfigResource(ConfigResourceType.TOPIC, topic, settings)
        await admin.alter_configs([resource])
