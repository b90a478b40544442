"""Where `backfill` works on this machine, if its history lies in an object store.

A generation's desk holds the records of everybody, so it is its owner's alone. It is cleared away
when the generation is complete, and by `forget`; what a killed command has left, the next one
continues with.
"""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sinks import locks
from sinks.local_folder import local_folder
from sinks.object_store import ObjectPath
from streams.errors import ConfigurationError
from streams.files import own_folder

SETTING = "TURNFOLD_BACKFILL_FOLDER"
"""Names the folder of all desks. Default: $XDG_CACHE_HOME/turnfold/backfill."""
LOCK = ".lock"
"""Beside a desk, behind its name."""


@contextmanager
def taken(root: ObjectPath, name: str) -> Iterator[Path]:
    """The desk of a history's generation, which is made, for one process at a time.

    Raises ConfigurationError where another has it, TurnfoldError.
    """
    folder = _of(root) / name
    refusal = ConfigurationError(
        f"generation {name!r}: another `turnfold backfill` of this machine makes it; wait for it"
    )
    setting = f"--work-folder, or {SETTING}"
    with own_folder.taken(folder, _lock(folder), refusal, "`backfill` works there", setting):
        yield folder


def clear(folder: Path) -> None:
    """Nothing lies on it any more; the caller has it."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700, exist_ok=True)


def end(folder: Path) -> None:
    """Removes the desk; the caller has it."""
    shutil.rmtree(folder, ignore_errors=True)


def remove(root: ObjectPath, name: str) -> None:
    """Removes a desk, unless a process is at it: that finds by itself what has changed."""
    folder = _of(root) / name
    if not folder.is_dir():
        return
    with _lock(folder).open("a") as lock:
        if locks.taken(lock):
            shutil.rmtree(folder, ignore_errors=True)


def remove_all(root: ObjectPath) -> None:
    """Removes all desks of a history at which no process is."""
    above = _of(root)
    for folder in above.iterdir() if above.is_dir() else ():
        if folder.is_dir():
            remove(root, folder.name)


def _of(root: ObjectPath) -> Path:
    return local_folder(SETTING, "backfill", root)


def _lock(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}{LOCK}")
