"""Resolves date expressions in text relative to the time of the text (docs/dates.md).

Pure and deterministic. A text without any date word costs one regular-expression search.
"""

from typing import NamedTuple

from streams.dates import calendar, languages

MAX_TEXT = 4000
"""Characters; a longer text is pasted, and its "yesterday" is relative to another time."""


class Span(NamedTuple):
    """A date named in a text: [start, end) in microseconds since 1970-01-01 UTC, at the characters
    [begin, stop), by a `form` of `meaning`. `lasting`: a "since" expression; the period ends with
    the day of the text."""

    start: int
    end: int
    begin: int
    stop: int
    form: str
    lasting: bool


def resolve(text: str, at: int, language: str | None = None) -> list[Span]:
    """Returns the dates of a text written at `at` (microseconds), in order of position.

    `language` is en, zh, ja, de, fr or es; default: detected by the text's script and words.
    """
    if len(text) > MAX_TEXT:
        return []
    folded = languages.fold(text)
    words = languages.words_of(folded)
    if not languages.may_contain_date(folded, words):
        return []
    tables = languages.detect(folded, words) if language is None else languages.LANGUAGES[language]
    matches = sorted(
        tables.find(text, folded, words, calendar.day_of(at)), key=lambda match: match.begin
    )
    return [
        Span(*match.period.micros(), match.begin, match.stop, match.form, match.lasting)
        for match in matches
    ]
