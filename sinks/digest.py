"""Hashes of a history's memory and of its log (docs/guarantees.md, "One fold in every tier").

DuckDB computes a SHA-256 of each row as JSON text. A table's hash covers its sorted row hashes, so
it does not depend on the order of arrival.
"""

import hashlib
from typing import Any

import duckdb

from schemas.task_limits import MAX_ITERATION
from sinks.history import connect, quoted, table_names
from sinks.locations import Location
from sinks.scratch import scratch
from sinks.views import MEMORY_VIEWS, SNAPSHOT_KEYS

SOURCE = frozenset({"recorded_at", "date", "src_topic", "src_partition", "src_offset"})
SETS = {"events": "event_current", "recursions": "recursion_current"}
"""Tables in which one record may have several rows -> view with one row per record."""
MEMORY_LIMIT = "1GB"
NARROW = 3  # hex digits: rows are sorted in 4,096 parts, one at a time


def digest(
    root: Location, tenant: str | None = None, max_iteration: int = MAX_ITERATION
) -> dict[str, Any]:
    """{"memory": hex, "log": hex, "tables": {table or view: hex}}.

    `log` covers all rows of the append-only tables, `tables` the set of rows of each table. All
    hashes ignore time of recording and source; `memory` and `tables` also ignore `seq` and
    `version`. `max_iteration`: see `sinks.history.connect`.
    """
    snapshots = {table for table, _ in SNAPSHOT_KEYS.values()}
    logs = [name for name in table_names() if name not in snapshots]
    with (
        connect(root, tenant=tenant, max_iteration=max_iteration) as db,
        scratch() as spilled,
    ):
        db.execute(f"SET memory_limit = '{MEMORY_LIMIT}'")
        db.execute(f"SET temp_directory = {quoted(str(spilled))}")
        db.execute("SET preserve_insertion_order = false")
        memory = {view: _hash(db, view, SOURCE | {"seq", "version"}) for view in MEMORY_VIEWS}
        log = {name: _hash(db, name, SOURCE) for name in logs}
        sets = {
            name: _hash(db, SETS.get(name, name), SOURCE | {"seq"}, "DISTINCT") for name in logs
        }
    for view, (table, _) in SNAPSHOT_KEYS.items():
        sets[table] = memory[view]
    tables = dict(sorted((sets | memory).items()))
    return {"memory": _together(memory), "log": _together(log), "tables": tables}


def _hash(
    db: duckdb.DuckDBPyConnection, relation: str, without: frozenset[str], distinct: str = ""
) -> str:
    """SHA-256 of a relation's rows, independent of their order."""
    columns = [name for (name, *_) in db.execute(f"DESCRIBE {relation}").fetchall()]
    row = ", ".join(f'"{name}"' for name in columns if name not in without)
    parts = db.execute(f"""
        WITH hashed AS (
            SELECT {distinct} sha256(CAST(to_json(row({row})) AS VARCHAR)) AS hash FROM {relation}
        )
        SELECT left(hash, {NARROW}) AS part, sha256(string_agg(hash, '' ORDER BY hash))
        FROM hashed GROUP BY part ORDER BY part
    """)
    total = hashlib.sha256()
    while rows := parts.fetchmany(1000):
        for part, content in rows:
            total.update(f"{part}{content}".encode())
    return total.hexdigest()


def _together(parts: dict[str, str]) -> str:
    lines = "".join(f"{name} {content}\n" for name, content in sorted(parts.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
