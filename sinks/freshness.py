"""Input records that one generation has and another lacks, for generations written from topics."""

from collections.abc import Sequence
from typing import NamedTuple

from sinks.diff import SIDES, open_both
from sinks.locations import Location

LATER = """
    WITH read AS (
        SELECT src_topic, src_partition, max(src_offset) AS upto FROM ({b}) GROUP BY ALL
    )
    SELECT src_topic, src_partition, src_offset, tenant, md5(doc) AS said
    FROM ({a}) LEFT JOIN read USING (src_topic, src_partition)
    WHERE src_offset > coalesce(upto, -1) AND epoch_us(recorded_at) <= ?
"""
"""Records after the last offset of their partition in `b`."""
UNREAD = """
    SELECT src_topic, src_partition, min(src_offset), count(*) FROM later
    ANTI JOIN (SELECT tenant, md5(doc) AS said FROM ({b})) USING (tenant, said)
    GROUP BY ALL ORDER BY ALL
"""
"""The part of `later` that `b` lacks: `repartition` gives the records of a topic new offsets."""


class Unread(NamedTuple):
    """Unread records of one input partition, from the offset `first` on."""

    topic: str
    partition: int
    first: int
    records: int


def unread(first: Location, second: Location, tables: Sequence[str], before: int) -> list[Unread]:
    """Records of `first` after the last offset of `second` in each partition, recorded up to
    `before` (microseconds UTC). `tables` have a row for each applied record of an input topic.
    Plans are not among them: plans of live workers are not part of other generations. Raises
    HistoryError."""
    sides = {side: _records(side, tables) for side in SIDES}
    with open_both(first, second, tables) as db:
        db.execute(f"CREATE TEMP TABLE later AS {LATER.format_map(sides)}", [before])
        if db.execute("FROM later LIMIT 1").fetchone() is None:
            return []
        return [Unread(*row) for row in db.execute(UNREAD.format_map(sides)).fetchall()]


def _records(side: str, tables: Sequence[str]) -> str:
    """SQL of the source of each record that one side has applied."""
    columns = "src_topic, src_partition, src_offset, recorded_at, tenant, doc"
    return " UNION ALL ".join(f"SELECT {columns} FROM {side}.{name}" for name in tables)
