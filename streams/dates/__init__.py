"""Dates in what people say, resolved from when they say it (docs/dates.md).

Pure: the same text at the same time gives the same answer. A text without any word of a date
costs one search.
"""

from typing import NamedTuple

from streams.dates import calendar, languages

MAX_TEXT = 4000
"""Characters; a longer text is pasted rather than said, and its "yesterday" is another."""


class Span(NamedTuple):
    """A date that a text names: from `start` to `end`, which no longer belongs to it, both in
    microseconds since 1970-01-01 UTC; the text's characters [begin, stop) say so in a `form`.
    `lasting`: it is "since" a date, and ends with the day on which it is said."""

    start: int
    end: int
    begin: int
    stop: int
    form: str
    lasting: bool


def resolve(text: str, at: int, language: str | None = None) -> list[Span]:
    """The dates in a text that was said at a time (microseconds), in their order.

    `language` is en, zh, ja, de, fr or es; without it, that of the text's script and words.
    """
    if len(text) > MAX_TEXT:
        return []
    said = languages.folded(text)
    words = languages.words_of(said)
    if not languages.may_hold_a_date(said, words):
        return []
    tables = languages.of(said, words) if language is None else languages.LANGUAGES[language]
    today = calendar.day_of(at)
    found = sorted(tables.find(text, said, words, today), key=lambda one: one.begin)
    return [Span(*one.period.micros(), one.begin, one.stop, one.form, one.lasting) for one in found]
