"""One node of the broker: its folder and Java process."""

import signal
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from streams.broker import config, process
from streams.broker.config import HOST, Security
from streams.errors import Unreachable

SHORT_LIVED = ("-XX:TieredStopAtLevel=1",)  # a second of work is not worth optimising
GRACE = 15.0  # seconds from SIGTERM to SIGKILL
TAIL = 15  # log lines in an error


@dataclass(slots=True)
class Node:
    """`ports` by listener (config.PROTOCOLS). `java`: command up to the main class, empty for a
    node that was found and cannot be started. `pid` is None before the first start. `tied`: it ends
    if this process is killed.

    `folder` contains server.properties, kafka.log and data/.
    """

    number: int
    folder: Path
    ports: dict[str, int]
    java: list[str] = field(default_factory=list, repr=False)
    pid: int | None = None
    tied: bool = False
    _process: subprocess.Popen[bytes] | None = field(default=None, repr=False, compare=False)

    @property
    def properties(self) -> Path:
        return self.folder / "server.properties"

    @property
    def log(self) -> Path:
        return self.folder / "kafka.log"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def address(self, listener: str = "PLAINTEXT") -> str:
        return f"{HOST}:{self.ports[listener]}"

    def format(self, cluster_id: str, security: Security) -> None:
        """Formats the data folder for KRaft, unless it is formatted.

        Raises Unreachable with Kafka's output.
        """
        if (self.data / "meta.properties").exists():
            return
        arguments = ["--cluster-id", cluster_id, "--config", str(self.properties)]
        result = subprocess.run(
            [*self.java, *SHORT_LIVED, "kafka.tools.StorageTool", "format", *arguments,
             *config.scram_arguments(security)],
            capture_output=True, text=True,
        )  # fmt: skip
        if result.returncode != 0:
            raise Unreachable(
                f"{self.data}: Kafka cannot format it: {result.stdout}{result.stderr}"
            )

    def start(self) -> None:
        """Starts the process, without waiting until it is ready."""
        command = [*self.java, "kafka.Kafka", str(self.properties)]
        self._process = process.spawn(command, self.log, self.tied)
        self.pid = self._process.pid

    @property
    def started(self) -> subprocess.Popen[bytes]:
        """The process, if this object has started it."""
        assert self._process is not None, "found, or not started yet"
        return self._process

    def is_running(self) -> bool:
        """Whether the process is running, whichever process started it."""
        if self._process is not None:
            return self._process.poll() is None
        return self.pid is not None and process.is_running(self.pid, str(self.properties))

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to a running process: SIGTERM, SIGKILL, SIGSTOP, SIGCONT."""
        if self.pid is not None and self.is_running():
            process.send(self.pid, number)

    def await_end(self, seconds: float) -> bool:
        """Waits up to `seconds`; returns whether the process has ended."""
        if self._process is None:
            return self.pid is None or process.await_end(self.pid, str(self.properties), seconds)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL, and waits for the end."""
        self.signal(signal.SIGKILL)
        self.await_end(GRACE)

    def stop(self, grace: float = GRACE) -> None:
        """SIGTERM, then SIGKILL after `grace` seconds."""
        self.signal(signal.SIGTERM)
        if not self.await_end(grace):
            self.kill()

    def log_tail(self) -> str:
        if not self.log.exists():
            return "(no log)"
        lines = self.log.read_text(errors="replace").splitlines()
        own_lines = [
            line for line in lines if not line.startswith("\tat ")
        ]  # frames of Java's stack
        return "\n".join(own_lines[-TAIL:])

    def to_json(self) -> dict[str, Any]:
        """Data with which another process finds it."""
        return {"number": self.number, "pid": self.pid, "ports": self.ports}
