"""What the forms of dates mean: words and numbers that were said -> a period (docs/dates.md).

A form is a function of what was said, `Said`, which returns a period, or None where there is none
(the 31st of June). All languages share them; their tables say which words stand for what.
"""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Literal, NamedTuple

from streams.dates import calendar
from streams.dates.calendar import Period

Tense = Literal["past", "future", ""]
FEW = 0
"""As a number: "a few", which is taken as from two to five."""
MANY_YEARS = 200
"""Beyond that nobody counts back in a chat."""


class Said(NamedTuple):
    """What one match of a form holds. `shift`: -1 for "last", 0 for "this", 1 for "next"."""

    today: date
    tense: Tense
    next_week: bool  # "next Friday" is that of the next week, not the next that comes
    day: int | None = None
    n: int | None = None
    unit: str = ""
    weekday: int | None = None
    month: int | None = None
    season: int | None = None
    shift: int | None = None
    year: int | None = None
    d: int | None = None
    exact: bool = False


def fixed(said: Said) -> Period | None:
    """yesterday"""
    return None if said.day is None else calendar.day(said.today, said.day)


def ago(said: Said) -> Period | None:
    """three days ago; two years ago today"""
    return _counted(said, -1)


def ahead(said: Said) -> Period | None:
    """in three days, unless that is how long something took"""
    return None if said.tense == "past" else _counted(said, 1)


def _counted(said: Said, way: int) -> Period | None:
    if said.n is None or (said.n > MANY_YEARS and said.unit == "year"):
        return None
    if said.n == FEW:
        near, far = sorted((2 * way, 5 * way))
        return calendar.shifted(said.unit, said.today, near, far)
    if said.exact:
        months = {"year": 12, "month": 1}.get(said.unit)
        if months is not None:
            return calendar.day(calendar.months_after(said.today, way * months * said.n))
        return calendar.day(said.today, way * said.n * {"week": 7}.get(said.unit, 1))
    return calendar.shifted(said.unit, said.today, way * said.n)


def half_year(said: Said) -> Period | None:
    """half a year ago"""
    return calendar.month(said.today, -6)


def half_year_ahead(said: Said) -> Period | None:
    """in half a year"""
    return calendar.month(said.today, 6)


def unit(said: Said) -> Period | None:
    """last week; the 15th of last month"""
    period = calendar.shifted(said.unit, said.today, said.shift or 0)
    if said.d is None or said.unit != "month":
        return period
    return _day(period.start.year, period.start.month, said.d)


def weekend(said: Said) -> Period | None:
    """at the weekend: in the past the last one, from Monday to Friday"""
    gone = said.tense == "past" and said.today.weekday() < 5
    return calendar.weekend(said.today, -1 if gone else said.shift or 0)


def weekday(said: Said) -> Period | None:
    """on Friday, last Friday, next Friday"""
    if said.weekday is None:
        return None
    if said.shift is None or said.shift == 0:
        past = said.tense == "past"
        return _nearest_weekday(said, -1 if past else 1, today=said.shift == 0 and not past)
    if said.shift > 0 and said.next_week:
        return weekday_of_week(said)
    return _nearest_weekday(said, said.shift)


def weekday_of_week(said: Said) -> Period | None:
    """the Friday of last week"""
    if said.weekday is None:
        return None
    monday = calendar.week(said.today, said.shift or 0).start
    return calendar.day(monday, said.weekday)


def _nearest_weekday(said: Said, way: int, today: bool = False) -> Period:
    days = ((said.weekday or 0) - said.today.weekday()) * way % 7
    return calendar.day(said.today, way * (days if days or today else 7))


def day_of_month(said: Said) -> Period | None:
    """on the 3rd"""
    if said.d is None:
        return None
    months = (calendar.month(said.today, by).start for by in range(-2, 3))
    return _sensible(said, (_day(one.year, one.month, said.d or 0) for one in months))


def month(said: Said) -> Period | None:
    """in March, last March, March 2019, May 5"""
    if said.month is None or not 1 <= said.month <= 12:
        return None
    this = said.today.year
    if said.year is not None:
        return _in_year(said, said.year)
    if said.unit == "year" and said.shift is not None:
        return _in_year(said, this + said.shift)
    found = [_in_year(said, this + by) for by in range(-2, 3)]
    if said.shift == 0:
        return found[2]
    if said.shift is None:
        return _sensible(said, iter(found))
    return _beyond(said, found)


def _in_year(said: Said, of: int) -> Period | None:
    assert said.month is not None
    if said.d is not None:
        return _day(of, said.month, said.d)
    return calendar.month(date(of, said.month, 1))


def _beyond(said: Said, found: list[Period | None]) -> Period | None:
    """The nearest that is over by now, or the nearest still to begin."""
    if said.shift is not None and said.shift < 0:
        return next((one for one in reversed(found) if one and one.end <= said.today), None)
    return next((one for one in found if one and one.start > said.today), None)


def season(said: Said) -> Period | None:
    """last summer, the summer of 2022"""
    if said.season is None:
        return None
    this = said.today.year
    if said.year is not None:
        return calendar.season(said.year, said.season)
    if said.unit == "year" and said.shift is not None:
        return calendar.season(this + said.shift, said.season)
    found: list[Period | None] = [calendar.season(this + by, said.season) for by in range(-2, 3)]
    if said.shift:
        return _beyond(said, found)
    if said.tense == "past":
        return next((one for one in reversed(found) if one and one.start <= said.today), None)
    return next((one for one in found if one and one.end > said.today), None)


def year(said: Said) -> Period | None:
    """in 2019, 去年"""
    if said.year is not None:
        return calendar.year(date(said.year, 1, 1))
    return calendar.year(said.today, said.shift or 0)


def _day(of: int, month: int, d: int) -> Period | None:
    try:
        return calendar.day(date(of, month, d))
    except ValueError:
        return None


def _sensible(said: Said, found: Iterator[Period | None]) -> Period | None:
    """The latest by now for what was, the first from now on for what will be, else the nearest."""
    there = [one for one in found if one is not None]
    if said.tense == "past":
        return max((one for one in there if one.start <= said.today), default=None)
    if said.tense == "future":
        return min((one for one in there if one.end > said.today), default=None)
    return min(there, key=lambda one: _distance(one, said.today), default=None)


def _distance(period: Period, today: date) -> timedelta:
    return max(period.start - today, today - period.end + timedelta(days=1), timedelta(0))


FORMS: dict[str, Callable[[Said], Period | None]] = {
    "day": fixed,
    "ago": ago,
    "ahead": ahead,
    "half_year": half_year,
    "half_year_ahead": half_year_ahead,
    "unit": unit,
    "weekend": weekend,
    "weekday": weekday,
    "weekday_of_week": weekday_of_week,
    "day_of_month": day_of_month,
    "month": month,
    "season": season,
    "year": year,
}
