"""A server for programs of one account: `serve --local` (docs/serving.md).

Shared files are in the history's folder, under `_local`; for an object store, in a local folder.
They are private to the account:

    held         each program has a shared lock; without any, the server ends
    server.json  locked while the server runs; contains its address, key and extractor
    keys.json    the key's hash, as `turnfold admin keys` writes it

The system releases the locks of a killed process, so the files are never stale.
"""

import fcntl
import hashlib
import json
import os
import signal
from pathlib import Path
from stat import S_IMODE
from threading import Thread
from types import TracebackType
from typing import Self

from sinks import locks
from sinks.history_root import LOCAL, check_root
from sinks.locations import Location
from streams.errors import ConfigurationError, UsageError
from streams.serving.http import auth
from streams.serving.http import keys as key_file

HELD, TOLD, KEYS = "held", "server.json", "keys.json"
LOCK_WITHIN = 5.0
"""Seconds: who looks whether a server runs takes its lock for a moment."""


class LocalServer:
    """A local server's files: enter before the server starts, leave after it has ended."""

    host = "127.0.0.1"
    port = 0

    def __init__(self, root: Location) -> None:
        """Raises HistoryError where the folder is none for a history."""
        self._folder = place_of(check_root(root))
        self.keys = self._folder / KEYS

    @classmethod
    def over(cls, history: Location | None, *options: object) -> Self:
        """A local server for a history. Raises UsageError without one, or with an option that a
        local server sets itself."""
        if history is None or any(option is not None for option in options):
            raise UsageError(
                "--local needs --history, and goes with none of --bootstrap, --host, --port, --keys"
            )
        return cls(history)

    def __enter__(self) -> Self:
        """Raises ConfigurationError where another server is there, or the folder is not ours."""
        try:
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            _check_is_ours(self._folder)
            self._told = (self._folder / TOLD).open("a+")
            self._held = (self._folder / HELD).open("a+")
            if not locks.acquire(self._told, within=LOCK_WITHIN):
                raise ConfigurationError(f"{self._folder.parent}: has a local server already")
            self._told.truncate(0)
            self._token, key = key_file.make(auth.LOCAL.tenant, "admin", None, "local")
            key_file.write(self.keys, [key])
        except OSError as error:
            raise ConfigurationError(f"{self._folder}: {error.strerror or error}") from None
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._told.truncate(0)
        self._told.close()

    def tell(self, url: str, extractor: str | None) -> None:
        """Publishes the address; the server then ends with the last program."""
        document = {"url": url, "key": self._token, "pid": os.getpid(), "extractor": extractor}
        self._told.write(json.dumps(document) + "\n")
        self._told.flush()
        Thread(target=self._end_with_the_last, daemon=True).start()

    def _end_with_the_last(self) -> None:
        """A program that starts while the server ends waits for the lock and starts another."""
        fcntl.flock(self._held, fcntl.LOCK_EX)
        os.kill(os.getpid(), signal.SIGTERM)


def place_of(root: Location) -> Path:
    """The folder of the shared files."""
    if isinstance(root, Path):
        return root / LOCAL
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "turnfold" / "local" / hashlib.sha256(str(root).encode()).hexdigest()[:32]


def _check_is_ours(folder: Path) -> None:
    """Raises ConfigurationError for a folder of another account, or one that others may enter."""
    status = folder.stat()
    if status.st_uid != os.geteuid():
        raise ConfigurationError(
            f"{folder}: belongs to another account; several accounts share a server "
            "with keys: turnfold serve --keys"
        )
    if S_IMODE(status.st_mode) & 0o077:
        raise ConfigurationError(f"{folder}: others can enter it; chmod 700 {folder}")
