"""Hashes of what a history remembers and of its log (docs/guarantees.md, "One fold in every tier").

Each row becomes JSON text and a SHA-256 inside DuckDB; a table's hash is that of its rows' hashes
in their own order, so neither the order of arrival nor the memory at hand matters.
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
"""Tables in which one thing may have several rows, by the order they came in: the view that
shows each once."""
MEMORY_LIMIT = "1GB"
NARROW = 3  # hex digits: rows are sorted in 4,096 parts, one at a time


def digest(
    root: Location, tenant: str | None = None, max_iteration: int = MAX_ITERATION
) -> dict[str, Any]:
    """{"memory": hex, "log": hex, "tables": {table or view: hex}}.

    `log` counts every row of the append-only tables, `tables` each table's rows as a set. No
    hash knows when a row was recorded or where it came from, `memory` and `tables` not its
    `seq` or `version` either. `max_iteration`: as `sinks.history.connect` has it.
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
    """The SHA-256 of a relation's rows, whatever their order."""
    shown = [name for (name, *_) in db.execute(f"DESCRIBE {relation}").fetchall()]
    row = ", ".join(f'"{name}"' for name in shown if name not in without)
    parts = db.execute(f"""
        WITH hashed AS (
            SELECT {distinct} sha256(CAST(to_json(row({row})) AS VARCHAR)) AS hash FROM {relation}
        )
        SELECT left(hash, {NARROW}) AS part, sha256(string_agg(hash, '' ORDER BY hash))
        FROM hashed GROUP BY part ORDER BY part
    """)
    whole = hashlib.sha256()
    while some := parts.fetchmany(1000):
        for part, content in some:
            whole.update(f"{part}{content}".encode())
    return whole.hexdigest()


def _together(parts: dict[str, str]) -> str:
    lines = "".join(f"{name} {content}\n" for name, content in sorted(parts.items()))
    return hashlib.sha256(lines.encode()).hexdigest()
