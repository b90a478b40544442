"""Pointer to the live generation of a history (docs/backfill.md).

In a folder it is one small file, replaced atomically. Object stores have no conditional replace, so
each switch creates an object with the next number, if no other writer has created it: the newest
one counts. A copy of those objects in a folder is read and continued. Imports only fast modules.
"""

import json
import re
from pathlib import Path
from typing import NamedTuple

from sinks import sequence_objects
from sinks.disk import flush
from sinks.errors import HistoryError, write_errors
from sinks.locations import Location, P, replace
from sinks.object_store import ObjectPath

FILE = "generation.json"
NUMBERED = "generation"
"""`00000001.json`, … of a history in an object store."""
ROOT = "root"
LIVE = "live"
NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,63}")
RESERVED = frozenset({ROOT, LIVE, "previous"})
"""Names that select a generation in queries; no generation may have them."""

Stamp = tuple[int, int]
"""Changes with each switch; (0, 0) before the first. In a folder: inode, time of change in ns."""


class Pointer(NamedTuple):
    """The live generation, and the previous one, for `rollback`. `behind`: it was promoted although
    it lacks records, so readers do not wait for them. `number`: its object's number, or 0 for a
    file without one and for no pointer."""

    current: str = ROOT
    previous: str | None = None
    behind: bool = False
    number: int = 0


def pointer(root: Location) -> Pointer:
    """Reads the pointer. Raises HistoryError if the file is not readable."""
    if number := newest(root):
        return _noted(root, number)
    try:
        return _parsed(root / FILE, (root / FILE).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Pointer()


def is_switched(root: Location) -> bool:
    """Whether a generation other than `root` may be live."""
    if newest(root):
        return True
    if isinstance(root, Path):
        return (root / FILE).exists()
    try:
        (root / FILE).read_bytes()  # `exists` would also list
    except FileNotFoundError:
        return False
    return True


def stamp(root: Location) -> Stamp:
    """Changes when another generation becomes live. Cheap enough for each request of a server; in
    an object store one or two requests."""
    if number := newest(root):
        return number, 0
    try:
        stat = (root / FILE).stat()
    except FileNotFoundError:
        return 0, 0
    return stat.st_ino, stat.st_mtime_ns


def check_name(name: str) -> None:
    """Raises HistoryError for an invalid name of a generation."""
    if name != ROOT and (name in RESERVED or not NAME.fullmatch(name)):
        raise HistoryError(
            f"{name!r} cannot name a generation: use 1 to 64 letters, digits, _ . - starting "
            f"with a letter or digit, but not {', '.join(sorted(RESERVED))}"
        )


def switch(root: Location, target: Pointer) -> None:
    """Makes another generation live, atomically; durable when it returns.

    In an object store `target.number` is the current pointer's number. Raises HistoryError for an
    invalid name and if the pointer has changed, HistoryWriteError.
    """
    check_name(target.current)
    text = json.dumps(_document(target)) + "\n"
    if isinstance(root, ObjectPath):
        note = _note(root, target.number + 1)
        if (
            not note.create_text(text) and note.read_text() != text
        ):  # equal text: the reply was lost
            raise HistoryError(
                f"{root}: another generation was promoted at the same time; check which one is "
                "live (turnfold generation list), then run the same command again"
            )
        return
    number = newest(root)
    file = _note(root, number + 1) if number else root / FILE
    with write_errors(file):
        flush(root)  # the generation has to be there after a loss of power, too
        replace(file, text)


def newest(root: Location) -> int:
    """Number of the newest pointer object; 0 without any."""
    folder = root / NUMBERED
    if isinstance(folder, ObjectPath):
        names = [entry.rpartition("/")[2] for entry in folder.sizes()]
    else:
        names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sequence_objects.newest(names)


def _noted(root: Location, number: int) -> Pointer:
    note = _note(root, number)
    return _parsed(note, note.read_text(encoding="utf-8"))._replace(number=number)


def _note(root: P, number: int) -> P:
    return root / NUMBERED / sequence_objects.name_of(number)


def _parsed(file: Location, text: str) -> Pointer:
    try:
        live: Pointer = Pointer(**json.loads(text))
    except (ValueError, TypeError) as error:
        raise HistoryError(
            f"{file}: not readable; expected "
            '{"current": NAME, "previous": NAME or null}, without it `root` is live'
        ) from error
    return live


def _document(target: Pointer) -> dict[str, str | bool | None]:
    """The file's content: `behind` only if true, for versions that do not know it."""
    document: dict[str, str | bool | None] = {
        "current": target.current,
        "previous": target.previous,
    }
    return document | {"behind": True} if target.behind else document
