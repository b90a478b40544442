"""A broker that is lost is one line, and one when it is back: in every process that uses it."""

import asyncio
import json
import logging
import re
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from streams.broker import Broker
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.group_source import ConsumerSource
from streams.kafka.client.outage_log import DOUBT, SETTLES, Outages
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.observability.logs import OF_BROKER
from streams.observability.readiness import STALE_AFTER
from streams.topology import TURNS
from tests.command import PROGRAM, environment, turn

AWAY = 40.0  # seconds; a lane is called stalled after 30
TOO_LONG = 120.0
MOST_LINES = 5
ONE, TWO = ("a", 1), ("b", 2)


class Processes:
    """Every part of the tier on one broker, each with its log; `produce` is fed all the time."""

    def __init__(self, broker: Broker, folder: Path) -> None:
        self.folder = folder
        at = ("--bootstrap", broker.bootstrap)
        model = ("--model", "m", "--base-url", "http://127.0.0.1:1/v1")
        self.running = {
            "worker": self._start("worker", *at),
            "sink": self._start("sink", *at, "--history", str(folder / "h"), "--name", "s"),
            "serve": self._start("serve", *at, "--port", "0"),
            "extract": self._start("extract", *at, *model),
            "produce": self._start("produce", "-", *at),
        }
        self.ending = threading.Event()
        self.feeder = threading.Thread(target=self._feed, daemon=True)
        self.feeder.start()

    def _start(self, command: str, *options: str) -> "subprocess.Popen[bytes]":
        with (self.folder / f"{command}.log").open("wb") as log:
            return subprocess.Popen(
                [PROGRAM, *([] if command == "serve" else ["kafka"]), command, *options],
                stdin=subprocess.PIPE, stdout=log, stderr=log, env=environment(),
            )  # fmt: skip

    def _feed(self) -> None:
        pipe = self.running["produce"].stdin
        assert pipe is not None
        for number in range(1_000_000):
            if self.ending.wait(0.02):
                break
            said = turn(f"e{number}", session_id=f"s{number % 7}", user_input="x" * 500)
            pipe.write(json.dumps(said).encode() + b"\n")
            pipe.flush()
        pipe.close()

    def log(self, name: str) -> list[str]:
        return (self.folder / f"{name}.log").read_text().splitlines()

    def hear(self, names: list[str], pattern: str, times: int = 1) -> None:
        deadline = time.monotonic() + TOO_LONG
        for name in names:
            while len(re.findall(pattern, "\n".join(self.log(name)))) < times:
                assert self.running[name].poll() is None, self.log(name)
                assert time.monotonic() < deadline, (name, self.log(name)[-20:])
                time.sleep(0.1)

    def end(self) -> dict[str, int]:
        """Their exit codes."""
        self.ending.set()
        self.feeder.join()
        codes = {"produce": self.running["produce"].wait(TOO_LONG)}
        for name, process in self.running.items():
            process.terminate()
            codes[name] = process.wait(TOO_LONG)
            assert process.stdin is not None
            process.stdin.close()
        return codes


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[Broker]:
    with Broker.start(short_lived=True, keep=tmp_path / "kafka") as started:
        yield started


def test_a_broker_that_is_away_costs_each_process_a_line_and_nothing_else(
    broker: Broker, tmp_path: Path
) -> None:
    processes = Processes(broker, tmp_path)
    names = list(processes.running)
    processes.hear(["worker"], ": restored ", times=8)
    processes.hear(["serve"], "answers")
    processes.hear(["sink", "extract"], r"\d partitions|does not answer")
    processes.hear(["sink"], "rows written")
    before = {name: len(processes.log(name)) for name in names}
    broker.nodes[0].kill()
    processes.hear(names, r"lost the broker at 127.0.0.1:\d+: .*; retrying")
    time.sleep(AWAY)
    broker.nodes[0].start()
    broker.await_ready()
    processes.hear(names, r"the broker at 127.0.0.1:\d+ is back after \d+ s")
    processes.hear(["sink"], "rows written", times=3)
    for name in names:
        assert processes.running[name].poll() is None, processes.log(name)
        lines = processes.log(name)[before[name] :]
        assert len(lines) <= MOST_LINES, (name, lines)
    codes = processes.end()
    assert codes == dict.fromkeys(names, 0)


class Watched:
    """Outages with a clock that is set, and what they say."""

    def __init__(self, caplog: pytest.LogCaptureFixture) -> None:
        self.now = 100.0
        self.outages = Outages(lambda: self.now)
        self.caplog = caplog

    def shows(self, name: str, text: str, level: int = logging.ERROR, ours: bool = False) -> bool:
        record = logging.LogRecord(name, level, "", 0, text, (), None)
        record.__dict__.update(OF_BROKER if ours else {})
        return self.outages.filter(record)

    def shows_library(self, text: str = "Unable connect to node with id 1: no") -> bool:
        return self.shows("aiokafka.client", text)

    def shows_ours(self) -> bool:
        return self.shows("streams.kafka.transport.lane", "session-0: again in 1.0 s", ours=True)


@pytest.fixture
def watched(caplog: pytest.LogCaptureFixture) -> Watched:
    return Watched(caplog)


def test_what_never_answered_is_left_to_who_asked(watched: Watched) -> None:
    watched.outages.failed(ONE, ConnectionRefusedError(111, "no"))
    assert watched.caplog.messages == []
    assert watched.shows_library()


def test_a_loss_and_its_end_are_a_line_each_however_many_connections_fail(watched: Watched) -> None:
    watched.outages.answered(ONE)
    for _ in range(3):
        watched.outages.failed(ONE, ConnectionRefusedError(111, "Connect call failed ('a', 1)"))
    watched.now += 42
    watched.outages.answered(ONE)
    watched.outages.answered(ONE)
    assert watched.caplog.messages == [
        "lost the broker at a:1: Connection refused; retrying",
        "the broker at a:1 is back after 42 s",
    ]


def test_only_lines_of_the_outage_are_left_out_and_no_critical_one(watched: Watched) -> None:
    watched.outages.answered(ONE)
    assert watched.shows_library()
    assert watched.shows_ours()
    watched.outages.failed(ONE, OSError("gone"))
    watched.now += 10 * SETTLES
    assert not watched.shows_library()
    assert not watched.shows_ours()
    assert watched.shows("streams.kafka.sink.writer", "3 messages are not rows")
    assert watched.shows("faust.app", "crashed", logging.CRITICAL)
    watched.outages.answered(ONE)
    assert not watched.shows_ours()
    watched.now += SETTLES + 1
    assert watched.shows_library()
    assert watched.shows_ours()


def test_where_another_broker_answers_stalls_and_other_errors_are_shown(watched: Watched) -> None:
    watched.outages.answered(ONE)
    watched.outages.answered(TWO)
    watched.outages.failed(ONE, OSError("gone"))
    watched.now += SETTLES + 1
    assert watched.shows_ours()
    assert watched.shows_library("Topic turns: authorization failed")
    assert not watched.shows_library()


def test_a_connection_that_is_made_again_at_once_is_no_loss(watched: Watched) -> None:
    watched.outages.answered(ONE)
    watched.outages.broke(ONE)
    assert not watched.shows_library()
    watched.outages.answered(ONE)
    watched.now += DOUBT + 1
    assert watched.shows_library()
    assert watched.caplog.messages == []


@pytest.mark.component
def test_a_member_without_partitions_sees_that_the_broker_is_away(broker: Broker) -> None:
    """It fetches nothing: its heartbeats tell it. While they are answered, it is no older than
    they are apart."""
    settings = KafkaSettings.load(bootstrap=broker.bootstrap, partitions=1)

    async def until(condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(TOO_LONG):
            while not condition():
                await asyncio.sleep(0.1)

    async def inside() -> None:
        await ensure_topics(settings, topics=(TURNS,))
        async with AsyncExitStack() as running:
            members = [
                KafkaConsumer(group_id="g", heartbeat_interval_ms=500, **settings.client())
                for _ in range(2)
            ]
            for member in members:
                member.subscribe([TURNS.name])
                await member.start()
                running.push_async_callback(member.stop)
            await until(lambda: {len(one.assignment()) for one in members} == {0, 1})
            (idle,) = (one for one in members if not one.assignment())
            source = ConsumerSource(idle, {})
            for _ in range(3):
                heard = idle.heard_at
                await until(lambda: idle.heard_at > heard)  # noqa: B023
                assert source.oldest_fetch_age() < STALE_AFTER
            node = broker.nodes[0]
            await asyncio.to_thread(node.kill)
            await until(lambda: source.oldest_fetch_age() > 15)
            await asyncio.to_thread(node.start)
            await asyncio.to_thread(broker.await_ready)
            await until(lambda: source.oldest_fetch_age() < 2)

    asyncio.run(inside())
