"""The month that a question names: "in July 2023", "on 3 May", "2026-03-14", "3月14日"."""

import re
from datetime import timedelta
from typing import NamedTuple

from schemas.time import EPOCH
from streams.search.about import SEASON
from streams.search.words import MONTHS

_NAMES = "|".join(f"{name}|{name[:3]}" for name in MONTHS)
_YEAR = r"(?P<year>(?:19|20)\d\d)"
PATTERNS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"\b{_YEAR}-(?P<month>\d\d)(?:-(?P<day>\d\d))?\b",
        rf"(?:{_YEAR}年)?(?P<month>\d{{1,2}})月(?:(?P<day>\d{{1,2}})[日号號])?",
        rf"\b(?P<name>{_NAMES})\.? (?:(?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b,? ?)?{_YEAR}\b",
        rf"\b(?P<day>\d{{1,2}})(?:st|nd|rd|th)? (?:of )?(?P<name>{_NAMES})\b(?:,? {_YEAR}\b)?",
        rf"\b(?P<name>{_NAMES}) (?P<day>\d{{1,2}})(?:st|nd|rd|th)?\b",
        rf"\b(?:in|of|during|since|until|by|last|this|early|late|mid) (?P<name>{_NAMES})\b",
    )
)
"""The most exact first. A bare "may" or "march" names no month."""
WEEK = 7


class Month(NamedTuple):
    """A month of one year, or of every year; with `day`, the week before and after that day."""

    year: int | None
    month: int
    day: int | None = None

    def has(self, at: int) -> bool:
        """Whether a time (microseconds since 1970) lies in it, in UTC."""
        then = EPOCH + timedelta(microseconds=at)
        if self.year not in (None, then.year):
            return False
        if self.day is None:
            return then.month == self.month
        days = 31 * (then.month - self.month) + then.day - self.day
        return abs(days) <= WEEK

    def touches(self, start: int, end: int) -> bool:
        """Whether a date is of it, or for a part; one that is longer than a season is of none."""
        if end - start > SEASON:
            return False
        return any(self.has(at) for at in (start, (start + end) // 2, end - 1))


def month_named(text: str) -> Month | None:
    """The month that a text names first, if it names one."""
    for pattern in PATTERNS:
        for found in pattern.finditer(text):
            given = found.groupdict()
            month = int(given["month"]) if given.get("month") else _number(given["name"])
            if 1 <= month <= 12:
                year, day = given.get("year"), given.get("day")
                return Month(int(year) if year else None, month, int(day) if day else None)
    return None


def _number(name: str) -> int:
    (month,) = (n for n, one in enumerate(MONTHS, start=1) if one[:3] == name[:3].lower())
    return month
