"""Days, weeks, months, seasons and years as periods of whole days (UTC)."""

import calendar
from collections.abc import Callable
from datetime import date, timedelta
from typing import NamedTuple

from schemas.time import DAY, EPOCH

WINTER = 12
"""The month in which a winter begins; it is called by the year of that month."""
SEASON_MONTHS = 3


class Period(NamedTuple):
    """From a day to another, which no longer belongs to it."""

    start: date
    end: date

    def micros(self) -> tuple[int, int]:
        """Its start and end in microseconds since 1970-01-01 UTC."""
        return _micros(self.start), _micros(self.end)


def day_of(at: int) -> date:
    """The day of a time in microseconds since 1970-01-01 UTC."""
    return (EPOCH + timedelta(microseconds=at)).date()


def _micros(one: date) -> int:
    return (one - EPOCH.date()).days * DAY


def day(one: date, by: int = 0) -> Period:
    """The day so many days later."""
    start = one + timedelta(days=by)
    return Period(start, start + timedelta(days=1))


def week(one: date, by: int = 0) -> Period:
    """The week, from Monday on, that is so many weeks after that of a day."""
    start = one + timedelta(days=7 * by - one.weekday())
    return Period(start, start + timedelta(days=7))


def weekend(one: date, by: int = 0) -> Period:
    """The Saturday and Sunday of such a week."""
    monday, end = week(one, by)
    return Period(monday + timedelta(days=5), end)


def month(one: date, by: int = 0) -> Period:
    """The month that is so many months after that of a day."""
    start = months_after(one.replace(day=1), by)
    return Period(start, months_after(start, 1))


def year(one: date, by: int = 0) -> Period:
    """The year that is so many years after that of a day."""
    return Period(date(one.year + by, 1, 1), date(one.year + by + 1, 1, 1))


def season(of: int, first: int) -> Period:
    """Three months from the month `first` of a year on."""
    start = date(of, first, 1)
    return Period(start, months_after(start, SEASON_MONTHS))


def months_after(one: date, by: int) -> date:
    """The same day so many months later, or the last of a shorter month."""
    years, index = divmod(one.year * 12 + one.month - 1 + by, 12)
    return date(years, index + 1, min(one.day, calendar.monthrange(years, index + 1)[1]))


UNITS: dict[str, Callable[[date, int], Period]] = {
    "day": day, "week": week, "weekend": weekend, "month": month, "year": year,
}  # fmt: skip


def shifted(unit: str, one: date, by: int, to: int | None = None) -> Period:
    """The unit so many after that of a day; with `to`, all from there to that one."""
    start, end = UNITS[unit](one, by)
    return Period(start, end if to is None else UNITS[unit](one, to).end)
