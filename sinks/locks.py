"""File locks, which end with their process. Imports only fast modules."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sinks.history_root import MARKER

SERVED = "_inbox/lock"
"""Lock file that `serve` has while it runs, even while it lends the history's lock."""
LENT_WITHIN = 30.0
"""Seconds: a batch may have to be committed first."""
LOOK_EVERY = 0.01


def history_lock(root: Path) -> Path:
    """Lock file of a history: exclusive for `run`, `compact` and `forget`, shared by sinks."""
    return (root / MARKER).with_suffix(".lock")


def request_lock(root: Path) -> Path:
    """Lock file that requests the history's lock from `serve`."""
    return (root / MARKER).with_suffix(".asked")


def acquire(lock: IO[str], *, shared: bool = False, within: float = 0.0) -> bool:
    """Locks an open file; waits up to `within` seconds. Returns whether it is locked."""
    deadline = time.monotonic() + within
    while not _free(lock, shared):
        if time.monotonic() >= deadline:
            return False
        time.sleep(LOOK_EVERY)
    return True


def _free(lock: IO[str], shared: bool) -> bool:
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def lock_file(
    file: Path, refusal: Exception, *, shared: bool = False, within: float = 0.0
) -> Iterator[None]:
    """Locks a file, which is created if missing. Raises `refusal` if it is still locked after
    `within` seconds."""
    with file.open("a") as lock:
        if not acquire(lock, shared=shared, within=within):
            raise refusal
        yield


@contextmanager
def borrowed(root: Path, refusal: Exception) -> Iterator[None]:
    """Locks a history; requests the lock from a server that has it. Raises `refusal`."""
    with lock_file(request_lock(root), refusal, within=1.0):  # the server looks whether it is taken
        within = LENT_WITHIN if is_taken(root / SERVED) else 0.0
        with lock_file(history_lock(root), refusal, within=within):
            yield


def is_taken(file: Path) -> bool:
    """Whether a process has the lock of a file."""
    try:
        with file.open("r") as lock:
            return not acquire(lock)
    except FileNotFoundError:
        return False
