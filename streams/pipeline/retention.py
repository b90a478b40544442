"""Retention of inactive sessions, for all commands (docs/operations.md, "Cold sessions").

A session past its retention is not deleted: it is stored cold (`streams.pipeline.entity`).
"""

import msgspec

from schemas.time import DAY

DEFAULT_DAYS = 0.0
"""For ever."""
MOST_DAYS = 1_000_000
ABOUT = (
    "Days after its last update until a session is stored as one compressed row; a new turn opens "
    "it again. Default: 0, never."
)
MEANING = f"retention is a number of days from 0 to {MOST_DAYS}; 0 keeps sessions open for ever"


def check_days(days: float) -> float:
    """Returns `days`. Raises ValueError for a negative number, NaN, or more than `MOST_DAYS`."""
    if not 0 <= days <= MOST_DAYS:
        raise ValueError(f"{days:g} days: {MEANING}")
    return days


def retention_of(days: float | None) -> int | None:
    """Returns the retention in microseconds, or None (unlimited) for 0 or None. Raises ValueError
    as `check_days`."""
    return max(1, int(check_days(days) * DAY)) if days else None


class _Header(msgspec.Struct, array_like=True):
    """First fields of a session's row `h` (`streams.folds.session_state.Session`)."""

    created_at: int
    updated_at: int


_decode = msgspec.msgpack.Decoder(_Header).decode


def updated_at_of(header: bytes) -> int:
    """Returns the last update of a session from its stored row `h`, without turns that have not
    ended."""
    return _decode(header).updated_at


def is_past(updated_at: int, horizon: int) -> bool:
    """Whether a session is past its retention: the whole day (UTC) of its last update is before the
    horizon (microseconds)."""
    return (updated_at // DAY + 1) * DAY <= horizon
