"""Which open sessions of a partition are past their retention, by the broker's clock."""

from collections import defaultdict
from itertools import islice

from schemas.base import DAY
from streams.pipeline.retention import is_past, updated_at_of

AT_ONCE = 250
"""Sessions that age past their retention and are stored cold in one batch, at most: a new day must
not stop the stream."""


class Retention:
    """`retention` in microseconds after a session's last update; None: sessions stay open for ever.

    `time` is the greatest `recorded_at` seen: the broker's clock, the same for all partitions, and
    no record can say it. Open sessions are filed by the day of their last update.
    """

    def __init__(self, retention: int | None) -> None:
        self.retention = retention
        self.time = 0
        self._of_day: defaultdict[int, set[bytes]] = defaultdict(set)
        self._day_of: dict[bytes, int] = {}

    @property
    def horizon(self) -> int | None:
        """What was last updated before is past its retention."""
        return None if self.retention is None else self.time - self.retention

    def saw(self, session: bytes, header: bytes | None) -> None:
        """Files a session by its encoded header; None where it is cold or gone."""
        if self.retention is not None:
            self.file(session, None if header is None else updated_at_of(header))

    def file(self, session: bytes, updated_at: int | None) -> None:
        """Files a session by its last update; None takes it out."""
        day = None if updated_at is None else updated_at // DAY
        known = self._day_of.get(session)
        if day == known:
            return
        if known is not None:
            self._of_day[known].discard(session)
            if not self._of_day[known]:
                del self._of_day[known]
        if day is None:
            del self._day_of[session]
        else:
            self._day_of[session] = day
            self._of_day[day].add(session)

    def due(self) -> list[bytes]:
        """Some sessions that are past it; they stay filed until `saw` says that they are cold."""
        horizon = self.horizon
        if horizon is None:
            return []
        days = (day for day in self._of_day if is_past(day * DAY, horizon))
        return list(islice((one for day in days for one in self._of_day[day]), AT_ONCE))

    def clear(self) -> None:
        """Forgets everything."""
        self.time = 0
        self._of_day.clear()
        self._day_of.clear()
