"""The local server of a history, for a program of ours: found, started if there is none, held.

What `Turnfold.local` of the Python client does, by the same files (docs/serving.md).
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


class Address(NamedTuple):
    """Where a server answers, and with which key. `extractor`: how it finds memory in turns, if it
    says so."""

    url: str
    key: str | None
    extractor: str | None = None


class SharedServer:
    """A history's, as long as it is held."""

    def __init__(self, root: Location, extractor: str | None) -> None:
        """Raises HistoryError where the folder is none for a history, or there is none in an object
        store: only sinks make one there."""
        self._root = check_root(root) if isinstance(root, Path) else find_root(root)
        self._folder = place_of(self._root)
        self._extractor = extractor

    @contextmanager
    def held(self) -> Iterator[None]:
        """Without a holder the server ends. Raises ConfigurationError."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        late = ConfigurationError(f"{self._root}: the server before does not end")
        with locks.lock_file(self._folder / HELD, late, shared=True, within=WITHIN):
            yield

    def address(self) -> Address:
        """The address; a server is started if none runs. Raises ConfigurationError."""
        late = ConfigurationError(f"{self._root}: another program does not get the server started")
        with locks.lock_file(self._folder / STARTING, late, within=WITHIN):
            address = self._told() or self._start()
        if self._extractor is None or address.extractor in (None, self._extractor):
            return address
        raise ConfigurationError(
            f"{self._root}: its server runs with extractor {address.extractor!r}, not "
            f"{self._extractor!r}; close the programs that use the folder, or omit --extractor"
        )

    def _start(self) -> Address:
        child: subprocess.Popen[bytes] | None = None
        deadline = time.monotonic() + WITHIN
        while (told := self._told()) is None:
            if self._is_vacant():
                if child is None:
                    child = self._spawned()
                elif child.poll() is not None:
                    raise ConfigurationError(f"{self._root}: the server has ended: {self._said()}")
            if time.monotonic() > deadline:
                raise ConfigurationError(f"{self._root}: no server in {WITHIN:g} s: {self._said()}")
            time.sleep(LOOK_EVERY)
        return told

    def _spawned(self) -> "subprocess.Popen[bytes]":
        command = [*PROGRAM, "serve", "--local", "--history", str(self._root)]
        if self._extractor is not None:
            command += ["--extractor", self._extractor]
        with (self._folder / SAID).open("wb") as said:
            return subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=said,
                start_new_session=True,
                env={name: os.environ[name] for name in os.environ.keys() - ELSEWHERE}
                | {configuration.VARIABLE: ""},  # what the file says is in the environment
            )

    def _told(self) -> Address | None:
        """What the running server said. A file without its lock was left by one that is gone."""
        try:
            with (self._folder / TOLD).open() as file:
                if locks.acquire(file, shared=True):
                    return None
                text = file.read()
        except FileNotFoundError:
            return None
        if not text.endswith("\n"):
            return None
        said = json.loads(text)
        return Address(said["url"], said["key"], said.get("extractor"))

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
