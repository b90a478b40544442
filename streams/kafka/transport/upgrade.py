"""Upgrades a lane's rows of an older version to the current format (docs/upgrades.md).

The upgrade writes the changelog, and the table follows it: each step's rows and a marker with the
progress go into one transaction, as in a batch. After a kill no rows are lost, a later owner
continues, and standbys and read replicas follow. On the first such marker, workers of the previous
version release the partition.
"""

import asyncio
import logging
from time import monotonic
from typing import TYPE_CHECKING

from streams.kafka.transport.marker import MARKER_KEY
from streams.kafka.transport.writer import Writer
from streams.observability.logs import OF_BROKER
from streams.pipeline import row_formats

if TYPE_CHECKING:
    from streams.kafka.transport.lane import Lane

log = logging.getLogger(__name__)


async def upgrade(lane: "Lane", writer: Writer) -> None:
    """Upgrades until all rows have the current format, or the lane stops.

    Raises:
        TransactionFailed: the outcome of a step is unknown.
    """
    marker = lane.standing.marker
    if marker is None or marker.reached.is_current:
        return
    began, rows, reached = monotonic(), 0, marker.reached
    log.info("%s: %s", lane.name, reached.told(), extra=lane.log_context | OF_BROKER)
    for step in row_formats.upgrade(reached, lane.rows.keys, lane.rows.read):
        lane.enter("upgrading")
        if step.rows or step.reached.is_current:
            marker = marker._replace(reached=step.reached)
            marker_row = (MARKER_KEY, marker.encode())
            step_rows = lane.rows.encrypted(step.rows)
            written = await writer.commit([], lane.changelog, [*step_rows, marker_row])
            lane.observe("upgraded some")
            lane.processor.restore(step_rows)
            lane.progress.wrote(written.position, marker)
            lane.rows.commit(lane.standing)
            rows += len(step.rows)
            await lane.rows.rest()
        await asyncio.sleep(0)  # lets heartbeats run
        if lane.stopping:
            return
    lane.rows.settle()
    log.info(
        "%s: upgraded %d rows in %.2f s", lane.name, rows, monotonic() - began,
        extra=lane.log_context | OF_BROKER,
    )  # fmt: skip
