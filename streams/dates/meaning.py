"""Resolves date expressions to periods (docs/dates.md).

A form is a function from an `Expression` to a period, or None if the date does not exist (31 June).
All languages share the forms; the tables of a language map its words to values.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import date, timedelta
from typing import Literal, NamedTuple

from streams.dates import calendar
from streams.dates.calendar import Period

Tense = Literal["past", "future", ""]
FEW = 0
"""Stands for "a few" as a number: two to five."""
MANY_YEARS = 200
"""A larger number of years is not a date expression."""


class Expression(NamedTuple):
    """The values of one match of a form. `shift`: -1 for "last", 0 for "this", 1 for "next"."""

    today: date
    tense: Tense
    next_week: bool  # "next Friday" is in the next week, even if a Friday comes before
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


def fixed(expression: Expression) -> Period | None:
    """yesterday"""
    return None if expression.day is None else calendar.day(expression.today, expression.day)


def ago(expression: Expression) -> Period | None:
    """three days ago; two years ago today"""
    return _counted(expression, -1)


def ahead(expression: Expression) -> Period | None:
    """in three days; None with a verb in the past: a duration"""
    return None if expression.tense == "past" else _counted(expression, 1)


def _counted(expression: Expression, direction: int) -> Period | None:
    if expression.n is None or (expression.n > MANY_YEARS and expression.unit == "year"):
        return None
    if expression.n == FEW:
        near, far = sorted((2 * direction, 5 * direction))
        return calendar.shifted(expression.unit, expression.today, near, far)
    if expression.exact:
        months = {"year": 12, "month": 1}.get(expression.unit)
        if months is not None:
            return calendar.day(
                calendar.months_after(expression.today, direction * months * expression.n)
            )
        return calendar.day(
            expression.today, direction * expression.n * {"week": 7}.get(expression.unit, 1)
        )
    return calendar.shifted(expression.unit, expression.today, direction * expression.n)


def half_year(expression: Expression) -> Period | None:
    """half a year ago"""
    return calendar.month(expression.today, -6)


def half_year_ahead(expression: Expression) -> Period | None:
    """in half a year"""
    return calendar.month(expression.today, 6)


def unit(expression: Expression) -> Period | None:
    """last week; the 15th of last month"""
    period = calendar.shifted(expression.unit, expression.today, expression.shift or 0)
    if expression.d is None or expression.unit != "month":
        return period
    return _day(period.start.year, period.start.month, expression.d)


def weekend(expression: Expression) -> Period | None:
    """at the weekend: in the past the last one, from Monday to Friday"""
    is_last = expression.tense == "past" and expression.today.weekday() < 5
    return calendar.weekend(expression.today, -1 if is_last else expression.shift or 0)


def weekday(expression: Expression) -> Period | None:
    """on Friday, last Friday, next Friday"""
    if expression.weekday is None:
        return None
    if expression.shift is None or expression.shift == 0:
        past = expression.tense == "past"
        return _nearest_weekday(
            expression, -1 if past else 1, today=expression.shift == 0 and not past
        )
    if expression.shift > 0 and expression.next_week:
        return weekday_of_week(expression)
    return _nearest_weekday(expression, expression.shift)


def weekday_of_week(expression: Expression) -> Period | None:
    """the Friday of last week"""
    if expression.weekday is None:
        return None
    monday = calendar.week(expression.today, expression.shift or 0).start
    return calendar.day(monday, expression.weekday)


def _nearest_weekday(expression: Expression, direction: int, today: bool = False) -> Period:
    days = ((expression.weekday or 0) - expression.today.weekday()) * direction % 7
    return calendar.day(expression.today, direction * (days if days or today else 7))


def day_of_month(expression: Expression) -> Period | None:
    """on the 3rd"""
    if expression.d is None:
        return None
    months = (calendar.month(expression.today, offset).start for offset in range(-2, 3))
    return _by_tense(
        expression, (_day(month.year, month.month, expression.d or 0) for month in months)
    )


def month(expression: Expression) -> Period | None:
    """in March, last March, March 2019, May 5"""
    if expression.month is None or not 1 <= expression.month <= 12:
        return None
    year_today = expression.today.year
    if expression.year is not None:
        return _in_year(expression, expression.year)
    if expression.unit == "year" and expression.shift is not None:
        return _in_year(expression, year_today + expression.shift)
    candidates = [_in_year(expression, year_today + offset) for offset in range(-2, 3)]
    if expression.shift == 0:
        return candidates[2]
    if expression.shift is None:
        return _by_tense(expression, iter(candidates))
    return _by_shift(expression, candidates)


def _in_year(expression: Expression, year: int) -> Period | None:
    assert expression.month is not None
    if expression.d is not None:
        return _day(year, expression.month, expression.d)
    return calendar.month(date(year, expression.month, 1))


def _by_shift(expression: Expression, candidates: Sequence[Period | None]) -> Period | None:
    """The latest candidate that has ended, or the earliest that has not started."""
    if expression.shift is not None and expression.shift < 0:
        past = (
            period for period in reversed(candidates) if period and period.end <= expression.today
        )
        return next(past, None)
    return next(
        (period for period in candidates if period and period.start > expression.today), None
    )


def season(expression: Expression) -> Period | None:
    """last summer, the summer of 2022"""
    if expression.season is None:
        return None
    year_today = expression.today.year
    if expression.year is not None:
        return calendar.season(expression.year, expression.season)
    if expression.unit == "year" and expression.shift is not None:
        return calendar.season(year_today + expression.shift, expression.season)
    seasons = [calendar.season(year_today + offset, expression.season) for offset in range(-2, 3)]
    if expression.shift:
        return _by_shift(expression, seasons)
    if expression.tense == "past":
        return next(
            (period for period in reversed(seasons) if period.start <= expression.today), None
        )
    return next((period for period in seasons if period.end > expression.today), None)


def year(expression: Expression) -> Period | None:
    """in 2019, 去年"""
    if expression.year is not None:
        return calendar.year(date(expression.year, 1, 1))
    return calendar.year(expression.today, expression.shift or 0)


def _day(year: int, month: int, day: int) -> Period | None:
    try:
        return calendar.day(date(year, month, day))
    except ValueError:
        return None


def _by_tense(expression: Expression, candidates: Iterator[Period | None]) -> Period | None:
    """The latest candidate that has started (past tense), the earliest that has not ended (future
    tense), otherwise the nearest."""
    periods = [period for period in candidates if period is not None]
    if expression.tense == "past":
        return max((period for period in periods if period.start <= expression.today), default=None)
    if expression.tense == "future":
        return min((period for period in periods if period.end > expression.today), default=None)
    return min(periods, key=lambda period: _distance(period, expression.today), default=None)


def _distance(period: Period, today: date) -> timedelta:
    return max(period.start - today, today - period.end + timedelta(days=1), timedelta(0))


FORMS: dict[str, Callable[[Expression], Period | None]] = {
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
