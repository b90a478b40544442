"""`turnfold dev` looks after its parts: what ends by itself is said, and started again."""

import os
import re
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from streams.broker import Broker
from tests.command import PROGRAM, environment, start, turnfold
from tests.planned import CONVERSATIONS

SOON = 5.0
TOO_LONG = 120.0


class Dev:
    """The command, running, and what it has said so far."""

    def __init__(self, folder: Path, *options: str, **env: str) -> None:
        self.process = start(
            "dev",
            "--history",
            folder / "memory",
            "--http-port",
            "0",
            "--verbose",
            *options,
            env=environment(**env),
        )
        assert self.process.stderr is not None
        self.stderr = self.process.stderr
        os.set_blocking(self.stderr.fileno(), False)
        self.said = ""

    def hears(self, pattern: str, within: float = TOO_LONG, times: int = 1) -> None:
        """Waits until that was said so often."""
        deadline = time.monotonic() + within
        while len(re.findall(pattern, self.read())) < times:
            assert time.monotonic() < deadline, self.said
            time.sleep(0.05)

    def read(self) -> str:
        self.said += (self.stderr.read() or b"").decode()
        return self.said

    @property
    def bootstrap(self) -> str:
        found = re.search(r"Kafka at (\S+);", self.said)
        assert found
        return found[1]

    def pids(self) -> list[int]:
        done = subprocess.run(
            ["pgrep", "-P", str(self.process.pid)], capture_output=True, check=False
        )
        return [int(one) for one in done.stdout.split()]

    def pid(self, part: str) -> int:
        """The process of a part: the broker's is a Java, the others' command names them."""
        sign = "kafka.Kafka" if part == "broker" else part
        deadline = time.monotonic() + SOON
        while True:  # between fork and exec it has dev's own command line
            found = [one for one in self.pids() if sign in _command(one)]
            if len(found) == 1:
                return found[0]
            assert time.monotonic() < deadline, (found, self.read())
            time.sleep(0.05)

    def kill(self, part: str) -> None:
        os.kill(self.pid(part), signal.SIGKILL)

    def ends(self, within: float) -> int:
        self.process.wait(within)
        self.read()
        return self.process.returncode


@contextmanager
def running(folder: Path, *options: str, lanes: int = 8, **env: str) -> Iterator[Dev]:
    """Ready: all lanes have restored, and the API answers."""
    dev = Dev(folder, *options, **env)
    try:
        dev.hears(": restored ", times=lanes)
        dev.hears("http://.* answers")
        yield dev
    finally:
        with dev.process:  # closes its pipes
            if dev.process.poll() is None:
                dev.process.send_signal(signal.SIGINT)
                dev.process.wait(TOO_LONG)


def _command(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode().split("\0")
    except OSError:
        return []


def _await_gone(pids: list[int], within: float) -> None:
    deadline = time.monotonic() + within
    while left := [command for pid in pids if any(command := _command(pid))]:
        assert time.monotonic() < deadline, left
        time.sleep(0.1)


def test_a_part_that_is_killed_is_said_within_5_seconds_and_started_again(tmp_path: Path) -> None:
    with running(tmp_path) as dev:
        for part in ("worker", "sink", "serve"):
            dev.kill(part)
            dev.hears(f"the {part} was killed by SIGKILL: starts it again", SOON)
        dev.hears(": restored ", times=16)
        dev.hears("http://.* answers", times=2)
        before = dev.read().count("\n")
        dev.kill("broker")
        dev.hears("the broker was killed by SIGKILL: starts it again", SOON)
        dev.hears(r"the broker is back after \d+ s")
        assert turnfold("kafka", "produce", CONVERSATIONS, "--bootstrap", dev.bootstrap).code == 0
        deadline = time.monotonic() + TOO_LONG
        asked = ("show", "session", "emma-move", "--history", tmp_path / "memory")
        while "Ancoats" not in turnfold(*asked).out:
            assert time.monotonic() < deadline, dev.read()
            time.sleep(0.5)
        quiet = [line for line in dev.read().splitlines()[before:] if "rows written" not in line]
        assert len(quiet) <= 5, quiet
        pids = dev.pids()
        dev.process.send_signal(signal.SIGINT)
        assert dev.ends(TOO_LONG) == 0
    assert len(pids) == 4
    _await_gone(pids, SOON)


def test_another_number_of_partitions_is_in_the_command_that_is_printed_and_in_the_environment(
    tmp_path: Path,
) -> None:
    with running(tmp_path, "--partitions", "2", lanes=4) as dev:
        printed = re.search(
            r"^  (.*turnfold kafka produce FILE.ndjson .*)$", dev.read(), re.MULTILINE
        )
        assert printed
        command = printed[1].replace("FILE.ndjson", str(CONVERSATIONS))
        path = f"{Path(PROGRAM).parent}:{os.environ['PATH']}"
        subprocess.run(command, shell=True, check=True, env=environment(PATH=path))
        asked = ("show", "session", "emma-move", "--history", tmp_path / "memory")
        deadline = time.monotonic() + TOO_LONG
        while "Ancoats" not in turnfold(*asked).out:
            assert time.monotonic() < deadline, dev.read()
            time.sleep(0.5)
    with running(tmp_path, lanes=4, TURNFOLD_KAFKA_PARTITIONS="2"):
        pass


def test_ctrl_c_while_the_broker_is_away_leaves_no_process_behind(tmp_path: Path) -> None:
    with running(tmp_path) as dev:
        before = dev.pids()
        dev.kill("broker")
        dev.hears("the broker was killed", SOON)
        pids = {*before, *dev.pids()}
        dev.process.send_signal(signal.SIGINT)
        assert dev.ends(TOO_LONG) == 0
    _await_gone(sorted(pids), SOON)


def test_a_broker_that_ends_again_and_again_ends_all_with_exit_5(tmp_path: Path) -> None:
    with running(tmp_path) as dev:
        others = [dev.pid(part) for part in ("worker", "sink", "serve")]
        for times in range(1, 5):
            dev.kill("broker")
            dev.hears("the broker was killed by SIGKILL", SOON, times=times)
        assert dev.ends(TOO_LONG) == 5
        assert re.search(r"4 times within 60 s: ends all; its log: \S+kafka.log", dev.said)
    _await_gone(others, SOON)


def test_parts_end_where_dev_itself_is_killed(tmp_path: Path) -> None:
    with running(tmp_path) as dev:
        pids = dev.pids()
        dev.process.kill()
    _await_gone(pids, TOO_LONG)


def test_the_loss_of_a_broker_that_is_not_its_own_is_reported_once(tmp_path: Path) -> None:
    with Broker.start(short_lived=True, keep=tmp_path / "kafka") as broker:
        with running(tmp_path, "--bootstrap", broker.bootstrap) as dev:
            before = len(dev.read().splitlines())
            broker.nodes[0].kill()
            dev.hears("lost the broker at", SOON)
            time.sleep(5)
            broker.nodes[0].start()
            broker.await_ready()
            dev.hears("is back after")
            time.sleep(5)
            lines = dev.read().splitlines()[before:]
            assert len(lines) == 2, lines
            pids = dev.pids()
            assert len(pids) == 3
        _await_gone(pids, SOON)


@pytest.mark.parametrize("own", [("--kafka-port", "9092"), ("--kafka", "data")])
def test_settings_of_its_own_broker_are_refused_beside_another(
    tmp_path: Path, own: tuple[str, str]
) -> None:
    done = turnfold("dev", "--history", tmp_path / "m", "--bootstrap", "127.0.0.1:1", *own)
    assert done.code == 2
    assert turnfold("dev", "--history", tmp_path / "m", "--bootstrap", "127.0.0.1:1").code == 5
