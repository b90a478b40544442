"""The dates that a document is about: of a turn those it names, of a state that of its payload.

They are kept as `start:end` in microseconds, and as terms: the month and year of each, so that
words of a question find them, and each month by itself, for the filter `about`.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from schemas.time import DAY, EPOCH, parse_time
from streams.dates import resolve
from streams.search.words import MONTHS

Span = tuple[int, int]
MOST_MONTHS = 120
"""Of a date that has a term for each month; a longer one has `LONG`."""
LONG, ANY = "long", "any"
SEASON = 93 * DAY
"""A longer date has no months among its words, only years."""
MOST_YEARS = 10


def of_event(said: str, at: int) -> list[Span]:
    """The dates that a text names which was said at a time, a turn's above all, in order."""
    return list(dict.fromkeys((one.start, one.end) for one in resolve(said, at)))


def of_payload(payload: Any) -> list[Span]:
    """That of a state; none where what stands there is no date."""
    try:
        start, end = parse_time(payload["about_start"]), parse_time(payload["about_end"])
    except (KeyError, TypeError, ValueError):
        return []
    return [(start, end)] if start < end else []


def written(spans: Sequence[Span]) -> str | None:
    """Dates as the index has them."""
    return " ".join(f"{start}:{end}" for start, end in spans) or None


def read(text: str | None) -> list[Span]:
    """The same, read again."""
    parts = (one.partition(":") for one in (text or "").split())
    return [(int(start), int(end)) for start, _, end in parts]


def overlapping(spans: Sequence[Span], period: Span | None) -> Span | None:
    """The first date that has a moment in a period; the first of all without a period."""
    if period is None:
        return next(iter(spans), None)
    return next((one for one in spans if one[0] < period[1] and period[0] < one[1]), None)


def words(spans: Sequence[Span]) -> str:
    """Day, month and year of each date, as far as it is so exact: `7 may 2023`."""
    said: list[str] = []
    for start, end in spans:
        first, last = _day(start), _day(end - 1)
        if first == last:
            said.append(str(first[2]))
        if end - start <= SEASON:
            said += [MONTHS[int(one[5:]) - 1] for one in months((start, end))]
        said += map(str, range(first[0], min(last[0], first[0] + MOST_YEARS) + 1))
    return " ".join(dict.fromkeys(said))


def months(span: Span) -> list[str]:
    """The months of a date, `2023-05`, in order."""
    (year, month, _), (to_year, to_month, _) = _day(span[0]), _day(span[1] - 1)
    first, last = 12 * year + month - 1, 12 * to_year + to_month - 1
    return [f"{one // 12:04}-{one % 12 + 1:02}" for one in range(first, last + 1)]


def listed(spans: Sequence[Span]) -> list[str]:
    """What a document with these dates is listed under, for `asked`."""
    if not spans:
        return []
    found: dict[str, None] = {ANY: None}
    for one in spans:
        every = months(one)
        found |= dict.fromkeys(every if len(every) <= MOST_MONTHS else [LONG])
    return list(found)


def asked(period: Span) -> list[str]:
    """One of these every document is listed under whose date has a moment in a period."""
    every = months(period)
    return [*every, LONG] if len(every) <= MOST_MONTHS else [ANY]


def _day(at: int) -> tuple[int, int, int]:
    then = EPOCH + timedelta(microseconds=at)
    return then.year, then.month, then.day
