"""Sinks into a bucket: every row once, whoever is killed and whatever the store does."""

import asyncio
import os
import random
import signal
import time
from pathlib import Path

import pytest

from sinks.digest import digest
from sinks.object_store import ObjectPath
from streams.kafka.client.topics import ensure_topics
from tests.fault.part import Part
from tests.kafka.history import send
from tests.kafka.test_sink import Log, Process, run, wait_until_read
from tests.kafka.working import options_of, shared_settings
from tests.object_store.faulty_store import FAULTS, FaultyStore, healthy, often
from tests.object_store.s3_server import KEY, SECRET, S3Server
from tests.waiting import WITHIN

pytestmark = pytest.mark.nightly

POINTS = [("after events", 1), ("after sessions", 2)]


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Log:
    return Log(tmp_path_factory.mktemp("log"))


def test_the_tables_are_those_of_the_file_runner(log: Log, root: ObjectPath) -> None:
    counts = run(log.settings, root, name="plain")
    assert digest(root) == log.expected
    assert (counts.read, counts.repeats, counts.misfits) == (len(log.messages), 0, 0)
    again = run(log.settings, root, name="plain")
    assert (again.read, again.rows, again.writes) == (0, 0, 0)


@pytest.mark.component
@pytest.mark.parametrize(("point", "nth"), POINTS)
def test_a_sink_killed_at_a_point_goes_on_without_loss_or_doubles(
    point: str, nth: int, log: Log, root: ObjectPath, tmp_path: Path
) -> None:
    asked = ("--once", "--kill-at", point, "--nth", str(nth))
    with Process(log.settings, root, "killed", *asked, said=tmp_path) as killed:
        killed.ends_with(-signal.SIGKILL)
    run(log.settings, root, name="killed", roll_bytes=170_000)  # other cuts than before
    assert digest(root) == log.expected


@pytest.mark.soak
def test_two_sinks_that_are_killed_again_and_again(
    log: Log, root: ObjectPath, tmp_path: Path
) -> None:
    kills = int(os.environ.get("STORE_KILLS", "4"))
    assert storm(log, root, tmp_path, kills) == kills
    assert digest(root) == log.expected


def test_two_sinks_that_are_killed_over_a_store_that_fails(
    log: Log, root: ObjectPath, tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One request in twelve is throttled, fails before or after it was done, is slow, or breaks off
    in the middle of an upload or an answer."""
    kills = int(os.environ.get("STORE_KILLS", "2"))
    with FaultyStore(s3.port, often(1 / 12)) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.environ(store.port)["AWS_ENDPOINT_URL_S3"])
        assert storm(log, root, tmp_path, kills) == kills
    assert set(store.counts) == {"none", *FAULTS}, store.counts
    monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.environ()["AWS_ENDPOINT_URL_S3"])
    assert digest(ObjectPath(str(root))) == log.expected


def test_an_outage_is_said_and_waited_for(
    log: Log, root: ObjectPath, tmp_path: Path, s3: S3Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    with FaultyStore(s3.port, healthy) as store:
        monkeypatch.setenv("AWS_ENDPOINT_URL_S3", s3.environ(store.port)["AWS_ENDPOINT_URL_S3"])
        more = ("--roll-bytes", "100000")
        with Process(log.settings, root, "outage", *more, said=tmp_path) as sink:
            sink.wait_for("after events")
            store.plan = out_of_service
            sink.wait_for("no data is lost: retrying every 5 s")
            store.plan = healthy
            sink.wait_for("writing again after")
            wait_until_read(log, root)
            sink.process.terminate()
            sink.ends_with(0)
        said = sink.said()
        assert "SlowDown" in said
        assert KEY not in said and SECRET not in said
        run(log.settings, root, name="outage")
        assert digest(root) == log.expected


def test_a_sink_whose_store_is_frozen_is_not_ready_until_it_answers(
    log: Log, root: ObjectPath, tmp_path: Path, s3: S3Server
) -> None:
    at = (*options_of(log.settings), "--history", str(root), "--name", "frozen")
    sink = Part("sink", tmp_path, *at, "--roll-mb", "0.05", "--roll-seconds", "1")
    try:
        sink.until_ready(True)
        with s3.frozen():
            assert "no write succeeded for" in sink.until_ready(False)["about"]
        sink.until_ready(True)
        wait_until_read(log, root)
        sink.process.terminate()
        assert sink.process.wait(WITHIN) == 0
    finally:
        sink.kill()
    run(log.settings, root, name="frozen")
    assert digest(root) == log.expected


def out_of_service(method: str, path: str, body: bytes) -> str:
    return "slow down"


def storm(log: Log, root: ObjectPath, folder: Path, kills: int) -> int:
    """Two sinks of one name, one of which is killed at a random moment, again and again, while
    messages come; how many were killed while they ran."""
    dice = random.Random(7)
    small = ("--roll-bytes", "40000")
    settings = shared_settings()
    asyncio.run(ensure_topics(settings))
    size = len(log.messages) // (kills + 1) + 1
    names = ["one", "two"]
    sinks = {
        name: Process(settings, root, "storm", *small, "--instance", name, said=folder)
        for name in names
    }
    killed = 0
    try:
        for turn in range(kills + 1):
            part = log.messages[turn * size : (turn + 1) * size]
            asyncio.run(send(settings, part, transaction=100))
            if turn == kills:
                break
            victim = names[turn % 2]
            sinks[victim].wait_for("storm: ")
            time.sleep(dice.uniform(0.1, 1.5))
            sinks[victim].process.kill()
            killed += sinks[victim].process.wait() == -signal.SIGKILL
            sinks[victim] = Process(
                settings, root, "storm", *small, "--instance", victim, said=folder
            )
        for one in sinks.values():
            one.wait_for("storm: ")
            one.process.terminate()
        for one in sinks.values():
            one.ends_with(0)
    finally:
        for one in sinks.values():
            one.process.kill()
            one.process.wait()
    for name in names:
        run(settings, root, name="storm", instance=name)
    return killed
