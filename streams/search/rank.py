"""What a text is about, ranked as a person would.

The candidates are scored by parts that add up (docs/search.md):

words     BM25 of the document's own terms; an answer's count less than what a user said
nearby    BM25 of its passage as one text, above its own; most for the best document of a session
near      what it lacks and the turns beside it have; for the others
reply     the turn before it asks, and what it asks matches
speaker   it was said by somebody whom the text names
date      it was said on a date that the text names, or names a date of then
meaning   how near the vectors of text and document are, compared with the other documents'
recent    the nearer to the time asked about, the more; much more where the text asks for now
closed    less for what has ceased to be true, unless the text asks about then
"""

import math
import sqlite3
from collections import defaultdict
from typing import Any, NamedTuple

from schemas.time import DAY, HOUR
from streams.search.about import SEASON, Span, of_event, overlapping, read
from streams.search.candidates import NEARBY, Candidates, Row, name_of
from streams.search.doc import ANSWER
from streams.search.own_score import OwnScore
from streams.search.query import Query
from streams.search.question import Asked, ask
from streams.search.store import STRETCH
from streams.search.vectors import Near
from streams.search.words import asks_for_now, asks_for_then

NEAR = {1: 0.4, 2: 0.2}
"""What a term of a turn so many places beside a document counts for it, which has it not."""
MOST_NEAR = 2.0
"""Of a document's own score: what the turns beside it may add at most."""
OTHERS = 0.3
"""Of `nearby`: what the documents have that are not the best of their session."""
REPLY = 0.6
"""Of the words of a question that somebody asks in a turn: what the next turn has of them."""
DATE = 0.15
YEAR = 365 * DAY
RECENT, RECENT_NOW = 0.03, 0.5
STRONG = 0.75
"""Of the best hit's score: where the newest is asked for, it is the newest of those above."""
MEANING = 0.075
"""What a standard deviation of the cosine adds, of all terms. On LoCoMo 26 and 43 it finds more
than 0.05 and 0.1 do."""
CLOSED = 0.5
"""What remains of the score of something that has ceased to be true, where no time is asked."""


Scores = dict[int, dict[str, float]]
"""Document -> the parts of its score."""


class Found(NamedTuple):
    """A document with what adds to its score."""

    number: int
    row: Row
    score: float
    why: dict[str, float]


class Ranker:
    """One question to one index."""

    def __init__(
        self, db: sqlite3.Connection, query: Query, meta: dict[str, Any], near: Near | None = None
    ) -> None:
        """`near`: how near documents are in meaning; None: nothing makes vectors."""
        docs: int = meta.get("docs") or 0
        self.query = query
        times = query.now, query.as_of, query.until
        self.at = min(time for time in times if time is not None)
        self.asked: list[Asked] = ask(db, query.text, docs)
        self.candidates = Candidates(db, query, self.asked, docs)
        self.near = near
        self.own = OwnScore(self.asked, meta.get("length") or 1.0)

    def found(self) -> list[Found]:
        """The best documents that the query allows, best first."""
        rows = self.candidates.found() if self.query.by != "meaning" else []
        self._add_near(rows)
        if self.query.by == "meaning":
            return self._best(rows, self._by_meaning(rows))
        self.own.note_speakers(rows)
        scored = {row.number: self._own_parts(row) for row in rows}
        self._lift_passages(rows, scored)
        self._lift_replies(rows, scored)
        self._lift_dated(rows, scored)
        self._lift_near(rows, scored)
        self._lift_recent(rows, scored)
        return self._best(rows, scored)

    def _own_parts(self, row: Row) -> dict[str, float]:
        return self.own.parts(row, self.candidates.may_have(row.number))

    def _add_near(self, rows: list[Row]) -> None:
        """What is near in meaning and has none of the words."""
        if self.near is not None:
            known = {row.number for row in rows}
            rows += [
                row for row in self.candidates.named(self.near.best) if row.number not in known
            ]

    def _by_meaning(self, rows: list[Row]) -> Scores:
        scored: Scores = {row.number: {} for row in rows}
        self._lift_near(rows, scored)
        return scored

    def _lift_near(self, rows: list[Row], scored: Scores) -> None:
        """What is nearer in meaning than most, and the reverse."""
        if self.near is None or not self.near.best:
            return
        whole = self.candidates.whole or 1.0
        for row in rows:
            score = self.near.scores.get(name_of(row))
            if score is not None:
                scored[row.number]["meaning"] = MEANING * score * whole

    def _lift_passages(self, rows: list[Row], scored: Scores) -> None:
        """The best document of a session stands for what all of its passage says; the others have
        little of that, and what the turns beside them say."""
        best: dict[str, int] = {}
        members: dict[int, list[int]] = defaultdict(list)
        spoken = [row for row in rows if row.session is not None]
        for row in spoken:
            members[row.number // STRETCH].append(row.number)
            session = row.session or ""
            known = best.setdefault(session, row.number)
            if _own(scored[row.number]) > _own(scored[known]):
                best[session] = row.number
        passages = {passage: self.own.together(some) for passage, some in members.items()}
        self.candidates.link(rows)
        for row in spoken:
            parts, is_best = scored[row.number], best[row.session or ""] == row.number
            lacking = passages[row.number // STRETCH] - parts["words"]
            parts["nearby"] = NEARBY * (1.0 if is_best else OTHERS) * max(0.0, lacking)
            if row.kind == "event" and not is_best:
                parts["near"] = min(self._beside(row.number), MOST_NEAR * parts["words"])

    def _lift_replies(self, rows: list[Row], scored: Scores) -> None:
        """What answers a question often has none of its words."""
        asking = {row.number for row in rows if _is_asked(row)}
        for row in rows:
            before = self.candidates.beyond(row.number, -1)
            if row.kind == "event" and before in asking:
                scored[row.number]["reply"] = REPLY * scored[before]["words"]

    def _beside(self, number: int) -> float:
        """What the turns beside one have that neither it nor a nearer one has."""
        masks, found = self.candidates.masks, 0.0
        known = masks.get(number, 0)
        for other, share in self.candidates.beside(number, NEAR):
            found += share * self.candidates.weight(masks.get(other, 0) & ~known)
            known |= masks.get(other, 0)
        return found

    def _lift_dated(self, rows: list[Row], scored: Scores) -> None:
        """What was said on a date that the text names, or names a date of then."""
        dates = of_event(self.query.text, self.at)
        if any(start > self.at for start, _ in dates):  # "in May" may be the last one as well
            dates += of_event(self.query.text, max(0, self.at - YEAR))
        dates = _short(dates)
        for row in rows if dates else ():
            times = [(row.at, row.at + 1), *_short(read(row.about))]
            if any(overlapping(times, one) for one in dates):
                scored[row.number]["date"] = DATE * self.candidates.whole

    def _lift_recent(self, rows: list[Row], scored: Scores) -> None:
        """A little for what is recent; where the newest is asked for, much for that of the best."""
        whole = self.candidates.whole
        for row in rows:
            age = max(0, self.at - row.at) / HOUR
            scored[row.number]["recent"] = RECENT * whole / (1 + math.log2(1 + age))
        if not rows or not asks_for_now(self.query.text):
            return
        enough = STRONG * max(sum(parts.values()) for parts in scored.values())
        strong = [row for row in rows if sum(scored[row.number].values()) >= enough]
        oldest, newest = min(row.at for row in strong), max(row.at for row in strong)
        for row in strong:
            share = (row.at - oldest) / max(1, newest - oldest)
            scored[row.number]["recent"] += RECENT_NOW * whole * share

    def _best(self, rows: list[Row], scored: Scores) -> list[Found]:
        whole = self.candidates.whole
        then = self.query.as_of is not None or asks_for_then(self.query.text)
        made = []
        for row in rows:
            if row.kind not in self.query.kinds:
                continue
            why = {
                name: round(part / (whole or 1.0), 6) for name, part in scored[row.number].items()
            }
            score = sum(why.values())
            if not then and row.ends <= self.query.now:
                why["closed"] = round((CLOSED - 1) * score, 6)
                score *= CLOSED
            shown = {name: part for name, part in why.items() if part}
            if (
                self.near is not None and not self.near.best
            ):  # an endpoint is set, and did not answer
                shown["meaning"] = 0.0
            made.append(Found(row.number, row, round(score, 6), shown))
        return sorted(made, key=lambda one: (-one.score, -one.number))


def _short(dates: list[Span]) -> list[Span]:
    """Dates without those that are longer than a season."""
    return [one for one in dates if one[1] - one[0] <= SEASON]


def _own(parts: dict[str, float]) -> float:
    """What it has by its words, and by who says them."""
    return parts["words"] + parts.get("speaker", 0.0)


def _is_asked(row: Row) -> bool:
    """Whether it asks what its own event does not answer."""
    asks = "?" in row.text or "？" in row.text
    return asks and row.kind == "event" and row.session is not None and ANSWER not in row.terms
