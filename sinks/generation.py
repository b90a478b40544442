"""Generations of a history: their folders, and the live one (docs/backfill.md).

A generation is a separate history in `generations/NAME` of the history's place; the tables next to
`generations`, which `run` created first, are the generation `root`. `sinks.pointer` stores which is
live. Imports only fast modules.
"""

import shutil
from contextlib import suppress
from pathlib import Path

from sinks.history_root import DROPPED, MARKER, OWNER, HistoryError, find_root, is_marked
from sinks.locations import Location, P, location_of
from sinks.object_store import ObjectPath
from sinks.pointer import (
    LIVE,
    NAME,
    RESERVED,
    ROOT,
    Pointer,
    Stamp,
    check_name,
    is_switched,
    pointer,
    stamp,
    switch,
)

FOLDER = "generations"


def names(root: Location) -> list[str]:
    """Names of all generations, `root` first."""
    folder = root / FOLDER
    entries = folder.iterdir() if folder.is_dir() else ()
    return [
        ROOT,
        *sorted(entry.name for entry in entries if NAME.fullmatch(entry.name) and is_marked(entry)),
    ]


def remove(root: P, folder: P) -> None:
    """Removes a generation; the caller has its lock. After a kill it is no longer listed; in an
    object store it is listed as being dropped, and the same call completes the work."""
    if isinstance(folder, ObjectPath):
        _delete(folder)
        return
    hidden = folder.with_name(f".{folder.name}")
    _erase(hidden)
    folder.rename(hidden)
    remove_leftovers(root)


def remove_leftovers(root: Location) -> None:
    """Removes leftovers of a killed `remove`; in an object store also objects that were written
    into a removed generation."""
    if isinstance(root, ObjectPath):
        for folder in (root / FOLDER).iterdir():
            addresses = folder.sizes()
            if not is_marked(folder):  # a new generation is marked first
                folder.unlink_all(addresses)
        return
    for path in (root / FOLDER).glob(".*"):
        _erase(path)


def _delete(folder: ObjectPath) -> None:
    """Deletes all objects; owner and marker last."""
    (folder / DROPPED).write_text("dropped\n")
    last = [str(folder / name) for name in (OWNER, MARKER, DROPPED)]
    folder.unlink_all(folder.sizes().keys() - set(last))
    for address in last:
        folder.unlink_all([address])


def _erase(folder: Path) -> None:
    while folder.exists():
        with suppress(FileNotFoundError):  # another process may remove it at the same time
            shutil.rmtree(folder)


def folder_of(root: P, name: str) -> P:
    """Folder of a generation's tables; it may not exist.

    Raises HistoryError for an invalid name.
    """
    check_name(name)
    return root if name == ROOT else root / FOLDER / name


def resolve(root: Location, name: str) -> str:
    """Resolves `live` and `previous` to a generation's name; returns other names unchanged.

    Raises HistoryError without a previous generation.
    """
    if name not in (LIVE, "previous"):
        return name
    live = pointer(root)
    generation = live.current if name == LIVE else live.previous
    if generation is None:
        raise HistoryError(f"{root}: no generation was live before {live.current!r}")
    return generation


def find(root: P, name: str) -> P:
    """Folder of an existing generation; the name may be `live` or `previous`.

    Raises HistoryError if it does not exist.
    """
    name = resolve(root, name)
    folder = folder_of(root, name)
    if not is_marked(folder):
        raise HistoryError(
            f"{root}: no generation {name!r}; there are {', '.join(names(root))} "
            f"(`turnfold generation create {name} --history {root}` creates it)"
        )
    return folder


def own_folder(folder: P) -> P:
    """Path of the tables in this folder itself, independent of the live generation."""
    return folder / FOLDER / ROOT if is_switched(folder) else folder


def generation_path(path: P, name: str | None) -> P:
    """Path of a generation, for functions that take a history (None: the live generation).

    Raises HistoryError if the history or generation does not exist.
    """
    if name is None:
        return path
    root = find_root(path)
    return root / FOLDER / ROOT if name == ROOT else find(root, name)


def find_tables(path: P) -> P:
    """Folder of the tables of a path: a history's live generation, or the generation that the path
    names (`DIR/generations/NAME`, including `root`).

    Raises HistoryError without a history.
    """
    location = location_of(path)
    if location.parent.name == FOLDER and location.name == ROOT:
        return find_root(location.parent.parent)
    root = find_root(location)
    return find(root, LIVE) if is_switched(root) else root


__all__ = [
    "DROPPED",
    "FOLDER",
    "LIVE",
    "RESERVED",
    "ROOT",
    "Pointer",
    "Stamp",
    "find",
    "find_tables",
    "folder_of",
    "generation_path",
    "names",
    "own_folder",
    "pointer",
    "remove",
    "remove_leftovers",
    "resolve",
    "stamp",
    "switch",
]
