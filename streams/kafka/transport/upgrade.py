"""How a lane brings rows of an older version to today's format before it folds (docs/upgrades.md).

The changelog is upgraded, and the table by it: each step's rows and the marker that says how far
they are go into one transaction, as those of a batch do. So a kill loses nothing, a later owner
goes on where this one stopped, and standbys and read replicas just follow. The first of these
markers tells workers of the version before that the partition is theirs no more.
"""

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.writer import Writer
from streams.observing.logs import OF_BROKER
from streams.pipeline import row_formats

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

log = logging.getLogger(__name__)


async def upgrade(lane: "Lane", writer: Writer) -> None:
    """Until all rows have today's format, or the lane is stopped.

    Raises:
        TransactionFailed: a step may or may not stand.
    """
    marker = lane.standing.marker
    if marker is None or marker.reached.is_current:
        return
    began, rows, before = monotonic(), 0, marker.reached
    log.info("%s: %s", lane.name, before.told(), extra=lane.where | OF_BROKER)
    for step in row_formats.upgrade(before, lane.rows.keys, lane.rows.read):
        lane.enter("upgrading")
        if step.rows or step.reached.is_current:
            marker = marker._replace(reached=step.reached)
            told = (MARKER_KEY, marker.encode())
            written = await writer.commit([], lane.changelog, [*step.rows, told])
            lane.passes("upgraded some")
            lane.processor.restore(step.rows)
            lane.progress.wrote(written.position, marker)
            lane.rows.commit(lane.standing)
            rows += len(step.rows)
            await lane.rows.rest()
        await asyncio.sleep(0)  # heartbeats go on meanwhile
        if lane.stopping:
            return
    lane.rows.settle()
    log.info(
        "%s: upgraded %d rows in %.2f s", lane.name, rows, monotonic() - began,
        extra=lane.where | OF_BROKER,
    )  # fmt: skip
