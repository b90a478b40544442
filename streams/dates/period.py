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
"""The pattern in the OpenAPI document. A match is a valid period, except 29 February of most
years."""
_FORM = re.compile(r"[0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?([.][.][0-9]{4}(-[0-9]{2}(-[0-9]{2})?)?)?")
EXPECTED = "expected a year, month or day, or two with .. between: 2023-05, 2023-05-01..2023-05-14"


def parse_period(text: str) -> tuple[int, int]:
    """Returns [start, end) in microseconds since 1970-01-01 UTC. `FIRST..LAST` spans both, in any
    order. Raises ValueError with the reason."""
    if not _FORM.fullmatch(text):
        raise ValueError(f"{text!r}: {EXPECTED}")
    first, _, last = text.partition("..")
    parts = [_part(first), _part(last or first)]
    return Period(min(part.start for part in parts), max(part.end for part in parts)).micros()


def _part(text: str) -> Period:
    numbers = [int(number) for number in text.split("-")]
    try:
        start = date(*numbers, *[1] * (3 - len(numbers)))
        unit = (calendar.year, calendar.month, calendar.day)[len(numbers) - 1]
        return unit(start)
    except (ValueError, OverflowError):
        raise ValueError(f"{text!r}: there is no such date") from None


def format_period(start: int, end: int) -> str:
    """Returns the shortest text of [start, end); partial days count as whole ones."""
    first, last = calendar.day_of(start), calendar.day_of(max(start, end - 1))
    after = last + timedelta(days=1)
    if first == last:
        return first.isoformat()
    if first.day == 1 and after.day == 1:
        if first.month == 1 and after.month == 1:
            return _range(f"{first.year:04}", f"{last.year:04}")
        return _range(first.isoformat()[:7], last.isoformat()[:7])
    return _range(first.isoformat(), last.isoformat())


def _range(first: str, last: str) -> str:
    return first if first == last else f"{first}..{last}"
