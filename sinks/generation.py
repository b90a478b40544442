"""Which generation of a history is live, and where each lies (docs/backfill.md).

A generation is a history of its own, in `generations/NAME` of the history's place; the tables
beside it, which `run` made first, are the generation `root`. `sinks.pointer` says which is live.
Imports nothing slow.
"""

import shutil
from contextlib import suppress
from pathlib import Path

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
from sinks.root import DROPPED, MARKER, OWNER, HistoryError, find_root, is_marked

FOLDER = "generations"


def names(root: Location) -> list[str]:
    """All generations, `root` first."""
    folder = root / FOLDER
    found = folder.iterdir() if folder.is_dir() else ()
    return [ROOT, *sorted(one.name for one in found if NAME.fullmatch(one.name) and is_marked(one))]


def remove(root: P, folder: P) -> None:
    """Removes a generation; the caller holds its lock. Killed half-way, it is not listed; in an
    object store it is, as one that is being dropped, and the same call ends the work."""
    if isinstance(folder, ObjectPath):
        _delete(folder)
        return
    gone = folder.with_name(f".{folder.name}")
    _erase(gone)
    folder.rename(gone)
    remove_leftovers(root)


def remove_leftovers(root: Location) -> None:
    """Removes what a killed `remove` left; in an object store also what somebody wrote into a
    generation that had been removed."""
    if isinstance(root, ObjectPath):
        for folder in (root / FOLDER).iterdir():
            found = folder.sizes()
            if not is_marked(folder):  # what is made anew is marked first
                folder.unlink_all(found)
        return
    for path in (root / FOLDER).glob(".*"):
        _erase(path)


def _delete(folder: ObjectPath) -> None:
    """All objects; what says whose they are goes last."""
    (folder / DROPPED).write_text("dropped\n")
    last = [str(folder / name) for name in (OWNER, MARKER, DROPPED)]
    folder.unlink_all(folder.sizes().keys() - set(last))
    for one in last:
        folder.unlink_all([one])


def _erase(folder: Path) -> None:
    while folder.exists():
        with suppress(FileNotFoundError):  # another process may be at it, too
            shutil.rmtree(folder)


def folder_of(root: P, name: str) -> P:
    """Where a generation's tables lie, whether it exists or not.

    Raises HistoryError for an invalid name.
    """
    check_name(name)
    return root if name == ROOT else root / FOLDER / name


def resolve(root: Location, name: str) -> str:
    """A generation's own name: `live` is the live one, `previous` the one before.

    Raises HistoryError where none was before.
    """
    if name not in (LIVE, "previous"):
        return name
    at = pointer(root)
    known = at.current if name == LIVE else at.previous
    if known is None:
        raise HistoryError(f"{root}: no generation was live before {at.current!r}")
    return known


def find(root: P, name: str) -> P:
    """An existing generation's folder; `live` and `previous` as `resolve` says.

    Raises HistoryError where there is none of that name.
    """
    name = resolve(root, name)
    folder = folder_of(root, name)
    if not is_marked(folder):
        raise HistoryError(
            f"{root}: no generation {name!r}; there are {', '.join(names(root))} "
            f"(`turnfold generation create {name} --history {root}` would make it)"
        )
    return folder


def own(folder: P) -> P:
    """A path that means the tables in this very folder, whichever generation is live."""
    return folder / FOLDER / ROOT if is_switched(folder) else folder


def named(path: P, name: str | None) -> P:
    """A path that means this generation wherever a history is asked for; None: the live one.

    Raises HistoryError where there is no such history or generation.
    """
    if name is None:
        return path
    root = find_root(path)
    return root / FOLDER / ROOT if name == ROOT else find(root, name)


def find_tables(path: P) -> P:
    """The folder whose tables answer for a path: a history's live generation, or the generation
    that the path itself names (`DIR/generations/NAME`, for `root` too).

    Raises HistoryError where there is no history.
    """
    given = location_of(path)
    if given.parent.name == FOLDER and given.name == ROOT:
        return find_root(given.parent.parent)
    root = find_root(given)
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
    "named",
    "names",
    "own",
    "pointer",
    "remove",
    "remove_leftovers",
    "resolve",
    "stamp",
    "switch",
]
