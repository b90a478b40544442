"""Opens the file of an index that is there."""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

GIVEN = "(SELECT value FROM json_each(?))"
"""SQL of values that `given` hands over: to compile a statement takes longer than to run it, so its
text has to be the same for all values."""


def given(values: Iterable[int | str]) -> list[str]:
    """A statement's parameters for one `GIVEN`."""
    return [msgspec.json.encode(list(values)).decode()]


def connected(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """An open index; `readonly`, and if its folder is, for reading, by any one thread at a time.
    Raises sqlite3.OperationalError where there is none (any more)."""
    uri = f"{path.absolute().as_uri()}?{_mode(path, readonly)}"
    db = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=30, check_same_thread=not readonly
    )
    db.execute("PRAGMA mmap_size = 4000000000")
    return db


def notes(db: sqlite3.Connection) -> dict[str, Any]:
    """All notes of an index."""
    found = db.execute("SELECT key, value FROM meta")
    return {key: msgspec.json.decode(value) for key, value in found}


def is_writable(path: Path) -> bool:
    """Whether somebody like us may write the index."""
    return os.access(path.parent, os.W_OK)


def _mode(path: Path, readonly: bool) -> str:
    """How SQLite opens it. A file in WAL mode can be read in a read-only folder only if nobody
    writes it (then it has no -wal, and needs none), or through the -wal that its writer has made.
    """
    if is_writable(path):
        return "mode=ro" if readonly else "mode=rw"
    is_written = path.with_name(f"{path.name}-wal").exists()
    return "mode=ro" if is_written else "mode=ro&immutable=1"
