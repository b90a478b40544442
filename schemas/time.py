"""Times: RFC 3339 text with an offset on the wire, microseconds since 1970-01-01 UTC inside.

Separate from `schemas.base`, so that readers of a history do not load pydantic.
"""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
SECOND = 1_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR


# The part of ISO 8601 that RFC 3339 allows; `fromisoformat` accepts more.
RFC_3339 = re.compile(
    r"\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:\d\d(?:\.\d+)?(Z|z|[+-]\d\d:[0-5]\d)?", re.ASCII
)
PATTERN = (
    "^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt ][0-9]{2}:[0-9]{2}:[0-9]{2}"
    "([.][0-9]+)?([Zz]|[+-][0-9]{2}:[0-5][0-9])$"
)
"""The same with an offset, for JSON Schema: there `format` is an annotation, not a check."""
EARLIEST = datetime(1, 1, 2, tzinfo=UTC)  # a day of margin: every offset stays in the calendar
LATEST = datetime(9999, 12, 31, tzinfo=UTC)
FIRST, LAST = ((moment - EPOCH) // EPOCH.resolution for moment in (EARLIEST, LATEST))
"""The same in microseconds."""


_SECONDS = {f"{number:02}": number * SECOND for number in range(60)}
_ENDS = [f"{number:02}Z" for number in range(60)]
_minutes: dict[str, int] = {}  # parsed minutes: a batch of records spans few
_texts: dict[int, str] = {}
_MAX_CACHED = 10_000


def parse_time(value: Any) -> int:
    """RFC 3339 text with an offset -> microseconds since 1970-01-01 UTC."""
    if type(value) is str and len(value) == 20 and value[10] == "T" and value[19] == "Z":
        try:  # the format of nearly every record
            return _minutes[value[:17]] + _SECONDS[value[17:19]]
        except KeyError:
            at = _parse(value)
            if value[17:19] == "60":
                return at
        if len(_minutes) >= _MAX_CACHED:
            _minutes.clear()
        _minutes[value[:17]] = at - _SECONDS[value[17:19]]
        return at
    return _parse(value)


def _parse(value: Any) -> int:
    match = RFC_3339.fullmatch(value) if isinstance(value, str) else None
    if match is None:
        raise ValueError("expected RFC 3339 text such as 2026-01-31T09:30:00Z")
    if match[1] is None:
        raise ValueError("a time needs an offset, such as Z or +09:00")
    is_leap = value[17:19] == "60"
    try:
        text = f"{value[:17]}59{value[19:]}" if is_leap else value
        moment = datetime.fromisoformat(text.upper())
        if is_leap:
            moment = _after_leap_second(moment)
    except (ValueError, OverflowError) as error:  # such as 30 February or 25:00
        raise ValueError(f"no such time: {error}") from None
    if not EARLIEST <= moment < LATEST:
        raise ValueError("a time must be between 0001-01-02 and 9999-12-30 UTC")
    since = moment - EPOCH
    return (since.days * 86_400 + since.seconds) * SECOND + since.microseconds


def _after_leap_second(moment: datetime) -> datetime:
    """The second after the 59th, as POSIX counts; a minute of 61 seconds ends a month (UTC)."""
    after = moment + timedelta(seconds=1)
    utc = after.astimezone(UTC)
    if (utc.day, utc.hour, utc.minute) != (1, 0, 0):
        raise ValueError("a leap second, :60, must end the last minute of a month (UTC)")
    return after


def format_time(micros: int) -> str:
    """Microseconds since 1970-01-01 UTC -> RFC 3339 text in UTC."""
    minute, rest = divmod(micros, MINUTE)
    second, fraction = divmod(rest, SECOND)
    try:
        text = _texts[minute]
    except KeyError:
        if len(_texts) >= _MAX_CACHED:
            _texts.clear()
        moment = EPOCH + timedelta(microseconds=minute * MINUTE)
        text = _texts[minute] = moment.isoformat()[:17]
    return f"{text}{second:02}.{fraction:06}Z" if fraction else text + _ENDS[second]
