"""Finds, starts and keeps running the server of this machine's programs over one folder.

Shared files are in the folder, below `_local`, private to this account:

    held         each client has it locked, shared, until it is closed; without one the server ends
    server.json  the server has it locked while it runs; it contains the address, key and
                 extractor
    starting     the client that starts a server has it locked
    server.log   output of the server since its start

The system releases the locks of a killed process, so a lock is proof that its process runs.
"""

import fcntl
import json
import logging
import os
import shlex
import shutil
import signal
import sys
import threading
import time
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from turnfold_client.errors import LocalServerError

MARKER = "turnfold.json"
"""A folder with one of them is a memory."""
START_WITHIN = 300.0
"""Seconds until a server answers."""
LOOK_EVERY = 0.02
TELL_AFTER = 4.0
"""Seconds until a log line reports the wait and its reason; a start usually takes one."""
LOG_CHARACTERS = 1000
"""Characters from the log's end in an error."""
OTHER_SERVERS = {
    "TURNFOLD_HISTORY",
    "TURNFOLD_KAFKA_BOOTSTRAP",
    "TURNFOLD_SERVE_HOST",
    "TURNFOLD_SERVE_PORT",
    "TURNFOLD_SERVE_KEYS",
}
"""Settings of the environment that are not for this server."""
NO_FILE = {"TURNFOLD_CONFIG": ""}
"""A `turnfold.toml` in the current folder is also ignored."""
INSTALL = "pip install 'turnfold[serve]'"

SLOW = (
    "still waiting for the server to start. The first start after an installation takes longer, "
    "up to a minute on a slow machine: Python compiles what it loads. The server's log: %s"
)

log = logging.getLogger(__name__)


class Address(NamedTuple):
    """Address and key of a server. `extractor`: how it finds memory in turns, if known."""

    url: str
    key: str
    extractor: str | None = None


class LocalServer:
    """A folder's server, from the first `address` until `close`; safe to use by several threads."""

    def __init__(self, folder: Path, extractor: str | None) -> None:
        self.folder = Path(os.path.realpath(folder))
        self._extractor = extractor
        self._shared = self.folder / "_local"
        self._hold: weakref.finalize[[int], LocalServer] | None = None
        self._mutex = threading.Lock()
        _servers.add(self)

    def known(self) -> Address | None:
        """The address, if a server runs and has said it. Does not wait."""
        if self._hold is None:
            return None
        return self._told()

    def address(self) -> Address:
        """The address; a server is started if none runs. Raises LocalServerError."""
        with self._mutex, self._explained():
            if self._hold is None:
                self._prepare()
                self._hold = weakref.finalize(self, os.close, self._held_by_us())
            return self._checked(self._told() or self._started())

    def _checked(self, address: Address) -> Address:
        """Raises LocalServerError where the server finds memory in another way than this program
        requires: the programs of a folder share one server."""
        if self._extractor is None or address.extractor in (None, self._extractor):
            return address
        raise LocalServerError(
            f"{self.folder}: its server runs with extractor {address.extractor!r}, not "
            f"{self._extractor!r}; close the programs that use the folder, or leave out extractor="
        )

    def close(self) -> None:
        """Lets go of the server; the last client's ends it."""
        with self._mutex:
            if self._hold is not None:
                self._hold()
                self._hold = None
        _reap()

    def renew(self) -> None:
        """In a process that was forked: another thread of the old one may have had the mutex."""
        self._mutex = threading.Lock()

    # --- the folder -------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Raises LocalServerError for a folder that contains other files or belongs to another
        account."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        names = {one.name for one in self.folder.iterdir()} - {self._shared.name}
        if names and MARKER not in names:
            raise LocalServerError(
                f"{self.folder}: holds other things and is no memory; name a new or empty folder"
            )
        self._shared.mkdir(mode=0o700, exist_ok=True)
        if self._shared.stat().st_uid != os.geteuid():
            raise LocalServerError(
                f"{self._shared}: belongs to another account; accounts share a memory through "
                "a server with keys: turnfold serve --keys"
            )
        self._shared.chmod(0o700)  # a copy may have been made with other modes

    def _held_by_us(self) -> int:
        """The file `held`, with a shared lock. Waits for a server that is ending, which has it
        locked exclusively."""
        file = self._open("held")
        try:
            self._wait_for(lambda: _locked(file, fcntl.LOCK_SH), "the server before does not end")
        except BaseException:
            os.close(file)
            raise
        return file

    def _told(self) -> Address | None:
        """Address from the running server's file. A file without a lock is a leftover of an ended
        server."""
        try:
            file = os.open(self._shared / "server.json", os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        try:
            if _locked(file, fcntl.LOCK_SH):
                return None
            text = os.pread(file, 4096, 0)
        finally:
            _let_go(file)
        if not text.endswith(b"\n"):
            return None
        said = json.loads(text)
        return Address(said["url"], said["key"], said.get("extractor"))

    def _is_vacant(self) -> bool:
        """Whether no server runs; if so, empties a previous server's file."""
        file = self._open("server.json")
        try:
            if not _locked(file, fcntl.LOCK_EX):
                return False
            os.ftruncate(file, 0)
            return True
        finally:
            _let_go(file)

    # --- starting ---------------------------------------------------------------------------

    def _started(self) -> Address:
        """One client starts a server; the others wait for it, and start one if it fails."""
        starting = self._open("starting")
        try:
            late = "another program does not get the server started"
            self._wait_for(lambda: _locked(starting, fcntl.LOCK_EX), late)
            return self._start()
        finally:
            _let_go(starting)

    def _start(self) -> Address:
        child: int | None = None
        tell_at = time.monotonic() + TELL_AFTER
        try:
            found = None

            def is_told() -> bool:
                nonlocal child, found, tell_at
                found = self._told()
                if found is None and self._is_vacant():
                    if child is None:
                        child = self._spawned()
                    elif not _runs(child):
                        raise LocalServerError(self._why())
                if found is None and time.monotonic() >= tell_at:
                    tell_at = float("inf")
                    log.warning(SLOW, self._shared / "server.log")
                return found is not None

            self._wait_for(is_told, "the server does not answer")
        except BaseException:
            if child is not None and _runs(child):
                os.kill(child, signal.SIGTERM)
            raise
        assert found is not None
        return found

    def _spawned(self) -> int:
        """A new server's process id. It outlives this process while other clients use it."""
        command = [*server_command(), "serve", "--history", str(self.folder), "--local"]
        if self._extractor is not None:
            command += ["--extractor", self._extractor]
        log.info("starting %s", shlex.join(command))
        said = str(self._shared / "server.log")
        anew = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND
        try:
            child = os.posix_spawn(
                command[0],
                command,
                {name: os.environ[name] for name in os.environ.keys() - OTHER_SERVERS} | NO_FILE,
                file_actions=[
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, said, anew, 0o600),
                    (os.POSIX_SPAWN_DUP2, 1, 2),
                ],
                setsid=True,  # Ctrl-C is for this program; the server ends by itself
            )
        except OSError as error:
            raise LocalServerError(f"{command[0]}: {error.strerror}: {INSTALL}") from error
        _children.add(child)
        return child

    def _why(self) -> str:
        """What the server said before it ended."""
        file = self._shared / "server.log"
        text = file.read_text(encoding="utf-8", errors="replace")[-LOG_CHARACTERS:].strip()
        return f"{self.folder}: the server has ended: {text or 'it said nothing'} ({file})"

    # --- small things -----------------------------------------------------------------------

    def _open(self, name: str) -> int:
        return os.open(self._shared / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    def _wait_for(self, holds: Callable[[], bool], late: str) -> None:
        deadline = time.monotonic() + START_WITHIN
        while not holds():
            if time.monotonic() >= deadline:
                log_file = self._shared / "server.log"
                raise LocalServerError(
                    f"{self.folder}: {late} in {START_WITHIN:g} s; {log_file} may say why"
                )
            time.sleep(LOOK_EVERY)

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            where = error.filename or self.folder
            raise LocalServerError(
                f"{where}: {error.strerror or error}; a local server needs a folder that this "
                "account can write"
            ) from error


def server_command() -> list[str]:
    """The program that serves. Raises LocalServerError where there is none."""
    beside = Path(sys.executable or "/").parent / "turnfold"
    found = str(beside) if os.access(beside, os.X_OK) else shutil.which("turnfold")
    if found is not None:
        return [found]
    raise LocalServerError(f"there is no `turnfold` beside this Python or on PATH: {INSTALL}")


def _locked(file: int, how: int) -> bool:
    try:
        fcntl.flock(file, how | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _let_go(file: int) -> None:
    """Unlocks before it closes, as a process forked in between also has the file open."""
    fcntl.flock(file, fcntl.LOCK_UN)
    os.close(file)


def _runs(child: int) -> bool:
    """Whether a server that this process started still runs."""
    _reap()
    return child in _children


def _reap() -> None:
    for child in list(_children):
        ended = child
        with suppress(ChildProcessError):  # another part of this program has waited for it
            ended, _ = os.waitpid(child, os.WNOHANG)
        if ended == child:
            _children.discard(child)


_children: set[int] = set()
_servers: "weakref.WeakSet[LocalServer]" = weakref.WeakSet()


def _forked() -> None:
    _children.clear()
    for server in list(_servers):
        server.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forked)
