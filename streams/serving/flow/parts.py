"""Data that a server over Kafka requests from others: the groups' positions from the broker, and
metrics from workers, if configured. Every few seconds, one request at a time, and only while a page
shows them; a part without an answer is reported as away."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from streams.errors import ConfigurationError, TurnfoldError
from streams.observability.logs import OF_BROKER
from streams.serving.flow import exposition
from streams.serving.flow.exposition import MetricSample, Unanswered

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.lag import Lag

log = logging.getLogger(__name__)

EVERY = 3.0
"""Seconds from one answer to the next question."""
FIND_EVERY = 30.0
"""Seconds after which the groups are looked for again: sinks come and go."""


class BrokerLag:
    """Positions of the groups. `lag` is None until it is known, and while the broker is away."""

    def __init__(
        self,
        settings: "KafkaSettings",
        every: float = EVERY,
        observe: "Callable[[int, list[Lag]], Awaitable[None]] | None" = None,
    ) -> None:
        """`observe`: called with the time of each request (µs), and its answer."""
        self.lag: list[Lag] | None = None
        self.away_since: float | None = None
        """Time of day (seconds), while no broker answers."""
        self.why = ""
        self._settings = settings
        self._every = every
        self._observe = observe
        self._groups: list[str] = []
        self._found_at = float("-inf")

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                at = time.time_ns() // 1000
                self.lag = await self._ask()
                self.away_since, self.why = None, ""
                if self._observe is not None:
                    await self._observe(at, self.lag)
            except (TurnfoldError, OSError) as error:
                self.lag = None
                self.away_since = self.away_since or time.time()
                if str(error) != self.why:
                    log.info("the groups' lag is not known: %s", error, extra=OF_BROKER)
                self.why = str(error)
            await asyncio.sleep(self._every)

    async def _ask(self) -> "list[Lag]":
        from streams.kafka.tools.lag import lag

        is_fresh = time.monotonic() - self._found_at < FIND_EVERY
        if is_fresh and self._groups:
            with suppress(ConfigurationError):  # one of them is gone
                return await lag(self._settings, self._groups)
        lags = await lag(self._settings)
        self._groups, self._found_at = (
            sorted({group_lag.group for group_lag in lags}),
            time.monotonic(),
        )
        return lags


class Ports:
    """Metrics of workers and sinks (`HOST:PORT`)."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = tuple(addresses)
        self.measured: dict[str, list[MetricSample]] = {}
        """Samples by address, of the workers that answered last."""
        self.earlier: dict[str, list[MetricSample]] = {}
        """What they said the time before."""
        self.away: dict[str, str] = {}

    async def run(self) -> None:
        """For ever, if there are any."""
        while self.addresses:
            await asyncio.gather(*map(self._ask, self.addresses))
            await asyncio.sleep(EVERY)

    async def _ask(self, address: str) -> None:
        try:
            samples = await exposition.read(address)
            self.earlier[address] = self.measured.get(address, [])
            self.measured[address] = samples
            self.away.pop(address, None)
        except Unanswered as error:
            self.measured.pop(address, None)
            self.earlier.pop(address, None)
            self.away[address] = str(error)

    def all(self) -> list[MetricSample]:
        """Samples of all ports that answer."""
        return [sample for samples in self.measured.values() for sample in samples]

    def before(self) -> list[MetricSample]:
        """The previous samples."""
        return [sample for samples in self.earlier.values() for sample in samples]


def cumulated(samples: Sequence[MetricSample]) -> list[tuple[float, float]]:
    """The buckets of one histogram, summed over several processes."""
    counts: defaultdict[float, float] = defaultdict(float)
    for sample in samples:
        counts[float(sample.labels["le"])] += sample.value
    return sorted(counts.items())
