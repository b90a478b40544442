"""A server of one account's programs: `serve --local` (docs/serving.md).

What they share lies in the history's folder, below `_local`, or, if that is an object store, in a
folder of this machine; for this account alone:

    held         each program has it locked, shared; the server ends when nobody does
    server.json  the server has it locked while it runs; it says the address, the key and the
                 extractor
    keys.json    the key's hash, as `turnfold admin keys` writes it

The system takes a lock back from a process that is killed, so nothing here can be stale.
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
    """What makes a server local: entered before the server begins, left when it has ended."""

    host = "127.0.0.1"
    port = 0

    def __init__(self, root: Location) -> None:
        """Raises HistoryError where the folder is none for a history."""
        self._folder = place_of(check_root(root))
        self.keys = self._folder / KEYS

    @classmethod
    def over(cls, history: Location | None, *given: object) -> Self:
        """Of a history. Raises UsageError without one, or where an option is given that
        a local server has a value of its own for."""
        if history is None or any(one is not None for one in given):
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
        """The server answers: says where, and from now on ends with the last program."""
        said = {"url": url, "key": self._token, "pid": os.getpid(), "extractor": extractor}
        self._told.write(json.dumps(said) + "\n")
        self._told.flush()
        Thread(target=self._end_with_the_last, daemon=True).start()

    def _end_with_the_last(self) -> None:
        """A program that comes while the server ends waits for the lock, and starts another."""
        fcntl.flock(self._held, fcntl.LOCK_EX)
        os.kill(os.getpid(), signal.SIGTERM)


def place_of(root: Location) -> Path:
    """Where the files lie that programs share."""
    if isinstance(root, Path):
        return root / LOCAL
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return cache / "turnfold" / "local" / hashlib.sha256(str(root).encode()).hexdigest()[:32]


def _check_is_ours(folder: Path) -> None:
    """Raises ConfigurationError for a folder of another account, or one that others may enter."""
    found = folder.stat()
    if found.st_uid != os.geteuid():
        raise ConfigurationError(
            f"{folder}: belongs to another account; several accounts share a server "
            "with keys: turnfold serve --keys"
        )
    if S_IMODE(found.st_mode) & 0o077:
        raise ConfigurationError(f"{folder}: others can enter it; chmod 700 {folder}")
