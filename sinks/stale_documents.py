"""Finds documents that are shown although the history contains a later one of their key."""

from schemas.rows import SNAPSHOT_KEYS
from sinks.files import data_files
from sinks.history import NEWEST_FIRST, connect, select
from sinks.locations import Location

ENDED = """SEMI JOIN (
    SELECT tenant, session_id, max(occurred_at) AS latest FROM events
    WHERE status <> 'running' GROUP BY ALL
) turned ON turned.tenant = stale.tenant AND turned.session_id = stale.session_id
    AND turned.latest >= stale.latest"""
"""A session's time decreases if a running turn ends with an earlier one."""


def stale_documents(folder: Location) -> dict[str, int]:
    """Table -> number of keys with a newest document (`version`) that has an earlier `updated_at`
    than another one; without tables that have none. The tables are in `folder` itself. Raises
    HistoryError, duckdb.Error."""
    counts = {}
    with connect(folder, views=("events",)) as db:
        for table, names in SNAPSHOT_KEYS.items():
            key = ", ".join(names)
            rows = select(table, data_files(db, folder / table), commit_order=True)
            ((count,),) = db.execute(f"""
                WITH stale AS (
                    SELECT {key}, first(updated_at ORDER BY {NEWEST_FIRST}) AS newest,
                        max(updated_at) AS latest
                    FROM ({rows}) GROUP BY {key} HAVING newest < latest
                )
                SELECT count(*) FROM stale {ENDED if table == "sessions" else ""}
            """).fetchall()
            if count:
                counts[table] = count
    return counts
