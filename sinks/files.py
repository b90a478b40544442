"""Which Parquet files make up a table: Delta's log read by DuckDB and `json`.

The Delta protocol in its plainest form, as `sinks.delta` writes it: a checkpoint in one piece,
then a JSON file a commit. Whatever goes beyond that is left to the library `deltalake`, whose
import and opening cost a reading command more than its question does.
"""

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import _duckdb

from sinks.errors import HistoryError, in_a_line
from sinks.locations import Location
from sinks.object_store import ObjectPath

READER_VERSION = 1
"""Of the protocol: from 2 on columns may have other names, from 3 on rows may be struck out."""


class _BeyondUsError(Exception):
    """The log is more than this module reads."""


def data_files(db: _duckdb.DuckDBPyConnection, table: Location) -> list[str]:
    """The files of a table's newest version, sorted; none for a table without rows.

    Raises HistoryError where there is a log that cannot be read.
    """
    if isinstance(table, ObjectPath):
        from sinks import object_files

        return object_files.data_files(db, table)
    log = table / "_delta_log"
    if next(log.glob("[0-9]*"), None) is None:  # not even its first commit: a disk may be full
        return []
    try:
        found = _replayed(db, log)
    except (_BeyondUsError, _duckdb.Error, OSError, ValueError, KeyError, TypeError):
        return _by_library(table)
    return sorted(str(table / path) for path in found)


def _replayed(db: _duckdb.DuckDBPyConnection, log: Path) -> set[str]:
    version, files = _checkpoint(db, log)
    for at in range(version + 1, 1 << 62):
        try:
            commit = (log / f"{at:020}.json").read_text(encoding="utf-8")
        except FileNotFoundError:
            break
        version = at
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
    """The version of the last checkpoint and the files it names; -1 and none without one."""
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
    for needed in (needed for _, needed in rows if needed is not None):
        _check(needed)
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
        raise HistoryError(f"{table}: the table cannot be read: {in_a_line(error)}") from error
