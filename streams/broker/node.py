"""One node of the broker: its folder, its Java process."""

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
TAIL = 15  # lines of the log that an error shows


@dataclass(slots=True)
class Node:
    """`ports` by listener (config.PROTOCOLS). `java` is the command up to the main class, empty
    where the node was found and cannot be started. `pid` is None before the first start. `tied`:
    it ends where this process is killed.

    `folder` holds server.properties, kafka.log and data/.
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
        """host:port of a listener."""
        return f"{HOST}:{self.ports[listener]}"

    def format(self, cluster_id: str, security: Security) -> None:
        """Makes the data folder a KRaft node's, unless it is one already.

        Raises Unreachable with what Kafka said.
        """
        if (self.data / "meta.properties").exists():
            return
        arguments = ["--cluster-id", cluster_id, "--config", str(self.properties)]
        said = subprocess.run(
            [*self.java, *SHORT_LIVED, "kafka.tools.StorageTool", "format", *arguments,
             *config.scram_arguments(security)],
            capture_output=True, text=True,
        )  # fmt: skip
        if said.returncode != 0:
            raise Unreachable(f"{self.data}: Kafka cannot format it: {said.stdout}{said.stderr}")

    def start(self) -> None:
        """Starts the process; it is not ready yet when this returns."""
        command = [*self.java, "kafka.Kafka", str(self.properties)]
        self._process = process.spawn(command, self.log, self.tied)
        self.pid = self._process.pid

    @property
    def started(self) -> subprocess.Popen[bytes]:
        """The process, where it is one that we have started."""
        assert self._process is not None, "found, or not started yet"
        return self._process

    def is_running(self) -> bool:
        """Whether the process is there, no matter who started it."""
        if self._process is not None:
            return self._process.poll() is None
        return self.pid is not None and process.is_running(self.pid, str(self.properties))

    def signal(self, number: signal.Signals) -> None:
        """Sends a signal to the process if it is there: SIGTERM, SIGKILL, SIGSTOP, SIGCONT."""
        if self.pid is not None and self.is_running():
            process.send(self.pid, number)

    def await_end(self, seconds: float) -> bool:
        """Whether the process ended within so many seconds."""
        if self._process is None:
            return self.pid is None or process.await_end(self.pid, str(self.properties), seconds)
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def kill(self) -> None:
        """SIGKILL, and waits until it is gone."""
        self.signal(signal.SIGKILL)
        self.await_end(GRACE)

    def stop(self, grace: float = GRACE) -> None:
        """SIGTERM, then SIGKILL after `grace` seconds."""
        self.signal(signal.SIGTERM)
        if not self.await_end(grace):
            self.kill()

    def last_words(self) -> str:
        """The end of its log, for an error."""
        if not self.log.exists():
            return "(no log)"
        lines = self.log.read_text(errors="replace").splitlines()
        said = [line for line in lines if not line.startswith("\tat ")]  # frames of Java's stack
        return "\n".join(said[-TAIL:])

    def to_json(self) -> dict[str, Any]:
        """What another process needs to find it again."""
        return {"number": self.number, "pid": self.pid, "ports": self.ports}
