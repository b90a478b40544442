"""The lag of workers and sinks as the broker sees it. It is known while they are dead, frozen or
cut off; their own metrics are not."""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from streams.apps.metric_samples import Sample
from streams.apps.metrics_registry import collected
from streams.observability import metrics as known
from streams.serving.flow.parts import BrokerLag
from streams.topology import HISTORY

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.lag import Lag

EVERY = 10.0
"""Seconds from one answer to the next question."""


@asynccontextmanager
async def exported(settings: "KafkaSettings", app_id: str) -> AsyncIterator[None]:
    """While this lasts, the lag is among the metrics; it is left out while no broker answers."""
    broker = BrokerLag(settings, EVERY)
    watching = asyncio.create_task(broker.run(), name="lag")
    try:
        with collected(lambda: samples(broker.lag or (), app_id)):
            yield
    finally:
        watching.cancel()


def samples(lags: "Sequence[Lag]", app_id: str) -> Iterator[Sample]:
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
