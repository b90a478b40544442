"""Numbers derived from counters: rates over the last seconds, and their text.

An unknown number is None, and is never shown as zero.
"""

from bisect import bisect_left
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

import msgspec

SECONDS = 5.0
"""Window of a rate's mean: workers commit in batches, so that a single second is not
representative."""
THIN = "\N{NARROW NO-BREAK SPACE}"

Unit = Literal["count", "rate", "seconds", "share"]
Buckets = Sequence[tuple[float, float]]
"""Buckets of a histogram: upper bound, and number of values up to it."""


class ShownNumber(msgspec.Struct, frozen=True):
    """A value (`rate`: a second; `seconds`; `share`: 0 to 1) and how it is written."""

    value: float | None
    text: str | None


def number(value: float | None, unit: Unit = "count") -> ShownNumber:
    return ShownNumber(None, None) if value is None else ShownNumber(value, _WRITTEN[unit](value))


def _count(value: float) -> str:
    return f"{round(value):,}".replace(",", THIN)


def _rate(value: float) -> str:
    return f"{value:.1f}/s" if 0 < value < 10 else f"{_count(value)}/s"


def _seconds(value: float) -> str:
    if 0 < value < 1:
        return f"{1000 * value:.0f}{THIN}ms" if value >= 0.01 else f"{1000 * value:.1f}{THIN}ms"
    return f"{value:.1f}{THIN}s" if 0 < value < 100 else f"{_count(value)}{THIN}s"


_WRITTEN: Mapping[Unit, Callable[[float], str]] = {
    "count": _count,
    "rate": _rate,
    "seconds": _seconds,
    "share": lambda value: f"{100 * value:.0f}{THIN}%",
}


class Window:
    """Readings of counters of the last `SECONDS`, the newest last."""

    def __init__(self, seconds: float = SECONDS) -> None:
        self._seconds = seconds
        self._readings: deque[tuple[float, Mapping[str, float]]] = deque()

    def add(self, now: float, reading: Mapping[str, float]) -> None:
        """A reading of all counters that are known at a time (monotonic seconds)."""
        self._readings.append((now, reading))
        while len(self._readings) > 2 and self._readings[1][0] <= now - self._seconds:
            self._readings.popleft()

    def clear(self) -> None:
        """Forgets all readings: the next ones have another source."""
        self._readings.clear()

    def gain(self, name: str) -> float | None:
        """Growth of a counter, or None before two readings have it or after a reset."""
        if len(self._readings) < 2:
            return None
        before, after = self._readings[0][1].get(name), self._readings[-1][1].get(name)
        if before is None or after is None or after < before:
            return None
        return after - before

    def rate(self, name: str) -> float | None:
        """Growth per second."""
        gain = self.gain(name)
        return None if gain is None else gain / (self._readings[-1][0] - self._readings[0][0])


def quantile(share: float, before: Buckets, after: Buckets) -> float | None:
    """The quantile of the values that were added between two readings of a histogram, as precise as
    its buckets, or None without any."""
    if len(before) != len(after):
        before = [(bound, 0.0) for bound, _ in after]
    counts = [late - early for (_, late), (_, early) in zip(after, before, strict=True)]
    if not counts or counts[-1] <= 0 or min(counts) < 0:
        return None
    rank = share * counts[-1]
    at = bisect_left(counts, rank)
    low, under = (after[at - 1][0], counts[at - 1]) if at else (0.0, 0.0)
    high = after[at][0]
    if high == float("inf"):
        return low
    return low + (high - low) * (rank - under) / (counts[at] - under)
