"""Real workers and sinks on a real broker, started again when they end, as a service manager does.

Workers and sinks have names; `a` reaches the broker directly, `b` as `through` says (a proxy).
"""

import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from signal import SIGCONT, SIGKILL, SIGTERM, Signals

from streams.broker import Broker
from tests.command import PROGRAM, environment, words

NAMES = ("a", "b")
SINK = "faults"
"""The group and the app id of both sinks."""
ROLL = ("--roll-mb", "4", "--roll-seconds", "1")
TOO_LONG = 120.0
GOOD_REASONS = {
    "was away too long": "forgotten by its group",
    "did not answer within": "the broker did not answer",
    "no broker can be reached": "no broker could be reached",
    "No space left on device": "the disk was full",
    "File too large": "the disk was full",
}
"""What a process may say before it ends by itself, and starts again."""


class Role:
    """One worker or sink: the same command again and again, one log for all its lives."""

    def __init__(self, name: str, command: Sequence[str], folder: Path) -> None:
        self.name, self.command = name, tuple(command)
        self.file = folder / f"{name}.log"
        self.lives = 0
        self._from = 0

    def start(self, command: Sequence[str] | None = None) -> "subprocess.Popen[bytes]":
        with self.file.open("ab") as log:
            self._from = log.tell()
            self.process = subprocess.Popen(
                command or self.command, stdout=log, stderr=log, env=environment()
            )
        self.lives += 1
        return self.process

    def said(self) -> str:
        """What it wrote since it was started last."""
        with self.file.open("rb") as log:
            log.seek(self._from)
            return log.read().decode(errors="replace")

    def wait_for(self, text: str, times: int = 1) -> None:
        deadline = time.monotonic() + TOO_LONG
        while self.said().count(text) < times:
            assert time.monotonic() < deadline, f"{self.name}: {text!r} not seen: {self.end_of()}"
            assert self.process.poll() is None, f"{self.name} ended: {self.end_of()}"
            time.sleep(0.05)

    def end_of(self) -> str:
        """The end of what it wrote."""
        return self.said()[-3000:]

    def signal(self, number: Signals) -> None:
        self.process.send_signal(number)

    def end(self, number: Signals) -> int:
        """Sends a signal that ends it; the exit code."""
        self.process.send_signal(number)
        return self.process.wait(TOO_LONG)


class Deployment:
    """Two workers of one app and two sinks of one history. `struck` counts what happened to them,
    `wrong` what must not."""

    def __init__(
        self, broker: Broker, folder: Path, history: Path, through: str | None = None
    ) -> None:
        self.broker, self.folder, self.history = broker, folder, history
        self.struck: Counter[str] = Counter()
        self.wrong: list[str] = []
        ways = {"a": broker.bootstrap, "b": through or broker.bootstrap}
        self.workers = {
            name: Role(f"worker-{name}", worker_command(ways[name], "--instance", name), folder)
            for name in NAMES
        }
        self.sinks = {
            name: Role(f"sink-{name}", sink_command(ways[name], history), folder) for name in NAMES
        }
        self.ways = ways

    @property
    def roles(self) -> list[Role]:
        return [*self.workers.values(), *self.sinks.values()]

    def start(self) -> None:
        for role in self.roles:
            role.start()

    def await_ready(self) -> None:
        """Until a worker has a lane that is ready."""
        deadline = time.monotonic() + TOO_LONG
        while not any(": restored " in role.said() for role in self.workers.values()):
            self.supervise()
            assert time.monotonic() < deadline, [role.end_of() for role in self.roles]
            time.sleep(0.1)

    def supervise(self) -> None:
        """Starts again who has ended by himself. There are few good reasons to."""
        for role in self.roles:
            code = role.process.poll()
            if code is None:
                continue
            said = role.said()
            reason = next((why for text, why in GOOD_REASONS.items() if text in said), None)
            if reason is None:
                self.wrong.append(f"{role.name} ended with {code}: {role.end_of()}")
            self.struck[f"({role.name[:-2]} ended itself: {reason})"] += 1
            role.start()

    def kill(self, role: Role) -> None:
        """SIGKILL, and a start."""
        code = role.end(SIGKILL)
        if code != -SIGKILL:  # it was faster
            self.wrong.append(f"{role.name} ended with {code}: {role.end_of()}")
        role.start()

    def stop(self) -> None:
        """SIGTERM to all; each has to end well."""
        for role in self.roles:
            role.signal(SIGCONT)
            role.signal(SIGTERM)
        for role in self.roles:
            code = role.process.wait(TOO_LONG)
            if code not in (0, -SIGTERM):  # it may come before they listen for it
                self.wrong.append(f"{role.name} ended with {code}: {role.end_of()}")

    def kill_all(self) -> None:
        """Leaves nothing behind, whatever happened."""
        for role in self.roles:
            process = getattr(role, "process", None)
            if process is not None and process.poll() is None:
                process.kill()
                process.wait()


def worker_command(bootstrap: str, *options: str) -> list[str]:
    """Rows are kept for ever: what a late record does to a row that has gone is not asked here."""
    return [PROGRAM, *words("kafka", "worker", "--bootstrap", bootstrap, *options)]


def doomed_worker(bootstrap: str, name: str, point: str, after: int) -> list[str]:
    """The same worker, which kills itself at a point."""
    return [sys.executable, "-m", "tests.fault.doomed_worker", "--bootstrap", bootstrap,
            "--instance", name, "--die", point, "--after", str(after)]  # fmt: skip


def sink_command(bootstrap: str, history: Path, *options: str) -> list[str]:
    return [PROGRAM, "kafka", "sink", "--bootstrap", bootstrap, "--history", str(history),
            "--name", SINK, *(options or ROLL)]  # fmt: skip


def doomed_sink(bootstrap: str, history: Path, point: str, nth: int) -> list[str]:
    """The same sink, which kills itself at a point."""
    return [sys.executable, "-m", "tests.kafka.sink_worker", "--bootstrap", bootstrap,
            "--history", str(history), "--name", SINK, "--kill-at", point,
            "--nth", str(nth)]  # fmt: skip
