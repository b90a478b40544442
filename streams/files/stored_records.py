"""Records as the history keeps them, to be folded again: the one place that knows how a row of
`events` and its like becomes the line that was folded first.

`doc` is the record without what has columns of its own: descriptions of images, which stay out of
all other tables, and when it was recorded. Without these a record would have another fingerprint
than it had, and sent again it would be a conflicting duplicate (docs/rules.md, "One event").
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from schemas.record_kinds import owned_by
from schemas.rows import TABLES
from streams.kinds import KINDS, WRITE_PLAN

if TYPE_CHECKING:
    from _duckdb import DuckDBPyConnection

SAID = tuple(dict.fromkeys(kind.history for kind in KINDS if kind is not WRITE_PLAN))
"""The tables of input records but for plans, whose order is one of their own (`plan_order`)."""
OF_SESSIONS = tuple(dict.fromkeys(kind.history for kind in KINDS if kind.table == "sessions"))
"""Those of what is folded into sessions."""
PLACE = "src_topic, src_partition, src_offset"

KNOWN = """
    CASE WHEN recorded_at = occurred_at THEN ''
    ELSE ',"recorded_at":"' || lpad(strftime(recorded_at, '%Y'), 4, '0')
        || strftime(recorded_at, '-%m-%dT%H:%M:%S.%fZ"') END
"""
IMAGES = """CASE WHEN len(image_summaries) = 0 THEN ''
    ELSE ',"image_summaries":' || CAST(to_json(image_summaries) AS VARCHAR) END"""


def of_session(table: str) -> str:
    """SQL that is true for the rows of a table whose records are folded into sessions."""
    return owned_by("session_id", table)


def owner(table: str) -> str:
    """SQL of the session or user into which a row's record is folded."""
    return {"true": "session_id", "false": "user_id"}.get(
        of_session(table), f"IF({of_session(table)}, session_id, user_id)"
    )


def names_user(table: str) -> bool:
    """Whether its rows say of which user they are."""
    return "user_id" in TABLES[table].model_fields


def more(table: str) -> str:
    """SQL of what a row's record says besides its `doc`: JSON fields, each after a comma."""
    return f"{IMAGES} || {KNOWN}" if table == "events" else KNOWN


LINE = "encode(IF(more = '', doc, doc[:-2] || more || '}'))"
"""SQL of a record as a line, from `doc` and `more`; `pipeline.decode.decode_again` reads it. It may
be longer than a line that is taken from outside."""

LINES_AT_ONCE = 1_000

OFFSET = "IF(src_topic = '-', recorded_at, NULL) NULLS FIRST, src_offset"
"""Of stdin each run counts its lines from 1."""


def plan_order(where: str = "true") -> str:
    """SQL of the order in which write plans were applied: `number` and `due`, when a user's memory
    was so far. `where` limits `plans`, which with `revisions` has to be there.

    They apply in the order of their partition; where a user's came by several (files run one after
    the other), in the order that the revisions they made show.
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
            FROM (FROM plans WHERE {where}) LEFT JOIN made USING (tenant, user_id, plan_id)
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
    theirs: Callable[[str], str] = lambda table: "true",
    plans: str = "true",
) -> Iterator[bytes]:
    """Stored records as lines: those of `SAID` in the order in which they came, then the plans in
    the order in which they were applied. Folded so, they make the same memory again.

    `theirs` limits the rows `t` of a table, `plans` those of `plans`, by SQL.
    """
    union = " UNION ALL BY NAME ".join(
        f"SELECT recorded_at, {PLACE}, doc, {more(table)} AS more FROM {table} t "
        f"WHERE {theirs(table)}"
        for table in SAID
    )
    said = f"SELECT {LINE} FROM ({union}) ORDER BY recorded_at, src_topic, src_partition, {OFFSET}"
    applied = f"""
        SELECT {LINE} FROM (
            SELECT due, number, tenant, user_id, doc, {more("plans")} AS more
            FROM plans JOIN ({plan_order(plans)})
            USING (tenant, user_id, plan_id) WHERE {plans}
        ) ORDER BY due, number, tenant, user_id
    """
    for sql in (said, applied):
        answer = db.execute(sql)
        while rows := answer.fetchmany(LINES_AT_ONCE):
            for (line,) in rows:
                yield bytes(line)
