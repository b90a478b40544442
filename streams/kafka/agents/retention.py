"""Finds open sessions of a partition past their retention, by the brokers' clock."""

from collections import defaultdict
from itertools import islice

from schemas.base import DAY
from streams.pipeline.retention import is_past, updated_at_of

AT_ONCE = 250
"""Maximum sessions stored cold per batch, so that a new day does not block the stream."""


class Retention:
    """Open sessions by day of their last update. `retention`: microseconds after a session's last
    update (None: sessions stay open forever).

    `time`: greatest `recorded_at` so far. It is the brokers' clock, the same for all partitions,
    and records cannot set it.
    """

    def __init__(self, retention: int | None) -> None:
        self.retention = retention
        self.time = 0
        self._sessions_by_day: defaultdict[int, set[bytes]] = defaultdict(set)
        self._day_by_session: dict[bytes, int] = {}

    @property
    def horizon(self) -> int | None:
        """Sessions last updated before are past their retention."""
        return None if self.retention is None else self.time - self.retention

    def observe(self, session: bytes, header: bytes | None) -> None:
        """Files a session by its encoded header (None: it is cold or deleted)."""
        if self.retention is not None:
            self.file(session, None if header is None else updated_at_of(header))

    def file(self, session: bytes, updated_at: int | None) -> None:
        """Files a session by its last update (None: removes it)."""
        day = None if updated_at is None else updated_at // DAY
        previous = self._day_by_session.get(session)
        if day == previous:
            return
        if previous is not None:
            self._sessions_by_day[previous].discard(session)
            if not self._sessions_by_day[previous]:
                del self._sessions_by_day[previous]
        if day is None:
            del self._day_by_session[session]
        else:
            self._day_by_session[session] = day
            self._sessions_by_day[day].add(session)

    def due(self) -> list[bytes]:
        """Some sessions past their retention; they stay filed until `observe` reports them cold."""
        horizon = self.horizon
        if horizon is None:
            return []
        days = (day for day in self._sessions_by_day if is_past(day * DAY, horizon))
        return list(
            islice((session for day in days for session in self._sessions_by_day[day]), AT_ONCE)
        )

    def clear(self) -> None:
        self.time = 0
        self._sessions_by_day.clear()
        self._day_by_session.clear()
