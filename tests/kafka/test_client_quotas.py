"""Kafka's own quotas: the broker slows a producer down, and `turnfold kafka produce` waits."""

import asyncio
import subprocess
from pathlib import Path

import pytest

from streams.broker import Broker, jars, java
from tests.command import ndjson, turn, turnfold
from tests.kafka.counting import read_all
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly
BYTES_A_SECOND = 100_000
RECORDS = 2_000
UNMEASURED = 10
"""Seconds: a broker takes the rate over as long, so that what comes first is not slowed down."""


def set_quota(broker: Broker) -> None:
    """Of every client id, as an administrator sets it."""
    done = subprocess.run(
        [java.find(), "-Xmx128m", "-cp", jars.classpath(), "kafka.admin.ConfigCommand",
         "--bootstrap-server", broker.bootstrap, "--alter", "--entity-type", "clients",
         "--entity-default", "--add-config", f"producer_byte_rate={BYTES_A_SECOND}"],
        capture_output=True, check=False, timeout=WITHIN,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout.decode() + done.stderr.decode()


def test_a_producer_that_the_broker_throttles_waits_and_loses_nothing(tmp_path: Path) -> None:
    records = [turn(f"e{number}", user_input="x" * 900) for number in range(RECORDS)]
    file = ndjson(tmp_path / "turns.ndjson", records)
    seconds = file.stat().st_size / BYTES_A_SECOND - UNMEASURED
    assert seconds > UNMEASURED
    with Broker.start(short_lived=True) as broker:
        set_quota(broker)
        done = turnfold("kafka", "produce", file, "--bootstrap", broker.bootstrap, "-o", "json")
        assert done.code == 0, done.err
        assert done.json()["sent"] == len(records)
        found = asyncio.run(read_all(broker.bootstrap, "turns"))
    assert len(found) == len({one.value for one in found}) == len(records)
    took = (found[-1].timestamp - found[0].timestamp) / 1000  # by the broker's clock
    assert took > seconds / 3, "the broker held it back"
