"""Temporary folders in which a process spills or copies rows.

A killed process leaves its folder. So the folders have a common prefix, and each is locked by its
process: a folder that can be locked may be removed (`clear_left`).
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
"""Seconds in which a process locks its new, empty folder."""


@contextmanager
def scratch() -> Iterator[Path]:
    """Temporary folder, removed at the end. Raises OSError."""
    folder, lock = _make()
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def of_process() -> str:
    """Folder of this process into which DuckDB spills; empty if it cannot be created."""
    return _of_process(os.getpid())


@cache
def _of_process(process: int) -> str:
    try:
        folder, _ = _make()  # the lock ends with the process
    except OSError:
        return ""
    atexit.register(_remove, folder, process)
    return str(folder)


def _remove(folder: Path, process: int) -> None:
    if os.getpid() == process:  # not in a fork of its owner
        shutil.rmtree(folder, ignore_errors=True)


def _make() -> tuple[Path, int]:
    folder = _temporary() / f"{PREFIX}{os.urandom(8).hex()}"
    folder.mkdir(mode=0o700)
    lock = os.open(folder, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _temporary() -> Path:
    """The system's folder; importing `tempfile` would take 3 of the 100 ms of a query."""
    return Path(os.environ.get("TMPDIR") or "/tmp")


def clear_left() -> None:
    """Removes folders of killed processes of this account."""
    for folder in _temporary().glob(f"{PREFIX}*"):
        try:
            stat = folder.stat()
            is_new = time.time() - stat.st_mtime < JUST_MADE and not any(folder.iterdir())
            if stat.st_uid != os.geteuid() or is_new:
                continue
            lock = os.open(folder, os.O_RDONLY)
        except OSError:  # it was removed, or belongs to another account
            continue
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(folder, ignore_errors=True)
        except BlockingIOError:  # its owner is running, and removes it
            continue
        finally:
            os.close(lock)
