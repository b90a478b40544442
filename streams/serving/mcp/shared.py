"""The local server of a history: found, started if needed, and kept alive.

It uses the same files as `Turnfold.local` of the Python client (docs/serving.md).
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from sinks import locks
from sinks.history_root import check_root, find_root
from sinks.locations import Location
from streams import configuration
from streams.errors import ConfigurationError
from streams.serving.http.local import HELD, TOLD, place_of

STARTING, SAID = "starting", "server.log"
WITHIN = 60.0
"""Seconds until a server answers, and until one that is ending has ended."""
LOOK_EVERY = 0.02
LOG_CHARACTERS = 500
PROGRAM = (sys.executable, "-c", "from streams.cli import main; main()")


class ServerAddress(NamedTuple):
    """A server's URL and key. `extractor`: of the server, if it reports one."""

    url: str
    key: str | None
    extractor: str | None = None


class SharedServer:
    """A history's local server."""

    def __init__(self, root: Location, extractor: str | None) -> None:
        """Raises HistoryError if the folder cannot be a history, or for an object store without
        one: only sinks create histories there."""
        self._root = check_root(root) if isinstance(root, Path) else find_root(root)
        self._folder = place_of(self._root)
        self._extractor = extractor

    @contextmanager
    def held(self) -> Iterator[None]:
        """The server ends without a holder. Raises ConfigurationError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        late = ConfigurationError(f"{self._root}: the server before does not end")
        with locks.lock_file(self._folder / HELD, late, shared=True, within=WITHIN):
            yield

    def address(self) -> ServerAddress:
        """The address; starts a server if none runs. Raises ConfigurationError."""
        late = ConfigurationError(f"{self._root}: another program does not get the server started")
        with locks.lock_file(self._folder / STARTING, late, within=WITHIN):
            address = self._told() or self._start()
        if self._extractor is None or address.extractor in (None, self._extractor):
            return address
        raise ConfigurationError(
            f"{self._root}: its server runs with extractor {address.extractor!r}, not "
            f"{self._extractor!r}; close the programs that use the folder, or omit --extractor"
        )

    def _start(self) -> ServerAddress:
        child: subprocess.Popen[bytes] | None = None
        deadline = time.monotonic() + WITHIN
        while (address := self._told()) is None:
            if self._is_vacant():
                if child is None:
                    child = self._spawned()
                elif child.poll() is not None:
                    raise ConfigurationError(f"{self._root}: the server has ended: {self._said()}")
            if time.monotonic() > deadline:
                raise ConfigurationError(f"{self._root}: no server in {WITHIN:g} s: {self._said()}")
            time.sleep(LOOK_EVERY)
        return address

    def _spawned(self) -> "subprocess.Popen[bytes]":
        command = [*PROGRAM, "serve", "--local", "--history", str(self._root)]
        if self._extractor is not None:
            command += ["--extractor", self._extractor]
        with (self._folder / SAID).open("wb") as log_file:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=log_file,
                stderr=log_file,
                start_new_session=True,
                env={name: os.environ[name] for name in os.environ.keys() - ELSEWHERE}
                | {configuration.VARIABLE: ""},  # the file's settings are in the environment
            )

    def _told(self) -> ServerAddress | None:
        """The running server's address. A file without a lock is left from an ended server."""
        try:
            with (self._folder / TOLD).open() as file:
                if locks.acquire(file, shared=True):
                    return None
                text = file.read()
        except FileNotFoundError:
            return None
        if not text.endswith("\n"):
            return None
        document = json.loads(text)
        return ServerAddress(document["url"], document["key"], document.get("extractor"))

    def _is_vacant(self) -> bool:
        with (self._folder / TOLD).open("a") as file:
            if not locks.acquire(file):
                return False
            file.truncate(0)
            return True

    def _said(self) -> str:
        text = (self._folder / SAID).read_text(encoding="utf-8", errors="replace")
        return text[-LOG_CHARACTERS:].strip() or "it said nothing"


ELSEWHERE = {
    "TURNFOLD_HISTORY",
    "TURNFOLD_KAFKA_BOOTSTRAP",
    "TURNFOLD_SERVE_HOST",
    "TURNFOLD_SERVE_PORT",
    "TURNFOLD_SERVE_KEYS",
}
"""Settings of the environment that are for other servers."""
