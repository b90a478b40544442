"""The part of a text that a query is about, in one line."""

from collections.abc import Mapping

from streams.context.visible import seen
from streams.search.tokens import tokens

MOST = 20_000
"""Characters of a text in which the query's terms are looked for."""
STOPS = ".!?。！？"


def excerpt(text: str, length: int, weights: Mapping[str, float]) -> str:
    """At most `length` characters of a text: those with most of the terms, by weight; its beginning
    if it has none of them."""
    line = seen(text)
    if len(line) <= length or not weights:
        return short(line, length)
    places = [(one.start, one.end, one.term) for one in tokens(line[:MOST]) if one.term in weights]
    start, best = 0, 0.0
    for number, (first, _, _) in enumerate(places):
        window = set()
        for _, end, term in places[number:]:
            if end > first + length * 3 // 4:
                break
            window.add(term)
        weight = sum(weights[term] for term in window)
        if weight > best:
            start, best = first, weight
    if start <= length // 2:
        return short(line, length)
    return "…" + short(line[_begin(line, start, length // 4) :], length - 1)


def _begin(line: str, start: int, most: int) -> int:
    """The beginning of the sentence around a place, or of a word at most so far before it."""
    for at in range(start, max(1, start - most), -1):
        if line[at - 1] in STOPS or (line[at - 1] == " " and line[at - 2] in STOPS):
            return at
    return max(line.rfind(" ", start - most, start) + 1, start - most)


def short(text: str, length: int) -> str:
    """The beginning of a text in one line, at most so many characters, cut behind a word."""
    line = seen(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > length // 2 else cut) + "…"
