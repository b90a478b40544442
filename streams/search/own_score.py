"""What a document scores by its own words: the parts `words` and `speaker`."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from streams.search.candidates import Row
from streams.search.doc import ANSWER
from streams.search.question import Asked
from streams.search.tokens import terms

K1, B = 1.2, 0.5
"""A term of what a user said or of an answer counts the less, the longer that is; both are compared
with the average length of what users say."""
TOGETHER = 0.3
"""K1 of a passage as one text: talk repeats its words, so how many terms are there counts more than
how often."""
SPEAKER = 0.3
"""Of `words`: what it adds that somebody speaks whom the question names."""
PREFIX = re.compile(r"([^\W\d_][\w .'’-]{0,39}):\s")
"""How a text says who speaks: `Ann: …`."""


class OwnScore:
    """Scores documents for one question; `average` is the length of what a user says, in terms."""

    def __init__(self, asked: list[Asked], average: float) -> None:
        self.asked, self.average = asked, average
        self._names = {one.term for one in asked if one.is_name and one.term.isalpha()}
        self._speakers: set[str] = set()
        self._terms = [f" {one.term} " for one in asked]
        self._often: dict[int, list[tuple[int, float]]] = {}

    def note_speakers(self, rows: Iterable[Row]) -> None:
        """Learns which names of the question are of those who speak in some of these documents,
        but not in all."""
        if self._names:
            spoken = [_speaker(row) & self._names for row in rows if row.kind == "event"]
            self._speakers = set().union(*spoken).difference(set(self._names).intersection(*spoken))

    def parts(self, row: Row, mask: int) -> dict[str, float]:
        """The parts of a document's score that it has by itself; it has no terms but those of a
        mask."""
        self._often[row.number] = often = list(self._counts(row, mask))
        words = 0.0
        for place, count in often:
            one = self.asked[place]
            if one.term not in self._speakers:
                words += one.weight * _saturated(count, K1)
        parts = {"words": words}
        if self._speakers and not self._speakers.isdisjoint(_speaker(row)):
            parts["speaker"] = SPEAKER * words
        return parts

    def together(self, numbers: Iterable[int]) -> float:
        """BM25 of documents whose parts are known, as if they were one; who speaks counts, too."""
        counts = [0.0] * len(self.asked)
        for number in numbers:
            for place, count in self._often[number]:
                counts[place] += count
        return sum(
            one.weight * _saturated(count, TOGETHER)
            for one, count in zip(self.asked, counts, strict=True)
            if count
        )

    def _counts(self, row: Row, mask: int) -> Iterator[tuple[int, float]]:
        """Which of the question's terms a document has, and how often for its length."""
        said, _, answered = row.terms.partition(ANSWER)
        long = 1 - B + B * row.length / self.average
        long_answer = 1 - B + B * (answered.count("  ") + 1) / self.average
        for place, term in enumerate(self._terms):
            if not mask >> place & 1:
                continue
            count = said.count(term) / long if said else 0.0
            if answered:
                count += answered.count(term) / long_answer
            if count:
                yield place, count


def _saturated(count: float, k: float) -> float:
    """What a term counts that stands somewhere so often."""
    return count * (k + 1) / (count + k)


def _speaker(row: Row) -> frozenset[str]:
    prefix = PREFIX.match(row.text)
    return _named(prefix[1] if prefix else None, row.user)


@lru_cache(maxsize=10_000)
def _named(prefix: str | None, user: str | None) -> frozenset[str]:
    """The terms of the names of who speaks."""
    return frozenset(terms(f"{prefix or ''} {user or ''}"))
