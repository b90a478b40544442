"""Scores a document by its own words (BM25): the parts `words` and `speaker`."""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache

from streams.search.candidates import Row
from streams.search.document import ANSWER
from streams.search.question import QueryTerm
from streams.search.tokens import terms

K1, B = 1.2, 0.5
"""BM25 constants. A term counts less in longer text; user words and answers are each compared with
the average length of user words."""
TOGETHER = 0.3
"""K1 of a passage as one text: talk repeats its words, so the number of distinct terms counts more
than their frequency."""
SPEAKER = 0.3
"""Share of `words` added if the query names the speaker."""
PREFIX = re.compile(r"([^\W\d_][\w .'’-]{0,39}):\s")
"""The speaker's name at the start of a text: `Ann: …`."""


class OwnScore:
    """Scores documents for one query; `average`: mean length of user words, in terms."""

    def __init__(self, query_terms: list[QueryTerm], average: float) -> None:
        self.query_terms, self.average = query_terms, average
        self._names = {term.term for term in query_terms if term.is_name and term.term.isalpha()}
        self._speakers: set[str] = set()
        self._terms = [f" {term.term} " for term in query_terms]
        self._frequencies: dict[int, list[tuple[int, float]]] = {}

    def note_speakers(self, rows: Iterable[Row]) -> None:
        """Finds the names in the query that are the speakers of some of these documents, but not of
        all."""
        if self._names:
            names = [_speaker(row) & self._names for row in rows if row.kind == "event"]
            self._speakers = set().union(*names).difference(set(self._names).intersection(*names))

    def parts(self, row: Row, mask: int) -> dict[str, float]:
        """The parts of a document's own score. `mask`: the terms that it may have."""
        self._frequencies[row.number] = frequencies = list(self._counts(row, mask))
        words = 0.0
        for place, count in frequencies:
            term = self.query_terms[place]
            if term.term not in self._speakers:
                words += term.weight * _saturated(count, K1)
        parts = {"words": words}
        if self._speakers and not self._speakers.isdisjoint(_speaker(row)):
            parts["speaker"] = SPEAKER * words
        return parts

    def together(self, numbers: Iterable[int]) -> float:
        """BM25 of several documents as one text, including speakers. Call `parts` of each first."""
        counts = [0.0] * len(self.query_terms)
        for number in numbers:
            for place, count in self._frequencies[number]:
                counts[place] += count
        return sum(
            term.weight * _saturated(count, TOGETHER)
            for term, count in zip(self.query_terms, counts, strict=True)
            if count
        )

    def _counts(self, row: Row, mask: int) -> Iterator[tuple[int, float]]:
        """Yields the query's terms in a document, with their frequency relative to its length."""
        text, _, answer = row.terms.partition(ANSWER)
        length = 1 - B + B * row.length / self.average
        answer_length = 1 - B + B * (answer.count("  ") + 1) / self.average
        for place, term in enumerate(self._terms):
            if not mask >> place & 1:
                continue
            count = text.count(term) / length if text else 0.0
            if answer:
                count += answer.count(term) / answer_length
            if count:
                yield place, count


def _saturated(count: float, k: float) -> float:
    """BM25's saturation of a term's frequency."""
    return count * (k + 1) / (count + k)


def _speaker(row: Row) -> frozenset[str]:
    prefix = PREFIX.match(row.text)
    return _name_terms(prefix[1] if prefix else None, row.user)


@lru_cache(maxsize=10_000)
def _name_terms(prefix: str | None, user: str | None) -> frozenset[str]:
    """The terms of a speaker's names."""
    return frozenset(terms(f"{prefix or ''} {user or ''}"))
