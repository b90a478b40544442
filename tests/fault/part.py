"""A process of one component with its metrics port, which is any free one."""

import json
import re
import subprocess
import time
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families

from tests.command import PROGRAM, environment

TOO_LONG = 300.0
PORT = re.compile(r"metrics and readiness at http://[^:]+:(\d+)")
API = re.compile(r"http://[^:]+:(\d+) answers")


class Part:
    """A process of one component, started again and again; its metrics port is any free one."""

    def __init__(self, name: str, folder: Path, *options: str, **env: str) -> None:
        self.name, self.job = name, f"turnfold-{name}"
        self.file = folder / f"{name}.log"
        tier = [] if name == "serve" else ["kafka"]
        self.command = [PROGRAM, *tier, name, *options, "--metrics-port", "0"]
        self.env = environment(PYTHONUNBUFFERED="1", **env)
        self.start()

    def start(self) -> None:
        with self.file.open("wb") as log:
            self.process = subprocess.Popen(self.command, stdout=log, stderr=log, env=self.env)

    def port(self, pattern: re.Pattern[str] = PORT) -> int:
        deadline = time.monotonic() + TOO_LONG
        while (found := pattern.search(self.file.read_text())) is None:
            assert self.process.poll() is None, self.file.read_text()[-3000:]
            assert time.monotonic() < deadline, self.file.read_text()[-3000:]
            time.sleep(0.1)
        return int(found[1])

    def get(self, path: str, port: int | None = None) -> tuple[int, str]:
        """Status and body; 0 where nobody answers."""
        try:
            with urlopen(f"http://127.0.0.1:{port or self.port()}{path}", timeout=60) as reply:
                return reply.status, reply.read().decode()
        except HTTPError as error:
            return error.code, error.read().decode()
        except (URLError, OSError):
            return 0, ""

    def until_ready(self, ready: bool) -> dict[str, Any]:
        """What /readyz says once it is, or is not, ready."""
        deadline = time.monotonic() + TOO_LONG
        while True:
            status, body = self.get("/readyz")
            if status == (200 if ready else 503):
                told: dict[str, Any] = json.loads(body)
                return told
            assert time.monotonic() < deadline, (self.name, status, body)
            time.sleep(0.5)

    def counters(self) -> dict[str, dict[tuple[tuple[str, str], ...], float]]:
        """Name -> labels -> value of every sample of a counter."""
        status, text = self.get("/metrics")
        assert status == 200
        found: dict[str, dict[tuple[tuple[str, str], ...], float]] = {}
        for family in text_string_to_metric_families(text):
            for sample in family.samples:
                if sample.name.endswith("_total"):
                    values = found.setdefault(sample.name, {})
                    values[tuple(sorted(sample.labels.items()))] = sample.value
        return found

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()
