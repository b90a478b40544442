"""Extracts the most relevant part of a text, in one line."""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import NamedTuple

from streams.context.visible import sanitize
from streams.search.tokens import CJK_RUN

MOST = 20_000
"""Characters of a text that are searched for the query's terms."""
STOPS = ".!?。！？"


def excerpt(text: str, length: int, weights: Mapping[str, float]) -> str:
    """Returns at most `length` characters of a text: the part with most of the terms, by weight, or
    the start if it has none of them."""
    line = sanitize(text)
    if len(line) <= length or not weights:
        return shorten(line, length)
    start = _densest(line[:MOST].lower(), length * 3 // 4, weights)
    if start <= length // 2:
        return shorten(line, length)
    return "…" + shorten(line[_sentence_start(line, start, length // 4) :], length - 1)


def _densest(text: str, width: int, weights: Mapping[str, float]) -> int:
    """The start of the part of a text with most of the terms."""
    stems = _stems(tuple(weights))
    places = [(match.start(), stems.terms[match[0]]) for match in stems.pattern.finditer(text)]
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
    """A pattern of word prefixes, and the term of each prefix."""

    pattern: re.Pattern[str]
    terms: dict[str, str]


@lru_cache(maxsize=64)
def _stems(terms: tuple[str, ...]) -> _Stems:
    """A pattern is faster than tokenizing the text. It misses irregular forms: then the excerpt is
    the start of the text, or around other terms."""
    prefixes = {term[:-1] if term[-1] == "i" and len(term) > 3 else term: term for term in terms}
    longest = sorted(map(re.escape, prefixes), key=len, reverse=True)
    border = "" if any(map(CJK_RUN.match, terms)) else r"\b"
    return _Stems(re.compile(f"{border}(?:{'|'.join(longest)})"), prefixes)


def _sentence_start(line: str, start: int, most: int) -> int:
    """The start of the sentence around a position, or of a word at most `most` characters before
    it."""
    for at in range(start, max(1, start - most), -1):
        if line[at - 1] in STOPS or (line[at - 1] == " " and line[at - 2] in STOPS):
            return at
    return max(line.rfind(" ", start - most, start) + 1, start - most)


def shorten(text: str, length: int) -> str:
    """Returns the start of a text in one line, at most `length` characters, cut after a word."""
    line = sanitize(text)
    if len(line) <= length:
        return line
    cut = line[: length - 1]
    head, space, _ = cut.rpartition(" ")
    return (head if space and len(head) > length // 2 else cut) + "…"
