"""`turnfold serve` over Kafka, as a process."""

import re
import subprocess
import time
from pathlib import Path

import httpx

from tests.command import PROGRAM, environment

TOO_LONG = 120.0


class Served:
    """A `serve` process; `url` once it has said it."""

    def __init__(self, log: Path, *at: str) -> None:
        with log.open("wb") as file:
            self.process = subprocess.Popen(
                [PROGRAM, "serve", *at, "--port", "0"],
                stdout=file, stderr=file, env=environment(),
            )  # fmt: skip
        deadline = time.monotonic() + TOO_LONG
        while not (found := re.search(r"(http://\S+) answers", log.read_text())):
            assert self.process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        self.client = httpx.Client(base_url=found[1], timeout=TOO_LONG + 10)

    def await_ready(self) -> None:
        deadline = time.monotonic() + TOO_LONG
        while self.client.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline, self.client.get("/readyz").text
            time.sleep(0.05)

    def stop(self) -> None:
        self.client.close()
        self.process.kill()
        self.process.wait()
