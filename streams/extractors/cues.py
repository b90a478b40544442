"""Where cues stand in a text, and which rules have them. Most turns hold none: one search."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from streams.extractors.patterns import either
from streams.extractors.rule import Rule

_PLAIN = re.compile(r"[^\\()\[\]?+*.<>]+")
WHOLE = "_"
Hits = list[tuple[int, tuple[int, ...]]]
"""Where a cue stands, and the numbers of the rules that have it, in the order of the text."""


class Cues:
    """The cues of the rules of one language. A cue that ends with `_` is whole words, and so is
    each of a list; another one may go on: "work" is in "working"."""

    def __init__(self, rules: tuple[Rule, ...], border: str, words: dict[str, str]) -> None:
        rules_of_cue: dict[str, set[int]] = {}
        for number, rule in enumerate(rules):
            for cue in _spelled(rule.cues, words):
                rules_of_cue.setdefault(cue if border else cue.removesuffix(WHOLE), set()).add(
                    number
                )
        # a search finds the longest one only, which so has the rules of those it begins with
        self._rules: dict[str, tuple[int, ...]] = {}
        for cue in rules_of_cue:
            text = cue.removesuffix(WHOLE)
            begins = (text[:end] + mark for end in range(1, len(text) + 1) for mark in ("", WHOLE))
            self._rules[text] = tuple(
                sorted(set().union(*(rules_of_cue.get(beginning, ()) for beginning in begins)))
            )
        self._search = re.compile(border + either(rules_of_cue).replace(re.escape(WHOLE), border))

    def hits(self, text: str) -> Hits:
        """All cues of a text; they may overlap."""
        return list(self._hits(text))

    def _hits(self, text: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        match = self._search.search(text)
        while match:
            yield match.start(), self._rules[match[0]]
            match = self._search.search(text, match.start() + 1)


def rules_in(hits: Hits, start: int, end: int) -> set[int]:
    """The numbers of the rules that have a cue between two places."""
    near = hits[bisect_left(hits, (start,)) : bisect_left(hits, (end,))]
    return {number for _, numbers in near for number in numbers}


def _spelled(cues: str, words: dict[str, str]) -> Iterator[str]:
    """The cues with `<words>` written out: of a list, each word that is no pattern."""
    for cue in cues.split("|"):
        if cue.startswith("<"):
            listed = words[cue.strip("<>")].split("|")
            yield from (word + WHOLE for word in listed if _PLAIN.fullmatch(word))
        else:
            yield cue
