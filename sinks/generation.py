"""Which generation of a history is live, and where each lies (docs/backfill.md).

A generation is a history of its own, in `generations/NAME` of the history's folder; the tables
beside it, which `run` made first, are the generation `root`. One small file names the live one; it
is replaced as a whole, so a reader sees the old or the new. Imports nothing slow.
"""

import json
import re
import shutil
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from sinks.locations import Location, P, location_of
from sinks.root import HistoryError, HistoryWriteError, find_root, is_marked, replace

FOLDER = "generations"
FILE = "generation.json"
ROOT = "root"
LIVE = "live"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
RESERVED = frozenset({ROOT, LIVE, "previous"})
"""What no generation may be called: words for one where a history is asked."""

Stamp = tuple[int, int]
"""The pointer's inode and time of change in ns; (0, 0) where there is none yet."""


class Pointer(NamedTuple):
    """The live generation, and the one before it, which `rollback` goes back to. `behind`: it was
    promoted though it lacks records, so readers do not wait until it has them."""

    current: str = ROOT
    previous: str | None = None
    behind: bool = False


def pointer(root: Location) -> Pointer:
    """Which generation is live. Raises HistoryError where the file says nothing of use."""
    try:
        found = Pointer(**json.loads((root / FILE).read_text(encoding="utf-8")))
    except FileNotFoundError:
        return Pointer()
    except (ValueError, TypeError) as error:
        raise HistoryError(
            f"{root / FILE}: not readable; it holds "
            '{"current": NAME, "previous": NAME or null}, without it `root` is live'
        ) from error
    return found


def stamp(root: Location) -> Stamp:
    """Changes when another generation goes live: cheap enough for a server to ask each time."""
    try:
        found = (root / FILE).stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def switch(root: Path, to: Pointer) -> None:
    """Makes another generation live, in one step. On disk when it returns.

    Raises HistoryError for an invalid name, HistoryWriteError.
    """
    folder_of(root, to.current)
    try:
        replace(root / FILE, json.dumps(_said(to)) + "\n")
    except OSError as error:
        raise HistoryWriteError(f"{root / FILE}: {error.strerror or error}") from error


def _said(to: Pointer) -> dict[str, str | bool | None]:
    """As it stands in the file: `behind` only where it is so, for versions that do not know it."""
    said = to._asdict()
    if not to.behind:
        del said["behind"]
    return said


def names(root: Location) -> list[str]:
    """All generations, `root` first."""
    folder = root / FOLDER
    found = folder.iterdir() if folder.is_dir() else ()
    return [ROOT, *sorted(one.name for one in found if NAME.fullmatch(one.name) and is_marked(one))]


def remove(root: Path, folder: Path) -> None:
    """Removes a generation; the caller holds its lock. Killed half-way, it is not listed."""
    gone = folder.with_name(f".{folder.name}")
    _erase(gone)
    folder.rename(gone)
    remove_leftovers(root)


def remove_leftovers(root: Path) -> None:
    """Removes what a killed `remove` left."""
    for path in (root / FOLDER).glob(".*"):
        _erase(path)


def _erase(folder: Path) -> None:
    while folder.exists():
        with suppress(FileNotFoundError):  # another process may be at it, too
            shutil.rmtree(folder)


def folder_of(root: P, name: str) -> P:
    """Where a generation's tables lie, whether it exists or not.

    Raises HistoryError for an invalid name.
    """
    if name == ROOT:
        return root
    if name in RESERVED or not NAME.fullmatch(name):
        raise HistoryError(
            f"{name!r} cannot name a generation: use 1 to 64 letters, digits, _ . - beginning "
            f"with a letter or digit, but not {', '.join(sorted(RESERVED))}"
        )
    return root / FOLDER / name


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
            f"(`turnfold backfill --history {root} --generation {name}` would make it)"
        )
    return folder


def own(folder: P) -> P:
    """A path that means the tables in this very folder, whichever generation is live."""
    return folder / FOLDER / ROOT if (folder / FILE).exists() else folder


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
    return find(root, LIVE) if (root / FILE).exists() else root
