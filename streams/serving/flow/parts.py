"""What a server over Kafka asks others for: the broker how far groups are, and the workers, if it
was told where their metrics are. Every few seconds, one question at a time, and only while
somebody watches; whoever does not answer is said to be away, until it answers again."""

import asyncio
import logging
import time
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from streams.errors import ConfigurationError, TurnfoldError
from streams.observability.logs import OF_BROKER
from streams.serving.flow import exposition
from streams.serving.flow.exposition import Measured, Unanswered

if TYPE_CHECKING:
    from streams.kafka.client.settings import KafkaSettings
    from streams.kafka.tools.lag import Lag

log = logging.getLogger(__name__)

EVERY = 3.0
"""Seconds from one answer to the next question."""
FIND_EVERY = 30.0
"""Seconds after which the groups are looked for again: sinks come and go."""


class Broker:
    """How far the groups are. `lag` is None until it is known, and while the broker is away."""

    def __init__(self, settings: "KafkaSettings", every: float = EVERY) -> None:
        self.lag: list[Lag] | None = None
        self.away_since: float | None = None
        """Time of day (seconds), while no broker answers."""
        self.why = ""
        self._settings = settings
        self._every = every
        self._groups: list[str] = []
        self._found_at = float("-inf")

    async def run(self) -> None:
        """For ever."""
        while True:
            try:
                self.lag = await self._ask()
                self.away_since, self.why = None, ""
            except (TurnfoldError, OSError) as error:
                self.lag = None
                self.away_since = self.away_since or time.time()
                if str(error) != self.why:
                    log.info("the groups' lag is not known: %s", error, extra=OF_BROKER)
                self.why = str(error)
            await asyncio.sleep(self._every)

    async def _ask(self) -> "list[Lag]":
        from streams.kafka.tools.lag import lag

        known = time.monotonic() - self._found_at < FIND_EVERY
        if known and self._groups:
            with suppress(ConfigurationError):  # one of them is gone
                return await lag(self._settings, self._groups)
        found = await lag(self._settings)
        self._groups, self._found_at = sorted({one.group for one in found}), time.monotonic()
        return found


class Ports:
    """What workers and sinks say at their metrics ports (`HOST:PORT`)."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self.addresses = tuple(addresses)
        self.measured: dict[str, list[Measured]] = {}
        """By address, of those that have answered last."""
        self.earlier: dict[str, list[Measured]] = {}
        """What they said the time before."""
        self.away: dict[str, str] = {}

    async def run(self) -> None:
        """For ever, if there are any."""
        while self.addresses:
            await asyncio.gather(*map(self._ask, self.addresses))
            await asyncio.sleep(EVERY)

    async def _ask(self, address: str) -> None:
        try:
            found = await exposition.read(address)
            self.earlier[address] = self.measured.get(address, [])
            self.measured[address] = found
            self.away.pop(address, None)
        except Unanswered as error:
            self.measured.pop(address, None)
            self.earlier.pop(address, None)
            self.away[address] = str(error)

    def all(self) -> list[Measured]:
        """Of all that answer, together."""
        return [one for found in self.measured.values() for one in found]

    def before(self) -> list[Measured]:
        """The same, one answer earlier."""
        return [one for found in self.earlier.values() for one in found]


def cumulated(samples: Sequence[Measured]) -> list[tuple[float, float]]:
    """The buckets of one histogram that several processes have, added up."""
    counts: defaultdict[float, float] = defaultdict(float)
    for one in samples:
        counts[float(one.labels["le"])] += one.value
    return sorted(counts.items())
