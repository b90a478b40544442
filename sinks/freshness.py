"""What one generation has of the inputs and another has not, where both are written from topics."""

from collections.abc import Sequence
from typing import NamedTuple

from sinks.diff import SIDES, both
from sinks.locations import Location

LATER = """
    WITH read AS (
        SELECT src_topic, src_partition, max(src_offset) AS upto FROM ({b}) GROUP BY ALL
    )
    SELECT src_topic, src_partition, src_offset, tenant, md5(doc) AS said
    FROM ({a}) LEFT JOIN read USING (src_topic, src_partition)
    WHERE src_offset > coalesce(upto, -1) AND epoch_us(recorded_at) <= ?
"""
"""What stands behind all that was read of its partition."""
UNREAD = """
    SELECT src_topic, src_partition, min(src_offset), count(*) FROM later
    ANTI JOIN (SELECT tenant, md5(doc) AS said FROM ({b})) USING (tenant, said)
    GROUP BY ALL ORDER BY ALL
"""
"""Of that, what was not read elsewhere: `repartition` gives the records of a topic new places."""


class Unread(NamedTuple):
    """Records of one input partition, from an offset on."""

    topic: str
    partition: int
    first: int
    records: int


def unread(one: Location, other: Location, tables: Sequence[str], before: int) -> list[Unread]:
    """What `one` has behind the last offset that `other` has of a partition, and had before a time
    (recorded_at, microseconds UTC). `tables` have a row for each applied record of an input topic;
    plans are not among them: those that live workers have extracted are left out of other
    generations. Raises HistoryError."""
    sides = {side: _records(side, tables) for side in SIDES}
    with both(one, other, tables) as db:
        db.execute(f"CREATE TEMP TABLE later AS {LATER.format_map(sides)}", [before])
        if db.execute("FROM later LIMIT 1").fetchone() is None:
            return []
        return [Unread(*row) for row in db.execute(UNREAD.format_map(sides)).fetchall()]


def _records(side: str, tables: Sequence[str]) -> str:
    """SQL: where each record came from that one of both has applied."""
    columns = "src_topic, src_partition, src_offset, recorded_at, tenant, doc"
    return " UNION ALL ".join(f"SELECT {columns} FROM {side}.{name}" for name in tables)
