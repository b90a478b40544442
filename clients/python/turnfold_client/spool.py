"""Requests of `add` that wait on disk until the server has answered them."""

import asyncio
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, ParamSpec, TypeVar

from pydantic_core import from_json, to_json

from turnfold_client.errors import SpoolError

BATCH = 256
"""Requests that are read at once."""

P = ParamSpec("P")
R = TypeVar("R")


class Entry(NamedTuple):
    """A request: its `Idempotency-Key`, and its body as JSON."""

    key: str
    body: bytes


class Spool:
    """A file with one request per line, the oldest first. Programs may share it.

    A line counts once it is complete: a writer killed before that had not stored it. A request that
    is sent twice, because its sender was killed before dropping it, counts once by its key.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        """Raises SpoolError."""
        if os.name != "posix":
            raise SpoolError("a spool needs Linux or macOS")
        self._path = Path(path)
        self._refused = Path(f"{self._path}.refused")
        self._lock = Path(f"{self._path}.lock")

    def append(self, entry: Entry) -> None:
        """Keeps a request: it is on the disk when this returns. Raises SpoolError."""
        with self._held():
            self._append(self._path, b'{"key":%s,"body":%s}' % (to_json(entry.key), entry.body))

    def entries(self) -> list[Entry]:
        """The oldest requests. Invalid lines are moved to the file of rejected ones. Raises
        SpoolError."""
        with self._held():
            found, broken = [], []
            for line in self._lines()[:BATCH]:
                entry = _entry(line)
                if entry is None:
                    broken.append(line)
                else:
                    found.append(entry)
            for line in broken:
                self._append(self._refused, to_json({"reason": "not a request", "line": line}))
            if broken:
                self._keep([line for line in self._lines() if line not in broken])
            return found

    def drop(self, keys: Sequence[str]) -> None:
        """These have been answered. Raises SpoolError."""
        if not keys:
            return
        done = set(keys)
        with self._held():
            lines = self._lines()
            self._keep([line for line in lines if (e := _entry(line)) is None or e.key not in done])

    def refuse(self, entry: Entry, reason: str) -> None:
        """Stores a request that the server rejects permanently in the file `….refused`, with the
        reason. Raises SpoolError."""
        said = {"reason": reason, "key": entry.key, "body": from_json(entry.body)}
        with self._held():
            self._append(self._refused, to_json(said))

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Locks the spool against other readers and writers."""
        import fcntl  # not on Windows

        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            lock = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX)
                yield
            finally:
                os.close(lock)
        except OSError as error:
            reason = error.strerror or error
            raise SpoolError(f"{self._path}: {reason}; the last request may not be kept") from None

    def _append(self, path: Path, line: bytes) -> None:
        is_new = not path.exists()
        file = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            end = _whole(file)
            try:
                _write(file, end, line + b"\n")
                os.fsync(file)
            except OSError:
                os.ftruncate(file, end)
                raise
        finally:
            os.close(file)
        if is_new:
            _sync_folder(path)

    def _lines(self) -> list[bytes]:
        """The lines that have ended."""
        if not self._path.exists():
            return []
        return self._path.read_bytes().split(b"\n")[:-1]

    def _keep(self, lines: Sequence[bytes]) -> None:
        """These alone, whole or not at all. If that is lost, they are sent again."""
        if not lines:
            os.truncate(self._path, 0)
            return
        other = Path(f"{self._path}.new")
        file = os.open(other, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            _write(file, 0, b"\n".join([*lines, b""]))
            os.fsync(file)
        finally:
            os.close(file)
        other.replace(self._path)
        _sync_folder(self._path)


def _entry(line: bytes) -> Entry | None:
    try:
        said = json.loads(line)
        return Entry(str(said["key"]), to_json(said["body"]))
    except (ValueError, TypeError, KeyError):
        return None


def _whole(file: int) -> int:
    """Where the last whole line ends; a half one behind it is cut off."""
    end = os.lseek(file, 0, os.SEEK_END)
    while end:
        start = max(0, end - 65_536)
        at = os.pread(file, end - start, start).rfind(b"\n")
        if at >= 0:
            end = start + at + 1
            break
        end = start
    os.ftruncate(file, end)
    return end


def _write(file: int, at: int, text: bytes) -> None:
    while text:
        written = os.pwrite(file, text, at)
        at, text = at + written, text[written:]


def _sync_folder(path: Path) -> None:
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# --- for both clients -------------------------------------------------------------------------


async def in_thread(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls what waits for the disk, while others have their turn."""
    return await asyncio.to_thread(function, *args, **kwargs)


def in_place(function: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    """Calls it."""
    return function(*args, **kwargs)
