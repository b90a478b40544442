"""Where cues stand in a text, and which rules have them. Most turns hold none: one search."""

import re
from bisect import bisect_left
from collections.abc import Iterator

from streams.extractors.patterns import either
from streams.extractors.rule import Rule

_PLAIN = re.compile(r"[^\\()\[\]?+*.<>]+")
Hits = list[tuple[int, tuple[int, ...]]]
"""Where a cue stands, and the numbers of the rules that have it, in the order of the text."""


class Cues:
    """The cues of the rules of one language."""

    def __init__(self, rules: tuple[Rule, ...], border: str, words: dict[str, str]) -> None:
        self._rules = _rules_by_cue(rules, words)
        self._search = re.compile(border + either(self._rules))

    def hits(self, said: str) -> Hits:
        """All cues of a text; they may overlap."""
        return list(self._hits(said))

    def _hits(self, said: str) -> Iterator[tuple[int, tuple[int, ...]]]:
        match = self._search.search(said)
        while match:
            yield match.start(), self._rules[match[0]]
            match = self._search.search(said, match.start() + 1)


def rules_in(hits: Hits, start: int, end: int) -> set[int]:
    """The numbers of the rules that have a cue between two places."""
    near = hits[bisect_left(hits, (start,)) : bisect_left(hits, (end,))]
    return {number for _, numbers in near for number in numbers}


def _rules_by_cue(rules: tuple[Rule, ...], words: dict[str, str]) -> dict[str, tuple[int, ...]]:
    """The numbers of the rules of each cue, with those of the cues it begins with: a search finds
    the longest one only."""
    own: dict[str, list[int]] = {}
    for number, rule in enumerate(rules):
        for cue in _spelled(rule.cues, words):
            own.setdefault(cue, []).append(number)
    return {
        cue: tuple(sorted({n for end in range(len(cue)) for n in own.get(cue[: end + 1], ())}))
        for cue in own
    }


def _spelled(cues: str, words: dict[str, str]) -> Iterator[str]:
    """The cues with `<words>` written out: of a list, each word that is no pattern."""
    for cue in cues.split("|"):
        if cue.startswith("<"):
            yield from filter(_PLAIN.fullmatch, words[cue.strip("<>")].split("|"))
        else:
            yield cue
