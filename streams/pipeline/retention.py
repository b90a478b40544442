"""How long a session stays open that nobody speaks in: one default, one meaning, for every command
(docs/operations.md, "Retention").

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
    """The same number. Raises ValueError for a negative one, for NaN, and for far too many."""
    if not 0 <= days <= MOST_DAYS:
        raise ValueError(f"{days:g} days: {MEANING}")
    return days


def retention_of(days: float | None) -> int | None:
    """In microseconds; None for ever, as 0 days are. Raises ValueError as `check_days`."""
    return max(1, int(check_days(days) * DAY)) if days else None


class _Header(msgspec.Struct, array_like=True):
    """How a session's row `h` begins (`streams.folds.session_state.Session`)."""

    created_at: int
    updated_at: int


_decode = msgspec.msgpack.Decoder(_Header).decode


def updated_at_of(header: bytes) -> int:
    """When a session was last updated, by its stored row `h`: turns that have not ended do not
    count there."""
    return _decode(header).updated_at


def is_past(updated_at: int, horizon: int) -> bool:
    """Whether a session of that last update is past its retention: the whole day (UTC) is before
    the horizon, all in microseconds."""
    return (updated_at // DAY + 1) * DAY <= horizon
