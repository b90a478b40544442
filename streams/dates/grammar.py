"""How dates are found in a text: tables of one language, tried in order, most exact first.

A form is (name, pattern). In a pattern `<unit>`, `<weekday>`, … stand for a group of the words that
the table of that name has, `<n>` for a number or number word, `<d>` for a day of a month, `<year>`
for a year. What a form means is a function of that name in `meaning`.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from streams.dates import calendar
from streams.dates.calendar import Period
from streams.dates.meaning import FORMS, Said, Tense

NEVER = "(?!)"
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[\n。！？…]+")
_CLAUSE = re.compile(r"[,;:](?=\s)|[，、；：]| – | — ")
_PLACE = re.compile(r"(?<!P)<(\w+)>")
_NUMBERED = re.compile(r"(?<=\d)\.(?=\s)")
FULL_YEAR = 100


BEFORE, AFTER = 50, 40
"""Characters around a word of a date in which the rest of it stands."""
FAR = 160
"""Characters before and after a date in which its verb stands."""
DIGITS, YEAR = "digits", "year"
DATED = ("weekday", "season", "month", "unit", "day", "day2")
"""The tables of which a date has a word, unless it is of digits: it has one of the first of those
that its form names."""
SHIFTED = ("monthshift", "yearshift")
"""The same, for languages in which it may be one word: `去年`."""
_OF_DIGITS = {DIGITS, YEAR}
_BY_TENSE = {"ahead", "weekend", "weekday", "day_of_month", "month", "season"}
WORD = re.compile(r"[^\W_]+")


class Form(NamedTuple):
    """One way to say a date. `by_tense`: without a year, "in March" may be before or after."""

    name: str
    pattern: str
    by_tense: bool = False


ISO = Form(
    "month",
    r"(?<![\d./-])<year>(?P<mark>[-/.])(?P<month1>\d{1,2})(?P=mark)(?P<d1>\d{1,2})(?![\d/-])",
)
"""2026-03-14"""


class Found(NamedTuple):
    """A date in a text: its period, its place, its form's name, and whether it is since then."""

    period: Period
    begin: int
    stop: int
    form: str
    lasting: bool


class Language:
    """The tables of one language, compiled. `cues` are texts of which every date has one."""

    def __init__(
        self,
        forms: tuple[Form, ...],
        *,
        tables: Mapping[str, Mapping[str, Any]],
        past: str,
        future: str,
        habit: str = NEVER,
        yearly: str = NEVER,
        since: str = NEVER,
        since_after: str = NEVER,
        number: Callable[[str], int | None] = int,
        digits: str = r"\d{1,3}",
        day_digits: str = r"\d{1,2}",
        spaced: bool = True,
        next_week: bool = False,
        ordinal_dots: bool = False,
        months_have_numbers: bool = False,
    ) -> None:
        self.tables = tables
        self.spaced = spaced
        self.number = number
        self.next_week = next_week
        self.ordinal_dots = ordinal_dots
        words = {name: f"(?P<{name}>{_either(table)})" for name, table in tables.items()}
        counted = "|".join([digits, *sorted(tables["n"], key=len, reverse=True)])
        words |= {"n": f"(?P<n>{counted})", "d": f"(?P<d>{day_digits})"}
        words["year"] = r"(?P<year>(?:19|20)\d\d)"
        if months_have_numbers:
            words["month"] = f"(?P<month>{day_digits})"
        self._forms, self._groups = (ISO, *forms), words
        self._words = {name: tuple(tables.get(name, ())) for name in (*DATED, *SHIFTED)}
        self._words[YEAR] = ("19", "20")
        if months_have_numbers:
            self._words["month"] = ("月",)
        self._names: dict[str, set[str]] = {}
        for name in DATED:
            for words_of in tables.get(name, ()):
                for word in WORD.findall(words_of):
                    self._names.setdefault(word, set()).add(name)
                    self._names.setdefault(f"{word}s", set()).add(name)
        self._past, self._future = re.compile(past), re.compile(future)
        self._habit, self._yearly = re.compile(habit), re.compile(yearly)
        self._since, self._since_first = re.compile(f"(?:{since})$"), re.compile(since)
        self._since_after = re.compile(since_after)

    @cached_property
    def forms(self) -> list[tuple[Form, re.Pattern[str], str]]:
        """Each form with its pattern and the table it needs a word of. Compiled for the first text
        that may hold a date: most processes see none, or one language."""
        return [
            (form, re.compile(_spelled(form.pattern, self._groups, self.spaced)), _needed(form))
            for form in self._forms
        ]

    def find(self, text: str, said: str, words: Sequence[str], today: date) -> Iterator[Found]:
        """The dates of a text, `said` being its folded form of equal length; in no order."""
        taken: list[tuple[int, int]] = []
        there, windows = self._where(said, words)
        for form, pattern, needed in self.forms:
            if needed not in there:
                continue
            for match in chain.from_iterable(pattern.finditer(said, *one) for one in windows):
                begin, stop = match.span()
                if any(begin < other and one < stop for one, other in taken):
                    continue
                period = self._period(form, match, text, said, today)
                if period is not None:
                    taken.append((begin, stop))
                    lasting = self._is_since(match, said) and period.start <= today
                    if lasting:
                        period = Period(period.start, calendar.day(today).end)
                    yield Found(period, begin, stop, form.name, lasting)

    def _where(self, said: str, words: Sequence[str]) -> tuple[set[str], list[tuple[int, int]]]:
        """Which tables have a word of the text, and the parts of it that lie near such a word."""
        if not self.spaced:
            known = {name for name, some in self._words.items() if _any_in(some, said)}
            return known | {DIGITS}, [(0, len(said))]
        there: set[str] = set()
        windows: list[tuple[int, int]] = []
        for word in set(words):
            names = _OF_DIGITS if word[0].isdecimal() else self._names.get(word)
            if names:
                there |= names
                windows += _places(said, word)
        return there, _merged(windows)

    def _period(
        self, form: Form, match: re.Match[str], text: str, said: str, today: date
    ) -> Period | None:
        given = match.groupdict()
        tense: Tense = ""
        if form.name in _BY_TENSE and not given.get("year"):
            low = max(0, match.start() - FAR)
            near, size = said[low : match.end() + FAR], match.end() - match.start()
            at = match.start() - low
            begin, stop = _around(_SENTENCE, near, at, at + size, self.ordinal_dots)
            sentence, at = near[begin:stop], at - begin
            start, end = _around(_CLAUSE, sentence, at, at + size)
            clause = sentence[start:end]
            if form.by_tense and self._habit.search(clause):
                return None
            if form.name == "month" and self._yearly.search(sentence):
                return None
            tense = self._tense(clause, at - start) or self._tense(sentence, at)
        if form.name == "day_of_month" and self._names_a_thing(text, match.end()):
            return None
        try:
            return FORMS[form.name](self._said(given, today, tense))
        except (ValueError, OverflowError):  # before year 1 or after 9999
            return None

    def _names_a_thing(self, text: str, at: int) -> bool:
        """Whether a noun follows: "am 3. Tag"."""
        after = text[at:].lstrip()
        return self.ordinal_dots and after[:1].isupper()

    def _said(self, given: dict[str, str | None], today: date, tense: Tense) -> Said:
        values: dict[str, Any] = {}
        for name, text in given.items():
            if text is not None and name not in ("mark", "exact"):
                plain = name.rstrip("0123456789")
                table = self.tables.get(name) or self.tables.get(plain, {})
                values[plain] = table[text] if text in table else self.number(text)
        if values.get("year", FULL_YEAR) < FULL_YEAR:
            values["year"] += 2000
        for unit in ("month", "year"):
            if (shift := values.pop(f"{unit}shift", None)) is not None:
                values |= {"unit": unit, "shift": shift}
        return Said(today, tense, self.next_week, exact=bool(given.get("exact")), **values)

    def _is_since(self, match: re.Match[str], said: str) -> bool:
        begin, stop = match.span()
        return bool(
            self._since.search(said, max(0, begin - BEFORE), begin)
            or self._since_first.match(said, begin)
            or self._since_after.match(said, stop)
        )

    def _tense(self, said: str, at: int) -> Tense:
        """Of the verb that stands nearest to a place."""
        past = min((abs(one.start() - at) for one in self._past.finditer(said)), default=None)
        ahead = min((abs(one.start() - at) for one in self._future.finditer(said)), default=None)
        if past is None and ahead is None:
            return ""
        if ahead is None or (past is not None and past <= ahead):
            return "past"
        return "future"


def _around(
    marks: re.Pattern[str], said: str, begin: int, stop: int, ordinal_dots: bool = False
) -> tuple[int, int]:
    """The part between two marks in which a place lies."""
    start, end = 0, len(said)
    for match in marks.finditer(said):
        if ordinal_dots and _NUMBERED.match(said, match.start()):
            continue  # "am 3. Mai"
        if match.end() <= begin:
            start = match.end()
        elif match.start() >= stop:
            end = match.end()
            break
    return start, end


def _either(table: Mapping[str, Any]) -> str:
    return "|".join(sorted(table, key=len, reverse=True))


def _needed(form: Form) -> str:
    """The table of which every match of a form has a word; or `YEAR` or `DIGITS`."""
    if form.name.startswith("half_year"):
        return "unit"
    for name in (*DATED, *SHIFTED):
        if f"<{name}>" in form.pattern and rf"(?P<{name}>\d" not in form.pattern:
            return name
    return YEAR if "year" in _PLACE.findall(form.pattern) else DIGITS


def _places(said: str, word: str) -> Iterator[tuple[int, int]]:
    """What stands around a word, wherever it stands; no word is cut at the end."""
    at = said.find(word)
    while at >= 0:
        end = min(len(said), at + len(word) + AFTER)
        while end < len(said) and said[end].isalnum():
            end += 1
        yield max(0, at - BEFORE), end
        at = said.find(word, at + 1)


def _merged(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """The same without overlaps, in order."""
    made: list[tuple[int, int]] = []
    for low, high in sorted(windows):
        if made and low <= made[-1][1]:
            low, high = made[-1][0], max(high, made.pop()[1])
        made.append((low, high))
    return made


def _any_in(words: tuple[str, ...], said: str) -> bool:
    return any(word in said for word in words)


def _spelled(pattern: str, words: dict[str, str], spaced: bool) -> str:
    made = _PLACE.sub(lambda match: words.get(match[1], match[0]), pattern)
    return rf"(?<![\w-])(?:{made})(?!\w)" if spaced else made
