"""Local folder for files derived from a history in an object store."""

import hashlib
import os
from pathlib import Path

from sinks.object_store import ObjectPath


def local_folder(setting: str, kind: str, place: ObjectPath) -> Path:
    """Folder of a kind of files for a place: below the folder in the variable `setting`, otherwise
    below this account's cache. Does not create it."""
    override = os.environ.get(setting)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = Path(override).absolute() if override else cache / "turnfold" / kind
    return home / hashlib.sha256(str(place).encode()).hexdigest()[:32]
