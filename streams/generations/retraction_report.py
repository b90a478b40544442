"""Reports the records of a retraction, and the memory that rests on them by its revisions.

On both clocks: when a value was true, and when it was learned. Whether a value really goes or gets
an earlier value is known after the rebuild (`generation diff`).
"""

from typing import Any

import duckdb

from sinks.history import define as define_views
from sinks.locations import Location
from sinks.scratch import scratch
from sinks.store_errors import of_duckdb
from streams.errors import DataRefused, TurnfoldError
from streams.files.retraction import Retraction
from streams.generations.replay_order import database
from streams.generations.retraction_scope import counts, define

FELL = """
CREATE TEMP TABLE fell AS
    SELECT r.tenant, r.owner_id, r.entity_type, r.entity_id, r.seq
    FROM revisions r SEMI JOIN fallen_plan p
        ON p.tenant = r.tenant AND p.user_id = r.owner_id AND p.plan_id = r.plan_id
    UNION
    SELECT r.tenant, r.owner_id, r.entity_type, r.entity_id, r.seq FROM (
        SELECT *, unnest(evidence_event_ids) AS event_id FROM revisions
        WHERE plan_id IS NULL AND entity_type IN ('state', 'session_memory')
    ) r SEMI JOIN affected a ON a.tenant = r.tenant AND a.event_id = r.event_id
        AND r.owner_id IN (a.session_id, a.user_id);
CREATE TEMP TABLE value AS
    WITH revised AS (
        SELECT r.*, fell.seq IS NOT NULL AS fell,
            CASE WHEN r.entity_type = 'state'
                THEN CAST(coalesce(r."after", r."before") AS JSON) ->> '$.valid_from' END AS since
        FROM revisions r SEMI JOIN fell e ON e.tenant = r.tenant AND e.owner_id = r.owner_id
            AND e.entity_type = r.entity_type AND e.entity_id = r.entity_id
        LEFT JOIN fell ON fell.tenant = r.tenant AND fell.owner_id = r.owner_id
            AND fell.entity_type = r.entity_type AND fell.entity_id = r.entity_id
            AND fell.seq = r.seq
        WHERE r.entity_type IN ('state', 'preference', 'session_memory')
    ), latest AS (
        SELECT tenant, owner_id, entity_type, entity_id, since, arg_max(kind, seq) AS kind,
            arg_max(coalesce("after", "before"), seq)::JSON AS document,
            arg_max("after" IS NULL, seq) AS is_gone,
            min(recorded_at) FILTER (fell) AS learned_at,
            bool_or(NOT fell AND "after" IS NOT NULL
                AND op NOT IN ('close', 'revoke', 'done')) AS is_held
        FROM revised GROUP BY ALL
    ), bounded AS (
        SELECT *, CAST(since AS TIMESTAMPTZ) AS valid_from,
            least(CAST(document ->> '$.valid_to' AS TIMESTAMPTZ), lead(
                CAST(since AS TIMESTAMPTZ)) OVER (
                PARTITION BY tenant, owner_id, entity_type, entity_id ORDER BY since
            )) AS valid_to FROM latest
    )
    SELECT tenant, owner_id, entity_id AS id, valid_from, valid_to, learned_at,
        CASE WHEN entity_type <> 'state' THEN replace(entity_type, '_', ' ')
            WHEN kind = 'long_mood_state' THEN 'mood' ELSE 'state/' || kind END AS kind,
        coalesce(document ->> '$.body_text', document ->> '$.subject', document ->> '$.content')
            AS text,
        CASE WHEN is_held THEN 'other evidence' ELSE 'gone' END AS premise,
        NOT is_gone AND coalesce(document ->> '$.status', '') <> 'revoked'
            AND coalesce(valid_from <= now(), true) AND coalesce(valid_to > now(), true)
            AS in_force
    FROM bounded WHERE learned_at IS NOT NULL
"""
"""Versions of states, and other values, that a retracted plan or turn has written or confirmed."""
KINDS = """
SELECT kind, count(*) AS values, count(*) FILTER (in_force) AS in_force,
    count(*) FILTER (premise = 'gone') AS gone,
    count(*) FILTER (premise = 'other evidence') AS other_evidence
FROM value GROUP BY kind ORDER BY kind
"""
SAMPLES = """
SELECT kind, tenant, owner_id, id, text, premise, in_force, {times} FROM value
QUALIFY row_number() OVER (PARTITION BY kind ORDER BY in_force DESC, learned_at DESC, id) <= {limit}
ORDER BY kind, in_force DESC, learned_at DESC, id
"""
TIMES = ", ".join(f"strftime({name}, '%Y-%m-%dT%H:%M:%SZ') AS {name}"
                  for name in ("valid_from", "valid_to", "learned_at"))  # fmt: skip
VIEWS = ("events", "recursions", "tool_results", "signals", "plans", "revisions")


def report(folder: Location, retraction: Retraction, samples: int) -> dict[str, Any]:
    """{"filter", "records": {kind: n}, "turns_of_history", "memory": [{kind, values, in_force,
    gone, other_evidence}], "samples"} of a generation.

    Raises DataRefused if no record matches, HistoryError, TurnfoldError.
    """
    with scratch() as work, database(work) as db:
        try:
            define_views(db, folder, VIEWS)
            define(db, (retraction,), lambda name: f"FROM {name}")
            records = counts(db, (retraction,))
            if not any(records.values()):
                raise DataRefused(f"{folder}: no record matches {retraction}; nothing is retracted")
            db.execute(FELL)
            return {
                "filter": str(retraction),
                "records": records,
                "turns_of_history": _turns(db),
                "memory": _objects(db, KINDS),
                "samples": _objects(db, SAMPLES.format(times=TIMES, limit=samples)),
            }
        except duckdb.Error as error:
            raise of_duckdb(error) or TurnfoldError(f"{folder}: {error}") from error


def _turns(db: duckdb.DuckDBPyConnection) -> int:
    sql = "SELECT count(*) FROM (SELECT DISTINCT tenant, session_id, event_id FROM events)"
    ((count,),) = db.execute(sql).fetchall()
    return int(count)


def _objects(db: duckdb.DuckDBPyConnection, sql: str) -> list[dict[str, Any]]:
    cursor = db.execute(sql)
    names = [name for name, *_ in cursor.description or ()]
    return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
