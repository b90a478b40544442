"""Converts times between RFC 3339 text, as Turnfold sends them, and microseconds since 1970-01-01
UTC, as models store them."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(Z|z|[+-]\d\d:[0-5]\d)?", re.ASCII
)
# a day of margin: every offset stays in the calendar
EARLIEST, LATEST = datetime(1, 1, 2, tzinfo=UTC), datetime(9999, 12, 31, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def parse_time(value: Any) -> int:
    """RFC 3339 text with an offset -> microseconds since 1970-01-01 UTC. Raises ValueError."""
    match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected RFC 3339 text such as 2026-01-31T09:30:00Z")
    if match[1] is None:
        raise ValueError("a time needs an offset, such as Z or +09:00")
    time = datetime.fromisoformat(value.upper())
    if not EARLIEST <= time < LATEST:
        raise ValueError("a time must be between 0001-01-02 and 9999-12-30 UTC")
    return (time - EPOCH) // MICROSECOND


def format_time(micros: int) -> str:
    """Microseconds since 1970-01-01 UTC -> RFC 3339 text in UTC."""
    text = (EPOCH + timedelta(microseconds=micros)).isoformat()
    return text.removesuffix("+00:00") + "Z"
