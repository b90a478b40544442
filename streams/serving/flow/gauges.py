"""Metrics of `serve` about others' work: the lag of workers and sinks as the broker sees it, which
is known while they are dead, frozen or cut off, and the unsettled dead letters of a history."""

import asyncio
import logging
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from schemas.dead_letters import REASONS
from sinks.history_root import HistoryError
from sinks.locations import Location
from streams import history_lists
from streams.apps.metric_samples import Sample
from streams.apps.metrics_registry import collected
from streams.observability import metrics as known
from streams.serving.backends.backend import Backend
from streams.serving.flow.history_progress import HistoryProgress
from streams.serving.flow.parts import BrokerLag
from streams.topology import HISTORY

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.lag import Lag

log = logging.getLogger(__name__)

LAG_EVERY = 10.0
"""Seconds from one answer of the broker to the next question."""
COUNT_EVERY = 30.0
"""Seconds from one count of dead letters to the next."""


@asynccontextmanager
async def group_lag(
    settings: "KafkaSettings", app_id: str, backend: Backend
) -> AsyncIterator[None]:
    """While this lasts, the lag is among the metrics, and the backend knows the progress of its
    history. The lag is left out while no broker answers."""
    broker = BrokerLag(settings, LAG_EVERY, HistoryProgress(backend).add)
    watching = asyncio.create_task(broker.run(), name="lag")
    try:
        with collected(lambda: lag_samples(broker.lag or (), app_id)):
            yield
    finally:
        watching.cancel()


def lag_samples(lags: "Sequence[Lag]", app_id: str) -> Iterator[Sample]:
    """Samples of the workers of an app id, of its generations' and of all sinks. An extractor may
    wait for its budget, and other programs may read our topics: their lag is theirs."""
    topics: defaultdict[str, set[str]] = defaultdict(set)
    for lag in lags:
        topics[lag.group].add(lag.topic)
    groups = {
        group
        for group, names in topics.items()
        if group == app_id
        or group.startswith(f"{app_id}.")
        or any(name.partition(".")[0] == HISTORY.name for name in names)
    }
    for lag in lags:
        if lag.group in groups:
            labels = lag.group, lag.topic, str(lag.partition)
            yield known.GROUP_LAG, labels, lag.lag
            yield known.GROUP_POSITION, labels, lag.end - lag.lag


@asynccontextmanager
async def unsettled_letters(history: Location) -> AsyncIterator[None]:
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
            await asyncio.sleep(COUNT_EVERY)

    def samples() -> Iterator[Sample]:
        for reason, count in counts.items():
            yield known.UNSETTLED_LETTERS, (reason,), count

    watching = asyncio.create_task(watch(), name="unsettled letters")
    try:
        with collected(samples):
            yield
    finally:
        watching.cancel()
