"""The dates that a document is about: those in the text of a turn, or in the payload of a state.

They are stored as `start:end` in microseconds, and as terms: month and year of each, for the words
of a query, and each month, for the filter `about`.
"""

from collections.abc import Sequence
from datetime import timedelta
from typing import Any

from schemas.time import DAY, EPOCH, parse_time
from streams.dates import resolve
from streams.search.stopwords import MONTHS

Span = tuple[int, int]
MOST_MONTHS = 120
"""Maximum months of a date with a term for each; a longer date has the term `LONG`."""
LONG, ANY = "long", "any"
SEASON = 93 * DAY
"""Maximum length of a date with months among its words; a longer date has years only."""
MOST_YEARS = 10


def of_event(text: str, at: int) -> list[Span]:
    """Returns the dates in the text of a turn at a time (microseconds), in order."""
    return list(dict.fromkeys((span.start, span.end) for span in resolve(text, at)))


def of_payload(payload: Any) -> list[Span]:
    """Returns the date in the payload of a state; empty without a valid one."""
    try:
        start, end = parse_time(payload["about_start"]), parse_time(payload["about_end"])
    except (KeyError, TypeError, ValueError):
        return []
    return [(start, end)] if start < end else []


def format_spans(spans: Sequence[Span]) -> str | None:
    """The text form of dates in the index, or None for no dates."""
    return " ".join(f"{start}:{end}" for start, end in spans) or None


def parse_spans(text: str | None) -> list[Span]:
    """Parses `format_spans`."""
    parts = (span.partition(":") for span in (text or "").split())
    return [(int(start), int(end)) for start, _, end in parts]


def overlapping(spans: Sequence[Span], period: Span | None) -> Span | None:
    """The first date that overlaps a period; the first date without a period."""
    if period is None:
        return next(iter(spans), None)
    return next((span for span in spans if span[0] < period[1] and period[0] < span[1]), None)


def words(spans: Sequence[Span]) -> str:
    """Day, month and year of each date, as far as its precision goes: `7 may 2023`."""
    words: list[str] = []
    for start, end in spans:
        first, last = _day(start), _day(end - 1)
        if first == last:
            words.append(str(first[2]))
        if end - start <= SEASON:
            words += [MONTHS[int(month[5:]) - 1] for month in months((start, end))]
        words += map(str, range(first[0], min(last[0], first[0] + MOST_YEARS) + 1))
    return " ".join(dict.fromkeys(words))


def months(span: Span) -> list[str]:
    """The months of a date, `2023-05`, in order."""
    (year, month, _), (to_year, to_month, _) = _day(span[0]), _day(span[1] - 1)
    first, last = 12 * year + month - 1, 12 * to_year + to_month - 1
    return [f"{number // 12:04}-{number % 12 + 1:02}" for number in range(first, last + 1)]


def index_keys(spans: Sequence[Span]) -> list[str]:
    """Keys of a document with these dates, for `query_keys`."""
    if not spans:
        return []
    keys: dict[str, None] = {ANY: None}
    for span in spans:
        span_months = months(span)
        keys |= dict.fromkeys(span_months if len(span_months) <= MOST_MONTHS else [LONG])
    return list(keys)


def query_keys(period: Span) -> list[str]:
    """Keys for a period: every document with a date in it has at least one of them."""
    period_months = months(period)
    return [*period_months, LONG] if len(period_months) <= MOST_MONTHS else [ANY]


def _day(at: int) -> tuple[int, int, int]:
    time = EPOCH + timedelta(microseconds=at)
    return time.year, time.month, time.day
