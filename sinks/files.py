"""Lists the Parquet files of a table: reads Delta's log with DuckDB and `json`.

Supports the subset of the Delta protocol that `sinks.delta` writes: a single-part checkpoint, then
one JSON file per commit. Other logs are read by the library `deltalake`, which takes longer to
import and open than a query takes.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import _duckdb

from sinks.errors import unreadable
from sinks.locations import Location
from sinks.object_store import ObjectPath

READER_VERSION = 1
"""Delta reader version: from 2 on columns may be mapped, from 3 on rows may be deleted in place."""


class _BeyondUsError(Exception):
    """The log uses features that this module does not support."""


def data_files(db: _duckdb.DuckDBPyConnection, table: Location) -> list[str]:
    """Files of a table's newest version, sorted; empty for a table without rows.

    Raises HistoryError if the log cannot be read.
    """
    if isinstance(table, ObjectPath):
        from sinks import object_files

        return object_files.data_files(db, table)
    log = table / "_delta_log"
    if next(log.glob("[0-9]*"), None) is None:  # without its first commit, as after a full disk
        return []
    try:
        paths = _replayed(db, log)
    except (_BeyondUsError, _duckdb.Error, OSError, ValueError, KeyError, TypeError):
        return _by_library(table)
    return sorted(str(table / path) for path in paths)


def _replayed(db: _duckdb.DuckDBPyConnection, log: Path) -> set[str]:
    version, files = _checkpoint(db, log)
    for number in range(version + 1, 1 << 62):
        try:
            commit = (log / f"{number:020}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            break
        version = number
        for line in commit.splitlines():
            _apply(json.loads(line), files)
    if version < 0:
        raise _BeyondUsError
    return files


def _apply(action: dict[str, Any], files: set[str]) -> None:
    if "add" in action:
        files.add(_plain(action["add"]["path"]))
    elif "remove" in action:
        files.discard(_plain(action["remove"]["path"]))
    elif "protocol" in action:
        _check(action["protocol"]["minReaderVersion"])


def _checkpoint(db: _duckdb.DuckDBPyConnection, log: Path) -> tuple[int, set[str]]:
    """Version and files of the last checkpoint; -1 and an empty set without one."""
    try:
        last = json.loads((log / "_last_checkpoint").read_text(encoding="utf-8"))
    except FileNotFoundError:
        return -1, set()
    if "parts" in last or "v2Checkpoint" in last:
        raise _BeyondUsError
    version: int = last["version"]
    sql = (
        "SELECT add.path, protocol.minReaderVersion FROM read_parquet(?) "
        "WHERE add IS NOT NULL OR protocol IS NOT NULL"
    )
    rows = db.execute(sql, [str(log / f"{version:020}.checkpoint.parquet")]).fetchall()
    for reader_version in (
        reader_version for _, reader_version in rows if reader_version is not None
    ):
        _check(reader_version)
    return version, {_plain(path) for path, _ in rows if path is not None}


def _plain(path: str) -> str:
    if "://" in path or path.startswith("/"):
        raise _BeyondUsError  # a file of another table
    return unquote(path)


def _check(reader_version: int) -> None:
    if reader_version > READER_VERSION:
        raise _BeyondUsError


def _by_library(table: Path) -> list[str]:
    from deltalake import DeltaTable
    from deltalake.exceptions import DeltaError

    try:
        return sorted(unquote(uri) for uri in DeltaTable(str(table)).file_uris())
    except (DeltaError, OSError) as error:
        raise unreadable(table, error) from error
