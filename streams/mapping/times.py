"""Converts times of other platforms to RFC 3339 text in UTC: epoch seconds, milliseconds and
microseconds, and texts in a `strptime` format with a zone."""

import re
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from schemas.time import EPOCH, FIRST, LAST, format_time

Convert = Callable[[Any], str]
"""Converter of a time. Raises ValueError with the expected format, without the value."""

RFC_3339 = "rfc3339"
MICROSECONDS = {"epoch_s": 1_000_000, "epoch_ms": 1_000, "epoch_us": 1}
FORMATS = (RFC_3339, *MICROSECONDS)
DIGITS = re.compile(r"-?\d+(\.\d+)?", re.ASCII)
YEAR = re.compile(r"%[YyGcx]")
SOME_DAY = date(2026, 1, 31)
MICROSECOND = EPOCH.resolution


class BadTimeFormat(ValueError):  # noqa: N818 - what it is
    """An invalid format or zone; the text is the reason."""


def converter(format: str, zone: str | None) -> Convert | None:
    """Converter of times in a format, or None for RFC 3339. Raises BadTimeFormat."""
    if format in FORMATS:
        if zone is not None:
            raise BadTimeFormat(f"zone: {format} has its own; remove it")
        return None if format == RFC_3339 else _since_1970(format, MICROSECONDS[format])
    if "%" not in format:
        raise BadTimeFormat(
            f"time: {format!r} is unknown; use one of {', '.join(FORMATS)}, or a format of "
            "strptime such as '%d.%m.%Y %H:%M:%S'"
        )
    return _formatted(format, zone)


def _since_1970(name: str, factor: int) -> Convert:
    def convert(value: Any) -> str:
        if type(value) is int:
            micros = value * factor
        elif type(value) is float:
            micros = round(value * factor) if -1e19 < value < 1e19 else LAST
        else:
            micros = _of_text(name, value, factor)
        if not FIRST <= micros < LAST:
            raise ValueError(f"expected {name} of the years 1 to 9999")
        return format_time(micros)

    return convert


def _of_text(name: str, value: Any, factor: int) -> int:
    """Microseconds of a text such as "1355517523.000005", without loss of precision."""
    number = Decimal(value) if isinstance(value, str) and DIGITS.fullmatch(value) else None
    if number is None or not -(10**19) < number < 10**19:
        raise ValueError(f"expected {name}: a number, or its digits as text")
    return round(number * factor)


def _formatted(format: str, zone: str | None) -> Convert:
    directives = format.replace("%%", "")
    dated_format = format if YEAR.search(directives) else f"{format} %Y"  # Python warns of none
    try:
        day = datetime.strptime(
            datetime(2026, 1, 31, tzinfo=EPOCH.tzinfo).strftime(dated_format), dated_format
        )
    except (ValueError, re.error):
        raise BadTimeFormat(f"time: {format!r} is no format that strptime can read") from None
    says_zone = "%z" in directives
    if says_zone == (zone is not None):
        raise BadTimeFormat(
            "zone: the format says it by %z; remove it"
            if zone
            else f"time: {format!r} has no zone; add `zone`, such as Europe/Berlin or UTC"
        )
    try:
        place = ZoneInfo(zone) if zone is not None else None
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise BadTimeFormat(f"zone: {zone!r} is no zone of the IANA database") from None
    if dated_format != format or day.date() != SOME_DAY:
        raise BadTimeFormat(f"time: {format!r} has no whole date: year, month and day")

    def convert(value: Any) -> str:
        try:
            moment = datetime.strptime(value, format)
            since = (moment if place is None else moment.replace(tzinfo=place)) - EPOCH
        except (ValueError, TypeError, OverflowError):
            raise ValueError(f"expected text as {format}") from None
        micros = since // MICROSECOND
        if not FIRST <= micros < LAST:
            raise ValueError("a time must be between 0001-01-02 and 9999-12-30 UTC")
        return format_time(micros)

    return convert
