"""Folders in which a process spills or copies rows while it works.

A process that is killed leaves its folder. So each has a common prefix, and its owner has it
locked: whoever can take the lock may remove it (`clear_left`).
"""

import atexit
import fcntl
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

PREFIX = "turnfold-scratch-"
JUST_MADE = 60.0
"""Seconds in which the owner of a folder without files has locked it."""


@contextmanager
def scratch() -> Iterator[Path]:
    """A folder that is removed at the end, in the system's folder of temporary files. Raises
    OSError."""
    folder, lock = _made()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def of_process() -> str:
    """The folder of this process for what DuckDB spills; empty where none can be made."""
    return _of_process(os.getpid())


@cache
def _of_process(process: int) -> str:
    try:
        folder, _ = _made()  # the lock ends with the process
    except OSError:
        return ""
    atexit.register(_remove, folder, process)
    return str(folder)


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # else this is a fork of its owner
        shutil.rmtree(folder, ignore_errors=True)


def _made() -> tuple[Path, int]:
    folder = _temporary() / f"{PREFIX}{os.urandom(8).hex()}"
    folder.mkdir(mode=0o700)
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _temporary() -> Path:
    """The module `tempfile` takes three milliseconds to load, of which a question has a hundred."""
    return Path(os.environ.get("TMPDIR") or "/tmp")


def clear_left() -> None:
    """Removes what killed processes of this account left."""
    for folder in _temporary().glob(f"{PREFIX}*"):
        try:
            found = folder.stat()
            is_new = time.time() - found.st_mtime < JUST_MADE and not any(folder.iterdir())
            if found.st_uid != os.geteuid() or is_new:
                continue
            lock = os.open(folder, os.O_RDONLY)
        except OSError:  # it has gone, or is another account's
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its owner is at work, and removes it
            continue
        finally:
            os.close(lock)
