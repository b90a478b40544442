"""Garbage control: which sessions are over, by the partition's stream time (design 04, Session)."""

from collections import defaultdict
from itertools import islice

import msgspec

from schemas.base import DAY

AT_ONCE = 1_000
"""Sessions dropped in one batch at most: a jump of the stream's time must not stop the stream."""


class _Header(msgspec.Struct, array_like=True):
    """How a session's row `h` begins (`session_state.Session`)."""

    created_at: int
    updated_at: int


_decode = msgspec.msgpack.Decoder(_Header).decode


class Retention:
    """`retention` in microseconds after a session's latest turn; None: sessions stay for ever.

    `stream_time` (W): the greatest of min(occurred_at, recorded_at + 5 min) seen. Sessions are
    filed by the day of their last change, which is no earlier than their latest turn.
    """

    def __init__(self, retention: int | None) -> None:
        self.retention = retention
        self.stream_time = 0
        self._of_day: defaultdict[int, set[bytes]] = defaultdict(set)
        self._day_of: dict[bytes, int] = {}

    @property
    def horizon(self) -> int | None:
        """Sessions whose latest turn is older are over."""
        return None if self.retention is None else self.stream_time - self.retention

    def pass_by(self, time: int) -> int | None:
        """The horizon after one more record."""
        self.stream_time = max(self.stream_time, time)
        return self.horizon

    def saw(self, session: bytes, header: bytes | None) -> None:
        """Files a session by its encoded header; None where it is gone."""
        if self.retention is None:
            return
        day = None if header is None else _decode(header).updated_at // DAY
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
        """Some sessions that are over; they stay filed until `saw` says that they are gone."""
        horizon = self.horizon
        if horizon is None:
            return []
        days = (day for day in self._of_day if (day + 1) * DAY <= horizon)
        return list(islice((one for day in days for one in self._of_day[day]), AT_ONCE))

    def clear(self) -> None:
        """Forgets everything."""
        self.stream_time = 0
        self._of_day.clear()
        self._day_of.clear()
