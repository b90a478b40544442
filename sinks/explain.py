"""What a query reads: files and bytes, by DuckDB's own profile of its run."""

import json
import sys
from collections.abc import Iterator
from typing import Any, NamedTuple

from _duckdb import DuckDBPyConnection

PROFILE = "PRAGMA enable_profiling = 'no_output'"


class Reading(NamedTuple):
    """`files` of the `of` files that the tables have were read for the answer; those of other days
    than it asks for are not. `bytes` were read from them; of an object store all that was fetched,
    also to learn the columns, in so many `requests`."""

    files: int
    of: int
    bytes: int
    requests: int


def reading(db: DuckDBPyConnection) -> Reading:
    """What the last query of a connection with `PROFILE` has read."""
    profile = json.loads(db.get_profiling_information())
    files = of = 0
    for scan in _scans(profile["operator"]):
        files += (read := int(scan["Total Files Read"]))
        of += int(scan["Scanning Files"].split("/")[1]) if "Scanning Files" in scan else read
    bytes_, requests = int(profile["io"]["total_bytes_read"]), 0
    if (object_files := sys.modules.get("sinks.object_files")) is not None:
        fetched, requests = object_files.fetched(db)
        bytes_ += fetched  # DuckDB does not count what our file system gives it
    return Reading(files, of, bytes_, requests)


def _scans(operators: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for one in operators:
        if "Total Files Read" in one["extra_info"]:
            yield one["extra_info"]
        yield from _scans(one.get("children", []))
