"""Rows in the order of time, as they were known at any time."""

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from functools import lru_cache
from itertools import chain
from operator import attrgetter
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from streams.reading import FAR

Json = dict[str, Any]
CLOCKS_KEPT = 4
"""Times of knowledge whose series are kept: who moves the other clock stays at one of them."""


class Timed(Protocol):
    """A row with its two times, microseconds since 1970-01-01 UTC."""

    @property
    def occurred_at(self) -> int: ...
    @property
    def recorded_at(self) -> int: ...


T = TypeVar("T")
R = TypeVar("R", bound=Timed)


class Newest(NamedTuple, Generic[T]):
    """The newest of a series up to a time, oldest first, and how many there are by then."""

    shown: list[T]
    total: int

    def told(self, tell: Callable[[T], Json]) -> "Newest[Json]":
        """Each as a document."""
        return Newest(list(map(tell, self.shown)), self.total)


class Series(ABC, Generic[R]):
    """What counts of rows as of a time of knowledge. Most things are told by a single row, which
    counts once it was recorded; of what was told again, it is found anew for each such time."""

    def __init__(self, rows: Iterable[R]) -> None:
        by_key = defaultdict[Hashable, list[R]](list)
        for row in sorted(rows, key=attrgetter("recorded_at")):
            by_key[self.key(row)].append(row)
        once = chain.from_iterable(self.standing(some) for some in by_key.values() if not some[1:])
        self._once = self.in_order(once)
        self._again = [some for some in by_key.values() if some[1:]]
        self._known = lru_cache(CLOCKS_KEPT)(self._known_by)

    @staticmethod
    @abstractmethod
    def key(row: R) -> Hashable:
        """What a row speaks of."""

    @staticmethod
    @abstractmethod
    def standing(rows: Sequence[R]) -> Iterable[R]:
        """Those that count of one or more rows that speak of the same."""

    @staticmethod
    def in_order(rows: Iterable[R]) -> list[R]:
        """By time."""
        return sorted(rows, key=attrgetter("occurred_at"))

    def _known_by(self, known_at: int) -> list[R]:
        found = [row for row in self._once if row.recorded_at <= known_at]
        for some in self._again:
            if known := [row for row in some if row.recorded_at <= known_at]:
                found += self.standing(known)
        return self.in_order(found) if self._again else found

    def newest(self, as_of: int, known_at: int | None, limit: int) -> Newest[R]:
        """What counted at a time."""
        known = self._known(FAR if known_at is None else known_at)
        count = bisect_right(known, as_of, key=attrgetter("occurred_at"))
        return Newest(known[max(0, count - limit) : count], count)
