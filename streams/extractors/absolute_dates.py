"""A date as somebody said it ("last Tuesday"), as it stands in a text that is read months later
("on 9 May 2023"): docs/extractors.md, "Dates".

Each function takes a text, the place [begin, stop) of a date in it that is said without its year,
and its period, and gives the text with the date fixed; the text as it is where the words around it
would not bear another date.
"""

import re
from collections.abc import Callable
from datetime import date
from typing import NamedTuple

from streams.dates import calendar
from streams.dates.english import LONG
from streams.extractors.patterns import words

FixDate = Callable[[str, int, int, "Named"], str]

SATURDAY = 5
YEAR = re.compile(r"(?:19|20)\d\d")
"""In the words of a date: it is fixed as it is."""
SHIFTED = re.compile(
    r"\b(?:last|this|next|past|coming|previous)\b|[上下这這先来翌今]", re.IGNORECASE
)
"""The same: it says of which week, month or year it is, from when it was said."""
WRITTEN = r"(?:in the week|on the weekend|in the (?:spring|summer|fall|autumn|winter)) of|around"
"""What `english` writes before a date, besides "on" and "in"."""


class Named(NamedTuple):
    """The period of a date: its first day, the day after its last, and whether it is "since" it."""

    first: date
    after: date
    lasting: bool

    @classmethod
    def of(cls, start: int, end: int, lasting: bool) -> "Named":
        """From microseconds."""
        return cls(calendar.day_of(start), calendar.day_of(end), lasting)

    @property
    def unit(self) -> str:
        """day, weekend, week, month, season or year: the period is one, or about one."""
        first, after = self.first, self.after
        if self.lasting:  # its end is the day on which it was said
            return "day" if first.day > 1 else "month" if first.month > 1 else "year"
        days = (after - first).days
        if self.is_about:
            return "day" if days <= 10 else "month" if days <= 400 else "year"
        whole = {1: "day", 2: "weekend", 7: "week"}
        return whole.get(days) or {1: "month", 3: "season"}.get(self._months, "year")

    @property
    def is_about(self) -> bool:
        """Whether it is no unit of the calendar: "a few days ago"."""
        days = (self.after - self.first).days
        is_weekend = days == 2 and self.first.weekday() == SATURDAY
        return not (self.lasting or is_weekend or days in (1, 7) or self._months in (1, 3, 12))

    @property
    def around(self) -> date:
        """The day by which it is called: its first, or of one that is about a unit the middle."""
        return self.first + (self.after - self.first) // 2 if self.is_about else self.first

    @property
    def _months(self) -> int:
        """How many whole months it has; 0 where it is not made of them."""
        first, after = self.first, self.after
        if not first.day == after.day == 1:
            return 0
        return (after.year - first.year) * 12 + after.month - first.month


# --- English --------------------------------------------------------------------------------------

_MONTHS = [name.capitalize() for name in LONG.split("|")]
_SEASON = re.compile("spring|summer|fall|autumn|winter", re.IGNORECASE)
_KEPT = words("by, until, till, before, since, from, after, around, through")
"""What places something beside a time, not at it."""
_OPENS = re.compile(
    rf"(?:(?P<kept>{_KEPT})|on|in|over|at|during|back in|(?P<due>due)) ", re.IGNORECASE
)
_HAS_MONTH = re.compile(rf"\b(?:{'|'.join(name[:3] for name in _MONTHS)})", re.IGNORECASE)
_PLACED = re.compile(
    rf"\b(?:{_KEPT}|{words('for, of, to, during, than, between')})$", re.IGNORECASE
)
"""Before a date: it needs no other word."""
_HEDGED = re.compile(
    r" (?:(?P<about>(?:just )?(?:over|under)|almost|nearly|roughly|about)|just|only|literally)$",
    re.IGNORECASE,
)
"""Before a date, which is no longer so near: "just last week", "over three months ago"."""
_DOUBLED = re.compile(r"(?<!move)(?<!moved)(?<!moving)(?<!check)(?<!stay) (?P<word>in|on)$")
"""The word that a date is to get; after a verb it may be the verb's: "moving in next month"."""
_BOUND = re.compile(
    rf"\b(?:{words('the, a, an, my, our, his, her, their, its, this, that, these, those')}|"
    rf"{words('every, each, all, whole, and, or, not')})$|'s$",
    re.IGNORECASE,
)
"""Before a date that is part of a name, or one of two."""
_GOES_ON = re.compile(
    rf"$|[.,;:!?)]| (?:{words('with, for, and, but, at, to, in, on, by, from, after, before, of')}|"
    rf"{words('because, so, that, which, where, when, while, as, about, near, or, since, until')}|"
    rf"{words('together, again, too, due, if, it, i, we, they, he, she, my, our, the, a, an')})\b",
    re.IGNORECASE,
)
"""After a date that is no part of a longer name."""


def english(text: str, begin: int, stop: int, named: Named) -> str:
    """ "my son had an accident last Tuesday" -> "… on 9 May 2023"."""
    phrase, before = text[begin:stop], text[:begin].rstrip()
    opened = _OPENS.match(phrase)
    if not before or not _GOES_ON.match(text, stop):
        return text
    if not opened and _BOUND.search(before):
        return text
    if _HAS_MONTH.search(phrase) and not SHIFTED.search(phrase):
        return f"{text[:stop]} {named.first.year}{text[stop:]}"
    word, date_text = _in_english(named, phrase)
    if (hedge := _HEDGED.search(before)) is not None:
        before, word = before[: hedge.start()], "around" if hedge["about"] else word
    if opened and opened["kept"]:
        date_text = f"{opened['kept']} {date_text}"
    elif opened and opened["due"]:
        date_text = f"due {word} {date_text}"
    elif named.lasting and not _PLACED.search(before):
        date_text = f"since {date_text}"
    elif not _PLACED.search(before) and not (
        (doubled := _DOUBLED.search(before)) and doubled["word"] == word
    ):
        date_text = f"{word} {date_text}"
    return f"{before} {date_text}{text[stop:]}"


def _in_english(named: Named, phrase: str) -> tuple[str, str]:
    """The word before a period, and the period."""
    first, unit = named.around, named.unit
    month = f"{_MONTHS[first.month - 1]} {first.year}"
    day = f"{first.day} {month}"
    season = _SEASON.search(phrase)
    if unit == "season":
        word, date_text = "in", f"the {season[0].lower()} of {first.year}" if season else month
    else:
        word, date_text = {
            "day": ("on", day),
            "weekend": ("on", f"the weekend of {day}"),
            "week": ("in", f"the week of {day}"),
            "month": ("in", month),
            "year": ("in", f"{first.year}"),
        }[unit]
    return ("around" if named.is_about else word), date_text


# --- Chinese and Japanese -------------------------------------------------------------------------

_SEASON_SIGN = re.compile("[春夏秋冬]")
_JA_PART = re.compile("初め|末|上旬|中旬|下旬|半ば|頭")
_JA_PARTICLE = re.compile(
    "$|[にのはもでがをへ、。,中]|から|まで|より|頃|ごろ|以|初め|末|上旬|中旬|下旬|半ば"
)


def chinese(text: str, begin: int, stop: int, named: Named) -> str:
    """ "昨天辞职了" -> "2023年5月8日辞职了"."""
    phrase = text[begin:stop]
    size, date_text, season = _in_signs(named, phrase)
    added = {"weekend": "那个周末", "week": "那周", "season": f"{season}天"}.get(size, "")
    return text[:begin] + date_text + added + ("左右" if named.is_about else "") + text[stop:]


def japanese(text: str, begin: int, stop: int, named: Named) -> str:
    """ "来月仙台に行く" -> "2023年6月に仙台に行く"."""
    phrase = text[begin:stop]
    size, date_text, season = _in_signs(named, phrase)
    added = {"weekend": "の週末", "week": "の週", "season": f"の{season}"}.get(size, "")
    if size == "month" and (part := _JA_PART.search(phrase)) is not None:
        added = part[0]
    added += "頃" if named.is_about else ""
    return (
        text[:begin]
        + date_text
        + added
        + ("" if _JA_PARTICLE.match(text, stop) else "に")
        + text[stop:]
    )


def _in_signs(named: Named, phrase: str) -> tuple[str, str, str]:
    """The size of a period, the day, month or year that it begins with, and its season."""
    first, size = named.around, named.unit
    sign = _SEASON_SIGN.search(phrase)
    if size == "season" and sign is None:
        size = "month"
    if size == "year" and "月" in phrase:  # since then: its end says nothing of its size
        size = "month"
    date_text = f"{first.year}年"
    if size not in ("year", "season"):
        date_text += f"{first.month}月"
    if size not in ("year", "season", "month"):
        date_text += f"{first.day}日"
    return size, date_text, sign[0] if sign else ""


_FIXES: dict[str, FixDate] = {"en": english, "zh": chinese, "ja": japanese}


def fixed(language: str, text: str, begin: int, stop: int, named: Named) -> str:
    """The text with the date fixed; as it is in other languages."""
    fix = _FIXES.get(language)
    return fix(text, begin, stop, named) if fix else text
