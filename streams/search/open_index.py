"""Opens the SQLite file of an index."""

import os
import sqlite3
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import msgspec

IN_VALUES = "(SELECT value FROM json_each(?))"
"""SQL of the values of a `values_parameter`. To compile a statement takes longer than to run it, so
its text must not depend on the number of values."""


def values_parameter(values: Iterable[int | str]) -> list[str]:
    """The parameters of a statement with one `IN_VALUES`."""
    return [msgspec.json.encode(list(values)).decode()]


def connected(path: Path, *, readonly: bool = False) -> sqlite3.Connection:
    """Opens an index; for reading with `readonly` or in a read-only folder, by one thread at a
    time. Raises sqlite3.OperationalError if it does not exist."""
    uri = f"{path.absolute().as_uri()}?{_mode(path, readonly)}"
    db = sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=30, check_same_thread=not readonly
    )
    db.execute("PRAGMA mmap_size = 4000000000")
    return db


def read_meta(db: sqlite3.Connection) -> dict[str, Any]:
    """Reads the metadata of an index."""
    rows = db.execute("SELECT key, value FROM meta")
    return {key: msgspec.json.decode(value) for key, value in rows}


def is_writable(path: Path) -> bool:
    """Whether this account may write the index."""
    return os.access(path.parent, os.W_OK)


def _mode(path: Path, readonly: bool) -> str:
    """URI parameters for SQLite. In a read-only folder, a file in WAL mode can be read only without
    a writer (it has no -wal, and needs none) or through its writer's -wal."""
    if is_writable(path):
        return "mode=ro" if readonly else "mode=rw"
    is_written = path.with_name(f"{path.name}-wal").exists()
    return "mode=ro" if is_written else "mode=ro&immutable=1"
