"""Locks on files, which end with the process that holds them. Imports nothing slow."""

import fcntl
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from sinks.root import MARKER

SERVED = "_inbox/lock"
"""A history's: `serve` has it as long as it runs, also while it lends the other."""
LENT_WITHIN = 30.0
"""Seconds: a batch may have to be committed first."""
LOOK_EVERY = 0.01


def of_history(root: Path) -> Path:
    """A history's lock: `run`, `compact` and `forget` have it alone, sinks share it."""
    return (root / MARKER).with_suffix(".lock")


def of_asking(root: Path) -> Path:
    """Who has this lock asks `serve` to lend the history's."""
    return (root / MARKER).with_suffix(".asked")


def taken(lock: IO[str], *, shared: bool = False, within: float = 0.0) -> bool:
    """Takes the lock of an open file, if nobody has it, or lets go of it in so many seconds."""
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
def held(
    file: Path, refusal: Exception, *, shared: bool = False, within: float = 0.0
) -> Iterator[None]:
    """The lock of a file, which is made if there is none. Raises `refusal` where it is taken, and
    stays so for `within` seconds."""
    with file.open("a") as lock:
        if not taken(lock, shared=shared, within=within):
            raise refusal
        yield


@contextmanager
def borrowed(root: Path, refusal: Exception) -> Iterator[None]:
    """A history's lock; a server that has it is asked to lend it. Raises `refusal`."""
    with held(of_asking(root), refusal, within=1.0):  # the server looks whether it is taken
        within = LENT_WITHIN if is_taken(root / SERVED) else 0.0
        with held(of_history(root), refusal, within=within):
            yield


def is_taken(file: Path) -> bool:
    """Whether some process has the lock of a file."""
    try:
        with file.open("r") as lock:
            return not taken(lock)
    except FileNotFoundError:
        return False
