"""Up to when the history of a server over Kafka has what workers committed.

A sink commits an offset to its group after the rows before it are in the tables. So the history has
all records that were committed before a request for the ends of the topics, once the group's
positions have reached these ends.
"""

import asyncio
import json
from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

from sinks.generation import ROOT, find_tables
from sinks.history_root import OWNER, HistoryError
from streams.serving.backends.backend import Backend, NotReady
from streams.serving.backends.live_generation import Live
from streams.topology import HISTORY, name_in

if TYPE_CHECKING:
    from streams.kafka.tools.lag import Lag

MOST_SAMPLES = 360
"""Of a sink that is an hour behind, with a sample every 10 s."""
Offsets = dict[tuple[str, int], int]
"""Topic and partition -> offset."""


class SinkProgress:
    """The progress of one sink."""

    def __init__(self) -> None:
        self.until: int | None = None
        """All records committed before this time (µs) are in the tables; None: unknown."""
        self._samples: deque[tuple[int, Offsets]] = deque(maxlen=MOST_SAMPLES)

    def add(self, at: int, lags: "Sequence[Lag]") -> None:
        """`lags`: of the sink's group, requested at the time `at` (µs)."""
        self._samples.append((at, {(lag.topic, lag.partition): lag.end for lag in lags}))
        positions = {(lag.topic, lag.partition): lag.end - lag.lag for lag in lags}
        while self._samples and _is_reached(self._samples[0][1], positions):
            self.until, _ = self._samples.popleft()


def _is_reached(ends: Offsets, positions: Offsets) -> bool:
    return all(positions.get(partition, -1) >= end for partition, end in ends.items())


class HistoryProgress:
    """Sets `history_until` of a server's backend."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._live: Live | None = None
        self._progress = SinkProgress()

    async def add(self, at: int, lags: "Sequence[Lag]") -> None:
        """`lags`: of all groups, requested at the time `at` (µs)."""
        with suppress(NotReady):  # generations are being switched
            live = self._backend.live
            if live is not self._live:
                self._live, self._progress = live, SinkProgress()
            group = await asyncio.to_thread(_sink_group, live)
            of_sink = [lag for lag in lags if lag.group == group]
            topic = name_in(HISTORY, None if live.name == ROOT else live.name)
            if any(lag.topic == topic for lag in of_sink):
                self._progress.add(at, of_sink)
                self._backend.history_until = live, self._progress.until


def _sink_group(live: Live) -> str | None:
    """Consumer group of the sink that writes a generation; None without one."""
    if live.tables is None:
        return None
    try:
        owner = (find_tables(live.tables) / OWNER).read_text(encoding="utf-8")
        name: str = json.loads(owner)["sink"]
    except (HistoryError, OSError, ValueError, KeyError, TypeError):
        return None
    return name if live.name == ROOT else f"{name}.{live.name}"
