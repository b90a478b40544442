"""The Faust transport on a real broker, under worker processes that are killed."""

import asyncio
import os
import random
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
from aiokafka import AIOKafkaProducer

from streams.broker import Broker
from tests.kafka.counting import Counting, read_all
from tests.kafka.counting_worker import POISON
from tests.waiting import WITHIN


def test_guarantee_6_counts_exactly_once_and_leaves_when_told(counting: Counting) -> None:
    counting.produce(3_000)
    worker = counting.start()
    counting.wait_done()
    worker.terminate()
    assert worker.wait(WITHIN) == 0
    assert counting.problems() == []
    assert counting.totals()["records"] == 3_000


def test_a_new_worker_restores_the_table_and_continues(counting: Counting) -> None:
    counting.produce(2_000)
    first = counting.start()
    counting.wait_done()
    first.terminate()
    first.wait(WITHIN)
    counting.produce(1_000)
    second = counting.start()
    counting.wait_done()
    second.terminate()
    assert second.wait(WITHIN) == 0
    assert counting.problems() == []
    assert counting.totals()["records"] == 1_000
    assert counting.totals()["restored_rows"] > 0


@pytest.mark.component
@pytest.mark.parametrize(
    ("point", "after"), [("restoring", 6), ("before commit", 9), ("committed", 9)]
)
def test_guarantee_6_killed_at_a_named_point(counting: Counting, point: str, after: int) -> None:
    counting.produce(2_000)
    first = counting.start("--instance", "a", "--max-records", "50")
    counting.wait_for("committed", times=4)
    first.kill()
    first.wait()
    doomed = counting.start("--instance", "a", "--die", point, "--after", str(after // 2))
    assert doomed.wait(WITHIN) == -signal.SIGKILL
    counting.produce(1_000)
    counting.start("--instance", "a")
    counting.wait_done()
    assert counting.problems() == []


def test_guarantee_6_two_workers_killed_at_random(counting: Counting) -> None:
    chance = random.Random(5)
    names = ["a", "b"]
    running = {name: counting.start("--instance", name, "--max-records", "50") for name in names}
    for _ in range(6):
        counting.produce(1_500)
        victim = chance.choice(names)
        time.sleep(chance.uniform(0.2, 1.5))
        running[victim].kill()
        running[victim].wait()
        running[victim] = counting.start("--instance", victim, "--max-records", "50")
    counting.wait_done()
    assert counting.problems() == []


def test_a_second_worker_joins_and_leaves(counting: Counting) -> None:
    first = counting.start()
    counting.wait_for(" ready\n", times=4)
    counting.produce(2_000)
    second = counting.start()
    counting.wait_for(" ready\n", times=2)
    counting.produce(2_000)
    counting.wait_done()
    second.terminate()
    assert second.wait(WITHIN) == 0
    counting.produce(2_000)
    counting.wait_done()
    first.terminate()
    assert first.wait(WITHIN) == 0
    assert counting.problems() == []
    assert counting.totals(0)["records"] + counting.totals(1)["records"] == 6_000
    assert counting.totals(1)["records"] > 0


def test_a_zombie_cannot_write(counting: Counting) -> None:
    zombie = counting.start("--max-records", "20")
    counting.wait_for(" ready\n", times=4)
    counting.produce(1_000)
    counting.wait_for("before commit", times=8)
    zombie.send_signal(signal.SIGSTOP)
    counting.start()
    counting.produce(1_000)
    counting.wait_done()  # the other one has waited for the session to end, and taken over
    zombie.send_signal(signal.SIGCONT)
    counting.produce(1_000)
    counting.wait_done()
    assert zombie.poll() is None
    assert counting.problems() == []


@pytest.mark.component
def test_a_broker_that_dies_and_comes_back(tmp_path: Path) -> None:
    with Broker.start() as broker:
        counting = Counting(broker.bootstrap, "counting", tmp_path)
        counting.create()
        counting.produce(2_000)
        worker = counting.start("--max-records", "20", "--stall-after", "2")
        counting.wait_for("committed", times=8)
        broker.nodes[0].kill()
        counting.wait_for("STALLED")
        broker.nodes[0].start()
        broker.await_ready()
        counting.produce(1_000)
        counting.wait_done()
        counting.wait_for("makes progress again")
        worker.terminate()
        assert worker.wait(WITHIN) == 0
        assert counting.problems() == []
        assert counting.totals()["stalls"] >= 1


def test_topics_that_do_not_match_are_refused_at_start(broker: Broker, tmp_path: Path) -> None:
    counting = Counting(broker.bootstrap, "uneven", tmp_path)
    counting.create(taps=2)
    assert counting.start().wait(WITHIN) == 3
    assert "uneven-taps has 2" in counting.log()
    assert "uneven-clicks has 4" in counting.log()


def test_a_fault_of_the_program_ends_the_worker_and_commits_nothing(counting: Counting) -> None:
    asyncio.run(_poison(counting))
    assert counting.start().wait(WITHIN) == 1
    assert "ends the worker" in counting.log()
    assert counting.done() == 0
    assert asyncio.run(read_all(counting.bootstrap, counting.counts)) == []


async def _poison(counting: Counting) -> None:
    async with AIOKafkaProducer(bootstrap_servers=counting.bootstrap) as producer:
        await producer.send_and_wait(counting.clicks, b"x", POISON)


def test_of_two_workers_with_one_name_the_older_ends(counting: Counting) -> None:
    older = counting.start("--instance", "a", "--max-records", "20")
    counting.wait_for(" ready\n", times=4)
    counting.produce(1_000)
    counting.wait_for("before commit", times=8)
    older.send_signal(signal.SIGSTOP)
    newer = counting.start("--instance", "a")
    counting.wait_for(" ready\n", times=4)
    older.send_signal(signal.SIGCONT)
    assert older.wait(WITHIN) == 1
    counting.produce(1_000)
    counting.wait_done()
    assert newer.poll() is None
    assert counting.problems() == []
    assert "another worker has its name" in counting.log(0)


def test_a_worker_with_a_name_leaves_when_told_to(counting: Counting) -> None:
    worker = counting.start("--instance", "a", "--session-timeout", "600")
    counting.wait_for(" ready\n", times=4)
    worker.send_signal(signal.SIGINT)
    assert worker.wait(WITHIN) == 0
    counting.produce(300)
    counting.start()
    counting.wait_done()  # in less than a session of the one that left
    assert counting.problems() == []


def test_fausts_own_commands_know_the_agents_and_open_no_port(counting: Counting) -> None:
    names = {"COUNTING_BOOTSTRAP": counting.bootstrap, "COUNTING_GROUP": counting.group}
    command = [sys.executable, "-m", "faust", "-A", "tests.kafka.counting_app"]
    environment = {**os.environ, **names}
    agents = subprocess.run([*command, "agents"], env=environment, capture_output=True, check=True)
    assert f"{counting.clicks}, {counting.taps}" in agents.stdout.decode()
    counting.produce(500)
    with (counting.folder / "faust.log").open("wb") as log:
        worker = subprocess.Popen(
            [*command, "worker", "-l", "info"], env=environment, stdout=log, stderr=log
        )
    try:
        counting.wait_done()
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", 6066), timeout=1)
        worker.terminate()
        assert worker.wait(WITHIN) == 0
    finally:
        worker.kill()
        worker.wait()
    assert counting.problems() == []
