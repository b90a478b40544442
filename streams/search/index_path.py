"""The folder of a generation's indexes: next to its tables, or, for tables in an object store, on
this machine. It contains texts: only its owner may read it."""

import hashlib
import json
import os
import shutil
from functools import lru_cache
from pathlib import Path

from sinks.history_root import MARKER, HistoryWriteError, find_root
from sinks.locations import Location, replace
from sinks.object_store import ObjectPath

FOLDER = "_search"
SETTING = "TURNFOLD_SEARCH_FOLDER"
"""The folder for histories in object stores. Default: $XDG_CACHE_HOME/turnfold/search."""
HISTORY = "history.json"
"""File in such a folder: identifies the history of its indexes."""


def folder_of(tables: Location) -> Path:
    """Returns the folder of the indexes, which may not exist yet. Raises HistoryError."""
    return tables / FOLDER if isinstance(tables, Path) else _on_this_machine(tables)


@lru_cache(16)
def _on_this_machine(tables: ObjectPath) -> Path:
    """Creates the folder; deletes indexes of an earlier history at this address."""
    folder = _local_folder(tables)
    identity = json.dumps({"history": str(tables), "marker": (find_root(tables) / MARKER).stat()})
    try:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        file = folder / HISTORY
        if not file.exists() or file.read_text(encoding="utf-8") != identity:
            shutil.rmtree(folder)
            folder.mkdir(mode=0o700)
            replace(file, identity)
    except OSError as error:
        raise HistoryWriteError(
            f"{folder}: {error.strerror or error}; it is the folder of the search index of "
            f"{tables}: set {SETTING} to another folder"
        ) from error
    return folder


def has_index_folder(tables: Location) -> bool:
    """Whether the folder exists."""
    return (tables / FOLDER if isinstance(tables, Path) else _local_folder(tables)).is_dir()


def _local_folder(tables: ObjectPath) -> Path:
    """The folder for tables in an object store: below `SETTING`, otherwise below this account's
    cache."""
    override = os.environ.get(SETTING)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = Path(override).absolute() if override else cache / "turnfold" / "search"
    return home / hashlib.sha256(str(tables).encode()).hexdigest()[:32]
