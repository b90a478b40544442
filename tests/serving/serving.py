"""`turnfold serve` as a process, and a client that asks it over real sockets."""

import json
import select
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.command import launch

START_WITHIN = 120.0
END_WITHIN = 120.0


class Server:
    """One that answers at `url`."""

    def __init__(self, process: "subprocess.Popen[bytes]", url: str) -> None:
        self.process = process
        self.url = url
        self.client = httpx.Client(base_url=url, timeout=120.0)

    def post(self, records: list[Any], **headers: str) -> httpx.Response:
        """Input records, as one request."""
        lines = b"".join(json.dumps(one).encode() + b"\n" for one in records)
        given = {"content-type": "application/x-ndjson", **headers}
        return self.client.post("/v1/records", content=lines, headers=given)

    def endings(self, records: list[Any]) -> list[str]:
        """What each record ended as."""
        reply = self.post(records, prefer="wait=60")
        return [one["ending"] for one in reply.json()["results"]]

    def session(self, session_id: str) -> httpx.Response:
        """The document of a session."""
        return self.client.get(f"/v1/sessions/{session_id}")

    def until(self, path: str, status: int, within: float = 120.0) -> float:
        """Asks until it answers so; seconds that took."""
        began = time.monotonic()
        while (code := self.client.get(path).status_code) != status:
            assert time.monotonic() - began < within, f"{path}: {code}, not {status}"
            time.sleep(0.02)
        return time.monotonic() - began


@contextmanager
def serving(*args: str | Path, **options: Any) -> Iterator[Server]:
    """Started at a free port; ended by SIGTERM with exit code 0, unless it was killed."""
    process = launch("serve", "--port", "0", "-o", "json", *args, **options)
    try:
        server = Server(process, url_of(process))
        with server.client:
            yield server
    finally:
        process.terminate()
        try:
            _, error = process.communicate(timeout=END_WITHIN)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise
    assert process.returncode in (0, -9), error.decode()
    assert b"Traceback" not in error, error.decode()


def url_of(process: "subprocess.Popen[bytes]") -> str:
    """Where it answers, once it does."""
    assert process.stdout and process.stderr
    ready, _, _ = select.select([process.stdout], [], [], START_WITHIN)
    line = process.stdout.readline() if ready else b""
    assert line, process.stderr.read().decode()
    url: str = json.loads(line)["url"]
    return url
