"""Where something of a history in an object store lies on this machine. It holds texts, so it is
its owner's alone."""

import hashlib
import os
from pathlib import Path

from sinks.object_store import ObjectPath


def local_folder(setting: str, kind: str, place: ObjectPath) -> Path:
    """The folder of that kind for a place: below what the setting names, else below the cache of
    this account. Touches nothing."""
    given = os.environ.get(setting)
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    home = Path(given).absolute() if given else cache / "turnfold" / kind
    return home / hashlib.sha256(str(place).encode()).hexdigest()[:32]
