"""Opens and recognises the place of a history. Imports only fast modules, as readers use it."""

import json
import time
from errno import EACCES, ELOOP, EPERM

from sinks.errors import HistoryError, HistoryWriteError
from sinks.locations import Location, P, is_url, location_of, make_folder, replace
from sinks.object_store import ObjectPath

MARKER = "turnfold.json"
"""A folder with this file is a history."""
OWNER = "_sink.json"
"""Names the sink and cluster that write a history."""
DROPPED = "_dropped"
"""Marks a generation that is being dropped."""
LOCAL = "_local"
"""Files of an embedded server (`serve --local`); they may exist before the history."""
FORMAT = 1
KNOWN_FOR = 60.0
"""Seconds for which the check of a history in an object store is cached: it takes requests, and
every query needs it."""
_known: dict[ObjectPath, float] = {}


def is_marked(folder: Location) -> bool:
    """Whether a folder is a history, or a generation of one."""
    return (folder / MARKER).exists()


def is_shared(root: Location) -> bool:
    """Whether sinks write this history."""
    return (root / OWNER).exists()


def open_root(path: P) -> P:
    """Opens the history's place; creates and marks it if it is missing or empty.

    Raises HistoryError for a file, a folder with other files, or another format.
    """
    root = check_root(path)
    if not is_marked(root):
        try:
            make_folder(root)
            replace(root / MARKER, json.dumps({"format": FORMAT}) + "\n")
        except (FileExistsError, NotADirectoryError) as error:  # a dangling link, a file as parent
            raise HistoryError(f"{root}: cannot be a folder: {error.strerror}") from error
        except OSError as error:
            raise HistoryWriteError(f"{root}: {error.strerror or error}") from error
    return root


def find_root(path: P) -> P:
    """Place of an existing history; raises HistoryError if there is none."""
    if isinstance(path, ObjectPath) and time.monotonic() < _known.get(path, 0.0):
        return path
    root, is_history = _inspect(path)
    if not is_history:
        made_by = f"`turnfold run FILE --history {root}`"
        if is_url(root):
            made_by += ", or `turnfold kafka sink` with Kafka"
        raise HistoryError(f"{root}: no history here; {made_by}")
    if isinstance(root, ObjectPath):
        _known[root] = time.monotonic() + KNOWN_FOR
    return root


def check_root(path: P) -> P:
    """Place of a path that is a history or can become one. Read-only; raises HistoryError."""
    return _inspect(path)[0]


def _inspect(path: P) -> tuple[P, bool]:
    """The place, and whether it is a history; checks the marker first, as every query needs it."""
    root = location_of(path)
    try:
        if _has_marker(root / MARKER):
            return root, True
        if isinstance(root, ObjectPath) and not root.key:
            raise HistoryError(
                f"{root}: is a whole bucket; give the history a prefix: {root}/PREFIX"
            )
        if not root.exists():
            return root, False
        if not root.is_dir():
            raise HistoryError(f"{root}: is a file; name a folder")
        own_names = (f".{MARKER}", LOCAL)
        foreign = [entry for entry in root.iterdir() if not entry.name.startswith(own_names)]
        is_history = bool(foreign) and is_marked(root)  # another process has just created it
        if foreign and not is_history:
            raise HistoryError(
                f"{root}: is not a history (it has other files and no {MARKER}); name a new "
                "or empty folder"
            )
    except OSError as error:
        if error.errno not in (EACCES, EPERM, ELOOP):
            raise
        raise HistoryError(f"{root}: {error.strerror}") from error
    return root, is_history


def _has_marker(marker: Location) -> bool:
    """Whether the marker exists; raises HistoryError for another format."""
    try:
        version = json.loads(marker.read_text(encoding="utf-8"))["format"]
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (ValueError, KeyError, TypeError, IsADirectoryError) as error:
        raise HistoryError(f"{marker}: not readable as a history's marker") from error
    if version != FORMAT:
        raise HistoryError(
            f"{marker.parent}: history format {version!r}, this version reads {FORMAT}; use the "
            "version that wrote it, or run the input again into a new folder"
        )
    return True


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
