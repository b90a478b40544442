"""Where the indexes of a generation lie: beside its tables, or, if these are in an object store, in
a folder of this machine. It holds texts, so it is its owner's alone."""

import json
import shutil
from functools import lru_cache
from pathlib import Path

from sinks.local_folder import local_folder
from sinks.locations import Location, replace
from sinks.object_store import ObjectPath
from sinks.root import MARKER, HistoryWriteError, find_root

FOLDER = "_search"
SETTING = "TURNFOLD_SEARCH_FOLDER"
"""Names the folder for histories in object stores. Default: $XDG_CACHE_HOME/turnfold/search."""
OF = "history.json"
"""In such a folder: of which history its indexes are."""


def folder_of(tables: Location) -> Path:
    """The folder of the indexes, whether there are any or not. Raises HistoryError."""
    return tables / FOLDER if isinstance(tables, Path) else _on_this_machine(tables)


@lru_cache(16)
def _on_this_machine(tables: ObjectPath) -> Path:
    """Indexes of a history that lay at this address before are removed."""
    folder = _named(tables)
    said = json.dumps({"history": str(tables), "marker": (find_root(tables) / MARKER).stat()})
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        if not (folder / OF).exists() or (folder / OF).read_text(encoding="utf-8") != said:
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
            replace(folder / OF, said)
    except OSError as error:
        raise HistoryWriteError(
            f"{folder}: {error.strerror or error}; the search index of {tables} lies there: name "
            f"another folder by {SETTING}"
        ) from error
    return folder


def is_made(tables: Location) -> bool:
    """Whether there is such a folder."""
    return (tables / FOLDER if isinstance(tables, Path) else _named(tables)).is_dir()


def _named(tables: ObjectPath) -> Path:
    return local_folder(SETTING, "search", tables)
