"""What a text is about, ranked by what a person would go by.

The candidates are scored by parts that add up (docs/search.md):

words     BM25 of the document's own terms
names     more for those that are a name, a number or a date
order     more where two of the text's words follow each other here, too
nearby    what the document lacks and its passage has; for the best document of a passage
evidence  a state, preference or item that matches rests on this event
thread    an event of the same thread matches well
recent    the nearer to the time asked about, the more; much more where the text asks for now
"""

import heapq
import math
import sqlite3
from collections import defaultdict
from itertools import pairwise
from typing import Any, NamedTuple

from schemas.time import HOUR
from streams.search.candidates import NEARBY, Candidates, Row
from streams.search.query import Query
from streams.search.question import Asked, ask
from streams.search.store import STRETCH
from streams.search.words import asks_for_now

CITING = 20
K1, B = 1.2, 0.5
NAMES, ORDER, EVIDENCE, THREAD = 0.3, 0.3, 0.5, 0.2
RECENT, RECENT_NOW = 0.03, 0.5
STRONG = 0.75
"""Of the best hit's score: where the newest is asked for, it is the newest of those above."""
CLOSED = 0.8
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

    def __init__(self, db: sqlite3.Connection, query: Query, meta: dict[str, Any]) -> None:
        docs: int = meta.get("docs") or 0
        self.db, self.query = db, query
        self.average: float = meta.get("length") or 1.0
        self.asked: list[Asked] = ask(db, query.text, docs)
        self.candidates = Candidates(db, query, self.asked, docs)
        self.pairs = _pairs(self.asked)

    def found(self) -> list[Found]:
        """The best documents that the query allows, best first."""
        rows = self.candidates.found()
        scored = {row.number: self._scored(row) for row in rows}
        self._lift_evidence(rows, scored)
        self._lift_threads(rows, scored)
        self._near(rows, scored)
        self._recent(rows, scored)
        return self._best(rows, scored)

    def _scored(self, row: Row) -> dict[str, float]:
        """The parts of a document's score that it has by itself."""
        long = K1 * (1 - B + B * row.length / self.average)
        words = names = order = 0.0
        for one in self.asked:
            if count := row.terms.count(f" {one.term} "):
                part = one.weight * count * (K1 + 1) / (count + long)
                words += part
                names += NAMES * part if one.is_name else 0.0
        for weight, pair in self.pairs:
            if pair in row.terms:
                order += weight
        return {"words": words, "names": names, "order": order}

    def _lift_evidence(self, rows: list[Row], scored: Scores) -> None:
        """What matches lifts the events it rests on, found or not."""
        citing = _strongest([row for row in rows if row.evidence], scored)
        for row in citing:
            for event in self.candidates.events((row.evidence or "").split("\n"), row):
                if event.number not in scored:
                    rows.append(event)
                    scored[event.number] = self._scored(event)
                parts = scored[event.number]
                lift = EVIDENCE * scored[row.number]["words"]
                parts["evidence"] = max(parts.get("evidence", 0.0), lift)

    def _lift_threads(self, rows: list[Row], scored: Scores) -> None:
        """What matches lifts the others of its thread that have been found."""
        events = {row.key: row for row in rows if row.kind == "event"}
        listed = ", ".join("?" * len(events))
        sql = f"SELECT key, event FROM thread WHERE event IN ({listed})"
        members: dict[str, list[Row]] = defaultdict(list)
        for thread, event in self.db.execute(sql, list(events)):
            members[thread].append(events[event])
        for some in members.values():
            first = max(some, key=lambda row: scored[row.number]["words"])
            lift = THREAD * scored[first.number]["words"]
            for row in some:
                if row is not first:
                    parts = scored[row.number]
                    parts["thread"] = max(parts.get("thread", 0.0), lift)

    def _near(self, rows: list[Row], scored: Scores) -> None:
        """The best document of a session's passage stands for what all of it has."""
        best: dict[int, int] = {}
        for row in rows:
            at = row.number // STRETCH
            known = best.get(at)
            if row.session is not None and (
                known is None or scored[row.number]["words"] > scored[known]["words"]
            ):
                best[at] = row.number
        for at, number in best.items():
            passage = self.candidates.weight(self.candidates.passages[at])
            scored[number]["nearby"] = NEARBY * max(0.0, passage - scored[number]["words"])

    def _recent(self, rows: list[Row], scored: Scores) -> None:
        """A little for what is recent; where the newest is asked for, much for that of the best."""
        query = self.query
        asked = min(one for one in (query.now, query.as_of, query.until) if one is not None)
        whole = self.candidates.whole
        for row in rows:
            age = max(0, asked - row.at) / HOUR
            scored[row.number]["recent"] = RECENT * whole / (1 + math.log2(1 + age))
        if not rows or not asks_for_now(query.text):
            return
        enough = STRONG * max(sum(parts.values()) for parts in scored.values())
        strong = [row for row in rows if sum(scored[row.number].values()) >= enough]
        oldest, newest = min(row.at for row in strong), max(row.at for row in strong)
        for row in strong:
            share = (row.at - oldest) / max(1, newest - oldest)
            scored[row.number]["recent"] += RECENT_NOW * whole * share

    def _best(self, rows: list[Row], scored: Scores) -> list[Found]:
        whole = self.candidates.whole
        made = []
        for row in rows:
            if row.kind not in self.query.kinds:
                continue
            why = {name: round(part / whole, 6) for name, part in scored[row.number].items()}
            score = sum(why.values())
            if self.query.as_of is None and row.ends <= self.query.now:
                why["closed"] = round((CLOSED - 1) * score, 6)
                score *= CLOSED
            shown = {name: part for name, part in why.items() if part}
            made.append(Found(row.number, row, round(score, 6), shown))
        return sorted(made, key=lambda one: (-one.score, -one.number))


def _strongest(rows: list[Row], scored: Scores) -> list[Row]:
    return heapq.nlargest(CITING, rows, key=lambda row: scored[row.number]["words"])


def _pairs(asked: list[Asked]) -> list[tuple[float, str]]:
    """What two neighbours of the question add where they stand so in a document's terms."""
    placed = sorted(asked, key=lambda one: one.place)
    return [
        (ORDER * min(one.weight, other.weight), f" {one.term}  {other.term} ")
        for one, other in pairwise(placed)
        if other.place == one.place + 1
    ]
