"""SQL that restores the original line of a record from its row in the history, to fold it again.

`doc` is the record without the fields that have separate columns: descriptions of images, which are
in no other table, and the time of recording. A record that lacks them has another fingerprint, and
would be a conflicting duplicate of itself (docs/rules.md, "One event").
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from schemas.record_kinds import owned_by
from schemas.rows import TABLES
from streams.record_kinds import KINDS, WRITE_PLAN

if TYPE_CHECKING:
    from _duckdb import DuckDBPyConnection

INPUT_TABLES = tuple(dict.fromkeys(kind.history for kind in KINDS if kind is not WRITE_PLAN))
"""Tables of input records except plans, which have a separate order (`plan_order`)."""
SESSION_TABLES = tuple(dict.fromkeys(kind.history for kind in KINDS if kind.table == "sessions"))
"""Tables of records that are folded into sessions."""
PLACE = "src_topic, src_partition, src_offset"

RECORDED_AT = """
    CASE WHEN recorded_at = occurred_at THEN ''
    ELSE ',"recorded_at":"' || lpad(strftime(recorded_at, '%Y'), 4, '0')
        || strftime(recorded_at, '-%m-%dT%H:%M:%S.%fZ"') END
"""
IMAGES = """CASE WHEN len(image_summaries) = 0 THEN ''
    ELSE ',"image_summaries":' || CAST(to_json(image_summaries) AS VARCHAR) END"""


def of_session(table: str) -> str:
    """SQL condition of the rows of records that are folded into sessions."""
    return owned_by("session_id", table)


def owner(table: str) -> str:
    """SQL of the session or user into which a row's record is folded."""
    return {"true": "session_id", "false": "user_id"}.get(
        of_session(table), f"IF({of_session(table)}, session_id, user_id)"
    )


def names_user(table: str) -> bool:
    """Whether a table has the column `user_id`."""
    return "user_id" in TABLES[table].model_fields


def extra_fields(table: str) -> str:
    """SQL of a record's JSON fields that are not in `doc`, each after a comma."""
    return f"{IMAGES} || {RECORDED_AT}" if table == "events" else RECORDED_AT


LINE = "encode(IF(more = '', doc, doc[:-2] || more || '}'))"
"""SQL of a record as a line, from `doc` and `more`, for `pipeline.decode.decode_again`. It may
exceed the limit of input lines."""

LINES_AT_ONCE = 1_000

OFFSET = "IF(src_topic = '-', recorded_at, NULL) NULLS FIRST, src_offset"
"""SQL order within a partition; each run counts the lines of stdin from 1."""


def plan_order(condition: str = "true") -> str:
    """SQL of the order in which write plans were applied: `number`, and `due`, the latest time of
    recording so far. `condition` limits `plans`; needs the tables `plans` and `revisions`.

    Plans apply in the order of their partition; a user's plans from several partitions (files run
    in sequence) in the order of their revisions.
    """
    return f"""
        WITH made AS (
            SELECT tenant, plan_id, owner_id AS user_id, min(seq) AS seq FROM revisions
            WHERE plan_id IS NOT NULL GROUP BY ALL
        ), placed AS (
            SELECT tenant, user_id, plan_id, recorded_at, {PLACE}, max(coalesce(seq, -1)) OVER (
                PARTITION BY tenant, user_id, src_topic, src_partition ORDER BY {OFFSET}
                ROWS UNBOUNDED PRECEDING
            ) AS after_seq
            FROM (FROM plans WHERE {condition}) LEFT JOIN made USING (tenant, user_id, plan_id)
        )
        SELECT tenant, user_id, plan_id,
            row_number() OVER of_user AS number, max(recorded_at) OVER of_user AS due
        FROM placed WINDOW of_user AS (
            PARTITION BY tenant, user_id ORDER BY after_seq, src_topic, src_partition, {OFFSET}
            ROWS UNBOUNDED PRECEDING
        )
    """


def lines(
    db: "DuckDBPyConnection",
    condition: Callable[[str], str] = lambda table: "true",
    plans: str = "true",
) -> Iterator[bytes]:
    """Stored records as lines: `INPUT_TABLES` in order of arrival, then plans in the order in which
    they were applied. Folding them in this order rebuilds the same memory.

    `condition` and `plans`: SQL that limits the rows `t` of a table, and of `plans`.
    """
    union = " UNION ALL BY NAME ".join(
        f"SELECT recorded_at, {PLACE}, doc, {extra_fields(table)} AS more FROM {table} t "
        f"WHERE {condition(table)}"
        for table in INPUT_TABLES
    )
    records = (
        f"SELECT {LINE} FROM ({union}) ORDER BY recorded_at, src_topic, src_partition, {OFFSET}"
    )
    applied = f"""
        SELECT {LINE} FROM (
            SELECT due, number, tenant, user_id, doc, {extra_fields("plans")} AS more
            FROM plans JOIN ({plan_order(plans)})
            USING (tenant, user_id, plan_id) WHERE {plans}
        ) ORDER BY due, number, tenant, user_id
    """
    for sql in (records, applied):
        cursor = db.execute(sql)
        while rows := cursor.fetchmany(LINES_AT_ONCE):
            for (line,) in rows:
                yield bytes(line)
