"""What one generation has of the inputs and another has not, where both are written from topics."""

from pathlib import Path
from typing import NamedTuple

from sinks.diff import both

SAID = ("events", "recursions", "tool_results", "signals")
"""Tables with a row for each applied record of an input topic. Plans are not among them: those that
live workers have extracted are left out of other generations."""


def _said(side: str) -> str:
    """SQL: where each record came from that one of both has applied."""
    columns = "src_topic, src_partition, src_offset, recorded_at, tenant, doc"
    return " UNION ALL ".join(f"SELECT {columns} FROM {side}.{name}" for name in SAID)


LATER = f"""
    WITH read AS (
        SELECT src_topic, src_partition, max(src_offset) AS upto FROM ({_said("b")}) GROUP BY ALL
    )
    SELECT src_topic, src_partition, src_offset, tenant, md5(doc) AS said
    FROM ({_said("a")}) LEFT JOIN read USING (src_topic, src_partition)
    WHERE src_offset > coalesce(upto, -1) AND epoch_us(recorded_at) <= ?
"""
"""What stands behind all that was read of its partition."""
UNREAD = f"""
    SELECT src_topic, src_partition, min(src_offset), count(*) FROM later
    ANTI JOIN (SELECT tenant, md5(doc) AS said FROM ({_said("b")})) USING (tenant, said)
    GROUP BY ALL ORDER BY ALL
"""
"""Of that, what was not read elsewhere: `repartition` gives the records of a topic new places."""


class Unread(NamedTuple):
    """Records of one input partition, from an offset on."""

    topic: str
    partition: int
    first: int
    records: int


def unread(one: Path, other: Path, before: int) -> list[Unread]:
    """What `one` has behind the last offset that `other` has of a partition, and had before a time
    (recorded_at, microseconds UTC). Raises HistoryError."""
    with both(one, other, SAID) as db:
        db.execute(f"CREATE TEMP TABLE later AS {LATER}", [before])
        if db.execute("FROM later LIMIT 1").fetchone() is None:
            return []
        return [Unread(*row) for row in db.execute(UNREAD).fetchall()]
