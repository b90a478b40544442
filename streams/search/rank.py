"""Ranks the candidate documents of a query.

The score of a document is a sum of parts (docs/search.md):

words     BM25 of the document's own terms; terms of an answer count less than of user words
nearby    BM25 of its passage as one text, beyond its own; most for the best document of a session
near      terms of adjacent turns that it lacks; for the other documents
reply     the turn before it is a question that matches
speaker   the query names its speaker
date      it was said on a date that the query names, or names a date in that period
meaning   similarity of the vectors of query and document, relative to the other documents
recent    more for newer documents; much more if the query is about the present
closed    less for memory that is no longer valid, unless the query is about the past
"""

import math
import sqlite3
from collections import defaultdict
from typing import Any, NamedTuple

from schemas.time import DAY, HOUR
from streams.search.candidates import NEARBY, Candidates, Row, name_of
from streams.search.dates_named import SEASON, Span, of_event, overlapping, parse_spans
from streams.search.document import ANSWER
from streams.search.query import Query
from streams.search.question import QueryTerm, query_terms
from streams.search.stopwords import asks_for_now, asks_for_then
from streams.search.store import STRETCH
from streams.search.vectors import Similarities
from streams.search.word_score import OwnScore

NEAR = {1: 0.4, 2: 0.2}
"""Distance of a turn -> weight of its terms for a document without them."""
MOST_NEAR = 2.0
"""Maximum of `near`, as a factor of the document's own score."""
OTHERS = 0.3
"""Share of `nearby` for documents that are not the best of their session."""
REPLY = 0.6
"""Share of a question's `words` for the next turn."""
DATE = 0.15
YEAR = 365 * DAY
RECENT, RECENT_NOW = 0.03, 0.5
STRONG = 0.75
"""Share of the best score above which recency counts in queries about the present."""
MEANING = 0.075
"""Contribution of one standard deviation of the cosine, as a share of the weight of all terms. On
LoCoMo 26 and 43, recall is higher than with 0.05 and 0.1."""
CLOSED = 0.5
"""Factor of the score of memory that is no longer valid, unless the query is about the past."""


Scores = dict[int, dict[str, float]]
"""Document -> the parts of its score."""


class RankedDoc(NamedTuple):
    """A document with its score and the parts of it."""

    number: int
    row: Row
    score: float
    why: dict[str, float]


class Ranker:
    """Ranks the documents of one index for one query."""

    def __init__(
        self,
        db: sqlite3.Connection,
        query: Query,
        meta: dict[str, Any],
        similarities: Similarities | None = None,
    ) -> None:
        """`meta`: metadata of the index. `similarities` are missing without an embedding model."""
        docs: int = meta.get("docs") or 0
        self.query = query
        times = query.now, query.as_of, query.until
        self.at = min(time for time in times if time is not None)
        self.query_terms: list[QueryTerm] = query_terms(db, query.text, docs)
        self.candidates = Candidates(db, query, self.query_terms, docs)
        self.similarities = similarities
        self.own = OwnScore(self.query_terms, meta.get("length") or 1.0)

    def ranked(self) -> list[RankedDoc]:
        """Returns the documents within the query's filters, best first."""
        rows = self.candidates.rows() if self.query.by != "meaning" else []
        self._add_similar(rows)
        if self.query.by == "meaning":
            scores: Scores = {row.number: {} for row in rows}
            self._score_meaning(rows, scores)
            return self._best(rows, scores)
        self.own.note_speakers(rows)
        scores = {
            row.number: self.own.parts(row, self.candidates.possible_terms(row.number))
            for row in rows
        }
        self._score_passages(rows, scores)
        self._score_replies(rows, scores)
        self._score_dates(rows, scores)
        self._score_meaning(rows, scores)
        self._score_recency(rows, scores)
        return self._best(rows, scores)

    def _add_similar(self, rows: list[Row]) -> None:
        """Adds the documents that are similar in meaning and have none of the words."""
        if self.similarities is not None:
            numbers = {row.number for row in rows}
            similar = self.candidates.by_name(self.similarities.best)
            rows += [row for row in similar if row.number not in numbers]

    def _score_meaning(self, rows: list[Row], scores: Scores) -> None:
        """Raises documents of more than average similarity, and lowers the others."""
        if self.similarities is None or not self.similarities.best:
            return
        total = self.candidates.total_weight or 1.0
        for row in rows:
            similarity = self.similarities.scores.get(name_of(row))
            if similarity is not None:
                scores[row.number]["meaning"] = MEANING * similarity * total

    def _score_passages(self, rows: list[Row], scores: Scores) -> None:
        """The best document of a session scores the terms of its passage; the others score a share
        of them, and the terms of adjacent turns."""
        best: dict[str, int] = {}
        members: dict[int, list[int]] = defaultdict(list)
        session_rows = [row for row in rows if row.session is not None]
        for row in session_rows:
            members[row.number // STRETCH].append(row.number)
            session = row.session or ""
            leader = best.setdefault(session, row.number)
            if _own(scores[row.number]) > _own(scores[leader]):
                best[session] = row.number
        passages = {passage: self.own.together(numbers) for passage, numbers in members.items()}
        self.candidates.link(rows)
        for row in session_rows:
            parts, is_best = scores[row.number], best[row.session or ""] == row.number
            surplus = passages[row.number // STRETCH] - parts["words"]
            parts["nearby"] = NEARBY * (1.0 if is_best else OTHERS) * max(0.0, surplus)
            if row.kind == "event" and not is_best:
                parts["near"] = min(self._adjacent_weight(row.number), MOST_NEAR * parts["words"])

    def _score_replies(self, rows: list[Row], scores: Scores) -> None:
        """The answer to a question often has none of its words."""
        questions = {row.number for row in rows if _is_open_question(row)}
        for row in rows:
            before = self.candidates.beyond(row.number, -1)
            if row.kind == "event" and before in questions:
                scores[row.number]["reply"] = REPLY * scores[before]["words"]

    def _adjacent_weight(self, number: int) -> float:
        """The weight of the terms of adjacent turns that are missing in the turn and in nearer
        ones."""
        masks, weight = self.candidates.masks, 0.0
        counted = masks.get(number, 0)
        for neighbour, share in self.candidates.beside(number, NEAR):
            weight += share * self.candidates.weight(masks.get(neighbour, 0) & ~counted)
            counted |= masks.get(neighbour, 0)
        return weight

    def _score_dates(self, rows: list[Row], scores: Scores) -> None:
        """Raises turns of a date that the query names, and documents that name a date in it."""
        dates = of_event(self.query.text, self.at)
        if any(start > self.at for start, _ in dates):  # "in May" may also be the last May
            dates += of_event(self.query.text, max(0, self.at - YEAR))
        dates = _short(dates)
        for row in rows if dates else ():
            times = [(row.at, row.at + 1), *_short(parse_spans(row.about))]
            if any(overlapping(times, date) for date in dates):
                scores[row.number]["date"] = DATE * self.candidates.total_weight

    def _score_recency(self, rows: list[Row], scores: Scores) -> None:
        """Raises newer documents; in a query about the present, the newest of the best far more."""
        total = self.candidates.total_weight
        for row in rows:
            age = max(0, self.at - row.at) / HOUR
            scores[row.number]["recent"] = RECENT * total / (1 + math.log2(1 + age))
        if not rows or not asks_for_now(self.query.text):
            return
        enough = STRONG * max(sum(parts.values()) for parts in scores.values())
        strong = [row for row in rows if sum(scores[row.number].values()) >= enough]
        oldest, newest = min(row.at for row in strong), max(row.at for row in strong)
        for row in strong:
            share = (row.at - oldest) / max(1, newest - oldest)
            scores[row.number]["recent"] += RECENT_NOW * total * share

    def _best(self, rows: list[Row], scores: Scores) -> list[RankedDoc]:
        total = self.candidates.total_weight or 1.0
        is_about_past = self.query.as_of is not None or asks_for_then(self.query.text)
        docs = []
        for row in rows:
            if row.kind not in self.query.kinds:
                continue
            parts = {name: round(part / total, 6) for name, part in scores[row.number].items()}
            score = sum(parts.values())
            if not is_about_past and row.ends <= self.query.now:
                parts["closed"] = round((CLOSED - 1) * score, 6)
                score *= CLOSED
            why = {name: part for name, part in parts.items() if part}
            if self.similarities is not None and not self.similarities.best:
                why["meaning"] = 0.0  # a model is configured, and had no result
            docs.append(RankedDoc(row.number, row, round(score, 6), why))
        return sorted(docs, key=lambda doc: (-doc.score, -doc.number))


def _short(dates: list[Span]) -> list[Span]:
    """The dates no longer than a season."""
    return [date for date in dates if date[1] - date[0] <= SEASON]


def _own(parts: dict[str, float]) -> float:
    """The score by words and speaker."""
    return parts["words"] + parts.get("speaker", 0.0)


def _is_open_question(row: Row) -> bool:
    """Whether it is a question without an answer in the same event."""
    is_question = "?" in row.text or "？" in row.text
    is_turn = row.kind == "event" and row.session is not None
    return is_question and is_turn and ANSWER not in row.terms
