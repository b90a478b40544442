"""The number of unsettled dead letters of a history, as a metric."""

import asyncio
import logging
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

from schemas.dead_letters import REASONS
from sinks.history_root import HistoryError
from sinks.locations import Location
from streams import history_lists
from streams.apps.metric_samples import Sample
from streams.apps.metrics_registry import collected
from streams.observability import metrics as known

log = logging.getLogger(__name__)

EVERY = 30.0
"""Seconds from one count to the next."""


@asynccontextmanager
async def exported(history: Location) -> AsyncIterator[None]:
    """While this lasts, unsettled letters are among the metrics; they are left out while the
    history cannot be read."""
    counts: dict[str, int] = {}

    async def watch() -> None:
        while True:
            try:
                letters = await asyncio.to_thread(history_lists.reasons, history, None)
                counts.update(dict.fromkeys(REASONS, 0))
                counts.update({row["reason"]: row["letters"] for row in letters})
            except HistoryError as error:
                counts.clear()
                log.debug("dead letters are not counted: %s", error)
            await asyncio.sleep(EVERY)

    def samples() -> Iterator[Sample]:
        for reason, count in counts.items():
            yield known.UNSETTLED_LETTERS, (reason,), count

    watching = asyncio.create_task(watch(), name="unsettled letters")
    try:
        with collected(samples):
            yield
    finally:
        watching.cancel()
