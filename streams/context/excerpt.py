"""The part of a text that a query is about, in one line."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from streams.context.visible import seen
from streams.search.tokens import CJK_RUN

MOST = 20_000
"""Characters of a text in which the query's terms are looked for."""
STOPS = ".!?。！？"


def excerpt(text: str, length: int, weights: Mapping[str, float]) -> str:
    """At most `length` characters of a text: those with most of the terms, by weight; its beginning
    if it has none of them."""
    line = seen(text)
    if len(line) <= length or not weights:
        return short(line, length)
    start = _densest(line[:MOST].lower(), length * 3 // 4, weights)
    if start <= length // 2:
        return short(line, length)
    return "…" + short(line[_begin(line, start, length // 4) :], length - 1)


def _densest(text: str, width: int, weights: Mapping[str, float]) -> int:
    """Where the part of a text begins that has most of the terms."""
    stems = _stems(tuple(weights))
    places = [(one.start(), stems.terms[one[0]]) for one in stems.pattern.finditer(text)]
    start, best = 0, 0.0
    for number, (first, _) in enumerate(places):
        window = set()
        for at, term in places[number:]:
            if at > first + width:
                break
            window.add(term)
        weight = sum(weights[term] for term in window)
        if weight > best:
            start, best = first, weight
    return start


class _Stems(NamedTuple):
    """A pattern of how the words of some terms begin, and the term of each beginning."""

    pattern: re.Pattern[str]
    terms: dict[str, str]


@lru_cache(maxsize=64)
def _stems(terms: tuple[str, ...]) -> _Stems:
    """A pattern is quicker than taking a text apart into terms. It misses irregular forms: then the
    excerpt is the beginning, or around other terms."""
    begins = {term[:-1] if term[-1] == "i" and len(term) > 3 else term: term for term in terms}
    longest = sorted(map(re.escape, begins), key=len, reverse=True)
    border = "" if any(map(CJK_RUN.match, terms)) else r"\b"
    return _Stems(re.compile(f"{border}(?:{'|'.join(longest)})"), begins)


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
