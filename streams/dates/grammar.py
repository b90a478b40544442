"""Matches date expressions in a text by the tables of one language, most specific form first.

A form is (name, pattern). In a pattern, `<unit>`, `<weekday>`, … are replaced by a group of the
words in the table of that name, `<n>` by a number or number word, `<d>` by a day of a month,
`<year>` by a year. The function of the form's name in `meaning` resolves a match.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import date
from functools import cached_property
from itertools import chain
from typing import Any, NamedTuple

from streams.dates import calendar
from streams.dates.calendar import Period
from streams.dates.meaning import FORMS, Expression, Tense

NEVER = "(?!)"
_SENTENCE = re.compile(r"[.!?](?=\s|$)|[\n。！？…]+")
_CLAUSE = re.compile(r"[,;:](?=\s)|[，、；：]| – | — ")
_PLACE = re.compile(r"(?<!P)<(\w+)>")
_NUMBERED = re.compile(r"(?<=\d)\.(?=\s)")
FULL_YEAR = 100
MOST_TRIES = 200
"""Maximum expressions of a text that are resolved: more dates are data, not a message."""

BEFORE, AFTER = 50, 40
"""Characters around a date word that contain the rest of the date."""
FAR = 160
"""Characters before and after a date that contain its verb."""
DIGITS, YEAR = "digits", "year"
DATED = ("weekday", "season", "month", "unit", "day", "day2")
"""Tables of date words. A match of a form has a word of the first of these that the form names,
unless it consists of digits."""
SHIFTED = ("monthshift", "yearshift")
"""Further ones, for languages in which a date may be one word: `去年`."""
_OF_DIGITS = {DIGITS, YEAR}
_BY_TENSE = {"ahead", "weekend", "weekday", "day_of_month", "month", "season"}
WORD = re.compile(r"[^\W_]+")


class Form(NamedTuple):
    """One kind of date expression. `by_tense`: without a year ("in March") the tense decides
    between past and future."""

    name: str
    pattern: str
    by_tense: bool = False


ISO = Form(
    "month",
    r"(?<![\d./-])<year>(?P<mark>[-/.])(?P<month1>\d{1,2})(?P=mark)(?P<d1>\d{1,2})(?![\d/-])",
)
"""2026-03-14"""


class DateMatch(NamedTuple):
    """A date in a text: its period, position, form, and whether it is a "since" expression."""

    period: Period
    begin: int
    stop: int
    form: str
    lasting: bool


class Language:
    """The compiled tables of one language."""

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
            for phrase in tables.get(name, ()):
                for word in WORD.findall(phrase):
                    self._names.setdefault(word, set()).add(name)
                    self._names.setdefault(f"{word}s", set()).add(name)
        self._past, self._future = re.compile(past), re.compile(future)
        self._habit, self._yearly = re.compile(habit), re.compile(yearly)
        self._since, self._since_first = re.compile(f"(?:{since})$"), re.compile(since)
        self._since_after = re.compile(since_after)

    @cached_property
    def forms(self) -> list[tuple[Form, re.Pattern[str], str]]:
        """Each form with its pattern and the table of which it needs a word. Compiled lazily: most
        processes see no language or one."""
        return [
            (form, re.compile(_expand(form.pattern, self._groups, self.spaced)), _needed(form))
            for form in self._forms
        ]

    def find(
        self, text: str, folded: str, words: Sequence[str], today: date
    ) -> Iterator[DateMatch]:
        """Yields the dates of a text in any order. `folded`: its `fold`, of equal length."""
        tries, is_taken = 0, bytearray(len(folded))
        tables, windows = self._tables_and_windows(folded, words)
        for form, pattern, needed in self.forms:
            if needed not in tables:
                continue
            for match in chain.from_iterable(
                pattern.finditer(folded, *window) for window in windows
            ):
                begin, stop = match.span()
                if is_taken.find(1, begin, stop) >= 0:
                    continue
                if (tries := tries + 1) > MOST_TRIES:
                    return
                period = self._period(form, match, text, folded, today)
                if period is not None:
                    is_taken[begin:stop] = b"\1" * (stop - begin)
                    lasting = self._is_since(match, folded) and period.start <= today
                    if lasting:
                        period = Period(period.start, calendar.day(today).end)
                    yield DateMatch(period, begin, stop, form.name, lasting)

    def _tables_and_windows(
        self, folded: str, words: Sequence[str]
    ) -> tuple[set[str], list[tuple[int, int]]]:
        """The tables that have a word of the text, and the parts of the text near these words."""
        if not self.spaced:
            tables = {
                name
                for name, date_words in self._words.items()
                if any(word in folded for word in date_words)
            }
            return tables | {DIGITS}, [(0, len(folded))]
        tables = set()
        windows: list[tuple[int, int]] = []
        for word in set(words):
            names = _OF_DIGITS if word[0].isdecimal() else self._names.get(word)
            if names:
                tables |= names
                windows += _windows(folded, word)
        return tables, _merged(windows)

    def _period(
        self, form: Form, match: re.Match[str], text: str, folded: str, today: date
    ) -> Period | None:
        groups = match.groupdict()
        tense: Tense = ""
        if form.name in _BY_TENSE and not groups.get("year"):
            low = max(0, match.start() - FAR)
            near, size = folded[low : match.end() + FAR], match.end() - match.start()
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
        if form.name == "day_of_month" and self._precedes_noun(text, match.end()):
            return None
        try:
            return FORMS[form.name](self._expression(groups, today, tense))
        except (ValueError, OverflowError):  # before year 1 or after 9999
            return None

    def _precedes_noun(self, text: str, at: int) -> bool:
        """Whether a noun follows: "am 3. Tag"."""
        after = text[at:].lstrip()
        return self.ordinal_dots and after[:1].isupper()

    def _expression(self, groups: dict[str, str | None], today: date, tense: Tense) -> Expression:
        values: dict[str, Any] = {}
        for name, text in groups.items():
            if text is not None and name not in ("mark", "exact"):
                plain = name.rstrip("0123456789")
                table = self.tables.get(name) or self.tables.get(plain, {})
                values[plain] = table[text] if text in table else self.number(text)
        if values.get("year", FULL_YEAR) < FULL_YEAR:
            values["year"] += 2000
        for unit in ("month", "year"):
            if (shift := values.pop(f"{unit}shift", None)) is not None:
                values |= {"unit": unit, "shift": shift}
        exact = bool(groups.get("exact"))
        return Expression(today, tense, self.next_week, exact=exact, **values)

    def _is_since(self, match: re.Match[str], folded: str) -> bool:
        begin, stop = match.span()
        return bool(
            self._since.search(folded, max(0, begin - BEFORE), begin)
            or self._since_first.match(folded, begin)
            or self._since_after.match(folded, stop)
        )

    def _tense(self, text: str, at: int) -> Tense:
        """The tense of the verb nearest to a position."""
        past = min((abs(verb.start() - at) for verb in self._past.finditer(text)), default=None)
        future = min((abs(verb.start() - at) for verb in self._future.finditer(text)), default=None)
        if past is None and future is None:
            return ""
        if future is None or (past is not None and past <= future):
            return "past"
        return "future"


def _around(
    marks: re.Pattern[str], text: str, begin: int, stop: int, ordinal_dots: bool = False
) -> tuple[int, int]:
    """The part between two marks that contains [begin, stop)."""
    start, end = 0, len(text)
    for match in marks.finditer(text):
        if ordinal_dots and _NUMBERED.match(text, match.start()):
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
    """The table of which every match of a form has a word, otherwise `YEAR` or `DIGITS`."""
    if form.name.startswith("half_year"):
        return "unit"
    for name in (*DATED, *SHIFTED):
        if f"<{name}>" in form.pattern and rf"(?P<{name}>\d" not in form.pattern:
            return name
    return YEAR if "year" in _PLACE.findall(form.pattern) else DIGITS


def _windows(text: str, word: str) -> Iterator[tuple[int, int]]:
    """The surroundings of each occurrence of a word; the end is at a word boundary."""
    at = text.find(word)
    while at >= 0:
        end = min(len(text), at + len(word) + AFTER)
        while end < len(text) and text[end].isalnum():
            end += 1
        yield max(0, at - BEFORE), end
        at = text.find(word, at + 1)


def _merged(windows: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sorts windows and merges overlapping ones."""
    merged: list[tuple[int, int]] = []
    for low, high in sorted(windows):
        if merged and low <= merged[-1][1]:
            low, high = merged[-1][0], max(high, merged.pop()[1])
        merged.append((low, high))
    return merged


def _expand(pattern: str, words: dict[str, str], spaced: bool) -> str:
    expanded = _PLACE.sub(lambda match: words.get(match[1], match[0]), pattern)
    return rf"(?<![\w-])(?:{expanded})(?!\w)" if spaced else expanded
