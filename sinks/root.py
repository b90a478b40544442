"""Whether a place is a history. Imports nothing slow: readers use it too."""

import json
import time
from functools import lru_cache
from typing import Any

from sinks.errors import HistoryError, HistoryWriteError
from sinks.locations import Location, P, is_url, location_of, make_folder, replace
from sinks.object_store import ObjectPath

MARKER = "turnfold.json"
"""A folder with this file is a history."""
OWNER = "_sink.json"
"""Says whose sinks write a history, where sinks do."""
DROPPED = "_dropped"
"""In the folder of a generation that is being dropped."""
LOCAL = "_local"
"""Files of a program's own server (`serve --local`); they may be there before the history is."""
FORMAT = 1
KNOWN_FOR = 60.0
"""Seconds in which a history in an object store is not looked for again: that takes some requests,
and every question does."""
_known: dict[ObjectPath, float] = {}


def is_marked(folder: Location) -> bool:
    """Whether a folder is a history, or a generation of one."""
    return (folder / MARKER).exists()


def is_shared(root: Location) -> bool:
    """Whether sinks write this history."""
    return (root / OWNER).exists()


def open_root(path: P) -> P:
    """The history's place, made and marked if there is none or an empty one.

    Raises HistoryError for a file, a folder with other things in it, or another format.
    """
    root = check_root(path)
    if not is_marked(root):
        try:
            make_folder(root)
            replace(root / MARKER, json.dumps({"format": FORMAT}) + "\n")
        except (FileExistsError, NotADirectoryError) as error:  # a link to nothing, a file above
            raise HistoryError(f"{root}: cannot be a folder: {error.strerror}") from error
        except OSError as error:
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
    return root


def find_root(path: P) -> P:
    """An existing history's place; raises HistoryError where there is none."""
    if isinstance(path, ObjectPath) and time.monotonic() < _known.get(path, 0.0):
        return path
    root, is_history = _looked_at(path)
    if not is_history:
        made_by = f"`turnfold run FILE --history {root}`"
        if is_url(root):
            made_by += ", or `turnfold kafka sink` with Kafka"
        raise HistoryError(f"{root}: no history here; {made_by}")
    if isinstance(root, ObjectPath):
        _known[root] = time.monotonic() + KNOWN_FOR
    return root


def check_root(path: P) -> P:
    """Where a path leads, if that is a history or may become one. Touches nothing."""
    return _looked_at(path)[0]


def _looked_at(path: P) -> tuple[P, bool]:
    """The place, and whether it is a history; every question asks, so the marker comes first."""
    root = location_of(path)
    try:
        if _has_marker(root / MARKER):
            return root, True
        if isinstance(root, ObjectPath) and not root.key:
            raise HistoryError(
                f"{root}: is a whole bucket; give the history a prefix of its own: {root}/PREFIX"
            )
        if not root.exists():
            return root, False
        if not root.is_dir():
            raise HistoryError(f"{root}: is a file; a history is a folder of its own")
        ours = (f".{MARKER}", LOCAL)
        others = [one for one in root.iterdir() if not one.name.startswith(ours)]
        is_history = bool(others) and is_marked(root)  # somebody has made it one meanwhile
        if others and not is_history:
            raise HistoryError(
                f"{root}: is not a history (it has other files and no {MARKER}); name a new "
                "or empty folder"
            )
    except PermissionError as error:
        raise HistoryError(f"{root}: {error.strerror}") from error
    return root, is_history


def _has_marker(marker: Location) -> bool:
    """Whether it is there; raises HistoryError for one of another format."""
    if not marker.exists():
        return False
    stat = marker.stat()
    try:
        found = _format(marker, stat.st_ino, stat.st_mtime_ns, stat.st_size)
    except (ValueError, KeyError, TypeError, IsADirectoryError) as error:
        raise HistoryError(f"{marker}: not readable as a history's marker") from error
    if found != FORMAT:
        raise HistoryError(
            f"{marker.parent}: history format {found!r}, this version reads {FORMAT}; use the "
            "version that wrote it, or run the input again into a new folder"
        )
    return True


@lru_cache(64)
def _format(marker: Location, *_: int) -> Any:
    """What a marker names, read once for each state of its file: every question asks."""
    return json.loads(marker.read_text(encoding="utf-8"))["format"]


__all__ = [
    "HistoryError",
    "HistoryWriteError",
    "check_root",
    "find_root",
    "is_marked",
    "is_shared",
    "is_url",
    "open_root",
    "replace",
]
