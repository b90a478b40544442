"""Locks on files, which end with the process that holds them. Imports nothing slow."""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

HISTORY = "turnstone.lock"
"""A history's: `run`, `compact` and `forget` have it alone, sinks share it."""


def taken(lock: IO[str], *, shared: bool = False) -> bool:
    """Takes the lock of an open file, if nobody has it."""
    try:
        fcntl.flock(lock, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


@contextmanager
def held(file: Path, refusal: Exception, *, shared: bool = False) -> Iterator[None]:
    """The lock of a file, which is made if there is none. Raises `refusal` where it is taken."""
    with file.open("a") as lock:
        if not taken(lock, shared=shared):
            raise refusal
        yield
