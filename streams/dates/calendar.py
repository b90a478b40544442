"""Days, weeks, months, seasons and years as periods of whole days (UTC)."""

import calendar
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from schemas.time import DAY, EPOCH

SEASON_MONTHS = 3


class Period(NamedTuple):
    """Whole days from `start` to `end` (exclusive)."""

    start: date
    end: date

    def micros(self) -> tuple[int, int]:
        """Start and end in microseconds since 1970-01-01 UTC."""
        return _micros(self.start), _micros(self.end)


def day_of(at: int) -> date:
    """The UTC day of a time in microseconds since 1970-01-01."""
    return (EPOCH + timedelta(microseconds=at)).date()


def _micros(base: date) -> int:
    return (base - EPOCH.date()).days * DAY


def day(base: date, offset: int = 0) -> Period:
    """The day `offset` days after `base`."""
    start = base + timedelta(days=offset)
    return Period(start, start + timedelta(days=1))


def week(base: date, offset: int = 0) -> Period:
    """The week (Monday to Sunday) `offset` weeks after the week of `base`."""
    start = base + timedelta(days=7 * offset - base.weekday())
    return Period(start, start + timedelta(days=7))


def weekend(base: date, offset: int = 0) -> Period:
    """Saturday and Sunday of the week `offset` weeks after the week of `base`."""
    monday, end = week(base, offset)
    return Period(monday + timedelta(days=5), end)


def month(base: date, offset: int = 0) -> Period:
    """The month `offset` months after the month of `base`."""
    start = months_after(base.replace(day=1), offset)
    return Period(start, months_after(start, 1))


def year(base: date, offset: int = 0) -> Period:
    """The year `offset` years after the year of `base`."""
    return Period(date(base.year + offset, 1, 1), date(base.year + offset + 1, 1, 1))


def season(year: int, first_month: int) -> Period:
    """The three months that start with `first_month` of a year; a winter starts in December."""
    start = date(year, first_month, 1)
    return Period(start, months_after(start, SEASON_MONTHS))


def months_after(base: date, offset: int) -> date:
    """The same day `months` months later, or the last day of a shorter month."""
    years, index = divmod(base.year * 12 + base.month - 1 + offset, 12)
    return date(years, index + 1, min(base.day, calendar.monthrange(years, index + 1)[1]))


UNITS: dict[str, Callable[[date, int], Period]] = {
    "day": day, "week": week, "weekend": weekend, "month": month, "year": year,
}  # fmt: skip


def shifted(unit: str, base: date, offset: int, last: int | None = None) -> Period:
    """The unit `offset` units after the one of `base`; with `last`, all units up to that offset."""
    start, end = UNITS[unit](base, offset)
    return Period(start, end if last is None else UNITS[unit](base, last).end)
