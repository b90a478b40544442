"""Which generation of a history is live (docs/backfill.md).

In a folder one small file names it, replaced as a whole. In an object store nothing is replaced on
a condition, so each switch makes an object under the next number, unless somebody else has made
that: the newest one names it. A copy of those objects in a folder is read, and continued, as they
are. Imports nothing slow.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from sinks import numbered
from sinks.errors import HistoryError, HistoryWriteError
from sinks.locations import Location, P, replace
from sinks.object_store import ObjectPath

FILE = "generation.json"
NUMBERED = "generation"
"""`00000001.json`, … of a history in an object store."""
ROOT = "root"
LIVE = "live"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
RESERVED = frozenset({ROOT, LIVE, "previous"})
"""What no generation may be called: words for one where a history is asked."""

Stamp = tuple[int, int]
"""Changes with each switch; (0, 0) before the first. Of a folder: inode, time of change in ns."""


class Pointer(NamedTuple):
    """The live generation, and the one before it, which `rollback` goes back to. `behind`: it was
    promoted though it lacks records, so readers do not wait until it has them. `number`: the note
    that says so; 0: a file without a number, or nothing."""

    current: str = ROOT
    previous: str | None = None
    behind: bool = False
    number: int = 0


def pointer(root: Location) -> Pointer:
    """Which generation is live. Raises HistoryError where the file says nothing of use."""
    if number := newest(root):
        return _noted(root, number)
    try:
        return _parsed(root / FILE, (root / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Pointer()


def is_switched(root: Location) -> bool:
    """Whether anything but `root` may be live."""
    if newest(root):
        return True
    if isinstance(root, Path):
        return (root / FILE).exists()
    try:
        (root / FILE).read_bytes()  # `exists` would list, too
    except FileNotFoundError:
        return False
    return True


def stamp(root: Location) -> Stamp:
    """Changes when another generation goes live: cheap enough for a server to ask each time; in an
    object store a request or two."""
    if number := newest(root):
        return number, 0
    try:
        found = (root / FILE).stat()
    except FileNotFoundError:
        return 0, 0
    return found.st_ino, found.st_mtime_ns


def check_name(name: str) -> None:
    """Raises HistoryError for what names no generation."""
    if name != ROOT and (name in RESERVED or not NAME.fullmatch(name)):
        raise HistoryError(
            f"{name!r} cannot name a generation: use 1 to 64 letters, digits, _ . - beginning "
            f"with a letter or digit, but not {', '.join(sorted(RESERVED))}"
        )


def switch(root: Location, to: Pointer) -> None:
    """Makes another generation live, in one step. On disk, or in the store, when it returns.

    In an object store `to.number` is that of the pointer which this one follows. Raises
    HistoryError for an invalid name and where another has followed it, HistoryWriteError.
    """
    check_name(to.current)
    text = json.dumps(_said(to)) + "\n"
    if isinstance(root, ObjectPath):
        note = _note(root, to.number + 1)
        if not note.create_text(text) and note.read_text() != text:  # else our answer was lost
            raise HistoryError(
                f"{root}: another generation was promoted meanwhile; look which one is live "
                "(turnfold generation list), then call this again"
            )
        return
    number = newest(root)
    file = _note(root, number + 1) if number else root / FILE
    try:
        replace(file, text)
    except OSError as error:
        raise HistoryWriteError(f"{file}: {error.strerror or error}") from error


def newest(root: Location) -> int:
    """The number of the newest note; 0 without any."""
    folder = root / NUMBERED
    if isinstance(folder, ObjectPath):
        names = [one.rpartition("/")[2] for one in folder.sizes()]
    else:
        names = [one.name for one in folder.iterdir()] if folder.is_dir() else []
    return numbered.newest(names)


def _noted(root: Location, number: int) -> Pointer:
    note = _note(root, number)
    return _parsed(note, note.read_text(encoding="utf-8"))._replace(number=number)


def _note(root: P, number: int) -> P:
    return root / NUMBERED / numbered.name_of(number)


def _parsed(file: Location, text: str) -> Pointer:
    try:
        found: Pointer = Pointer(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise HistoryError(
            f"{file}: not readable; it holds "
            '{"current": NAME, "previous": NAME or null}, without it `root` is live'
        ) from error
    return found


def _said(to: Pointer) -> dict[str, str | bool | None]:
    """As it stands in the file: `behind` only where it is so, for versions that do not know it."""
    said: dict[str, str | bool | None] = {"current": to.current, "previous": to.previous}
    return said | {"behind": True} if to.behind else said
