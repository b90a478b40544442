"""Files and bytes that a query read, from DuckDB's profile."""

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from _duckdb import DuckDBPyConnection

PROFILE = "PRAGMA enable_profiling = 'no_output'"


class Reading(NamedTuple):
    """Work of one query: `files` of the tables' `of` files were read (files of other days are
    skipped), `bytes` from them. From an object store: all bytes fetched, in so many `requests`."""

    files: int
    of: int
    bytes: int
    requests: int


def reading(db: DuckDBPyConnection) -> Reading:
    """Profile of the last query of a connection with `PROFILE`."""
    profile = json.loads(db.get_profiling_information())
    files = total = 0
    for scan in _scans(profile["operator"]):
        files += (scanned := int(scan["Total Files Read"]))
        total += int(scan["Scanning Files"].split("/")[1]) if "Scanning Files" in scan else scanned
    bytes_, requests = int(profile["io"]["total_bytes_read"]), 0
    if (object_files := sys.modules.get("sinks.object_files")) is not None:
        fetched, requests = object_files.fetched(db)
        bytes_ += fetched  # DuckDB does not count bytes of our file system
    return Reading(files, total, bytes_, requests)


def _scans(operators: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for operator in operators:
        if "Total Files Read" in operator["extra_info"]:
            yield operator["extra_info"]
        yield from _scans(operator.get("children", []))
