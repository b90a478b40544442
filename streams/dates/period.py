"""Periods as people write them: `2023`, `2023-05`, `2023-05-08`, `2023-05-01..2023-05-14`."""

import re
from datetime import date, timedelta

from streams.dates import calendar
from streams.dates.calendar import Period

_MONTH_AND_DAY = (
    "-((0[13578]|1[02])(-(0[1-9]|[12][0-9]|3[01]))?|(0[469]|11)(-(0[1-9]|[12][0-9]|30))?"
    "|02(-(0[1-9]|[12][0-9]))?)"
)
_DATE = f"(?!0000|9999)[0-9]{{4}}({_MONTH_AND_DAY})?"
PATTERN = rf"^{_DATE}([.][.]{_DATE})?$"
"""What the API's document says; all that fits is a period, but for 29 February of most years."""
_FORM = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?([.][.][0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?)?")
EXPECTED = "expected a year, month or day, or two with .. between: 2023-05, 2023-05-01..2023-05-14"


def parse_period(text: str) -> tuple[int, int]:
    """The start and end (no longer part of it) in microseconds since 1970-01-01 UTC; of two with
    `..` between, from the earlier's start to the later's end. Raises ValueError with the reason."""
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r}: {EXPECTED}")
    first, _, last = text.partition("..")
    parts = [_part(first), _part(last or first)]
    return Period(min(one.start for one in parts), max(one.end for one in parts)).micros()


def _part(text: str) -> Period:
    numbers = [int(one) for one in text.split("-")]
    try:
        begins = date(*numbers, *[1] * (3 - len(numbers)))
        unit = (calendar.year, calendar.month, calendar.day)[len(numbers) - 1]
        return unit(begins)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r}: there is no such date") from None


def format_period(start: int, end: int) -> str:
    """The shortest text of a period; of one that is not made of whole days, those it touches."""
    first, last = calendar.day_of(start), calendar.day_of(max(start, end - 1))
    after = last + timedelta(days=1)
    if first == last:
        return first.isoformat()
    if first.day == 1 and after.day == 1:
        if first.month == 1 and after.month == 1:
            return _two(f"{first.year:04}", f"{last.year:04}")
        return _two(first.isoformat()[:7], last.isoformat()[:7])
    return _two(first.isoformat(), last.isoformat())


def _two(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"
