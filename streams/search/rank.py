"""What a text is about: candidates by their rare terms, ranked by what a person would go by.

First the postings of the text's terms, rarest first, as many as `POSTINGS` allow: a word that
everybody says costs no more than one that nobody does. Then the few documents that have most of
it, alone or with their neighbours, are read and scored (docs/search.md):

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
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any, NamedTuple

from schemas.time import HOUR
from streams.search.asking import Asked, ask
from streams.search.query import KINDS, Query
from streams.search.store import STRETCH, scope
from streams.search.tokens import terms
from streams.search.words import asks_for_now

POSTINGS = 30_000
CANDIDATES = 400
MOST_CHARACTERS = 4000
"""Of a document that are looked at when it is ranked; its rare terms are known beyond them."""
CITING = 20
K1, B = 1.2, 0.5
NAMES, ORDER, NEARBY, EVIDENCE, THREAD = 0.3, 0.3, 0.6, 0.5, 0.2
RECENT, RECENT_NOW = 0.03, 0.5
CLOSED = 0.8
"""What remains of the score of something that has ceased to be true, where no time is asked."""


class Found(NamedTuple):
    """A document with what adds to its score."""

    number: int
    row: "Row"
    score: float
    why: dict[str, float]


class Row(NamedTuple):
    """A document as the index has it."""

    number: int
    kind: str
    key: str
    session: str | None
    user: str | None
    at: int
    until: int
    newest: int
    ends: int
    length: int
    text: str
    hidden: str | None
    evidence: str | None


ROW = f"""
SELECT doc.id, doc.kind, doc.key, s.name, u.name, doc.at, doc.until, doc.newest, doc.ends,
    doc.length, doc.text, doc.hidden, doc.evidence
FROM doc JOIN passage ON passage.no = doc.id / {STRETCH}
LEFT JOIN name s ON s.no = passage.session LEFT JOIN name u ON u.no = doc.person
"""


class Ranker:
    """One question to one index."""

    def __init__(self, db: sqlite3.Connection, query: Query, meta: dict[str, Any]) -> None:
        self.db, self.query = db, query
        self.average: float = meta.get("length") or 1.0
        self.asked: list[Asked] = ask(db, query.text, meta.get("docs") or 0)
        self.scope = self._scope()
        self._sums: dict[int, float] = {0: 0.0}

    def found(self) -> list[Found]:
        """The best documents that the query allows, best first."""
        if not self.asked or self.scope is None:
            return []
        masks = self._postings()
        passages: dict[int, int] = defaultdict(int)
        for number, mask in masks.items():
            passages[number // STRETCH] |= mask
        rows = self._rows(masks, passages)
        scored = {row.number: self._scored(row, masks.get(row.number, 0)) for row in rows}
        self._lift(rows, scored)
        self._near(scored, passages)
        return self._best(rows, scored)

    # --- candidates ---------------------------------------------------------------------------

    def _scope(self) -> str | None:
        """What the query is narrowed to, as FTS5 has it; None where there is no such thing."""
        parts = []
        for kind, name in (("session", self.query.session_id), ("user", self.query.user_id)):
            if name is not None:
                sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
                known = self.db.execute(sql, [kind, name]).fetchone()
                if known is None:
                    return None
                parts.append(f'"{scope(kind[0], known[0])}"')
        if "event" not in self.query.kinds:
            kinds = [f'"{scope("k", kind)}"' for kind in KINDS if kind in self.query.kinds]
            parts.append(f"({' OR '.join(kinds)})")
        return " AND ".join(parts)

    def _postings(self) -> dict[int, int]:
        """Document -> the terms it has, a bit each. Rarest first, within bounds."""
        found: dict[int, int] = {}
        left = POSTINGS
        low, high = self._span()
        for bit, one in enumerate(self.asked):
            if not self.scope and one.docs > left and found:
                continue
            match = f'"{one.term}"' + (f" AND {self.scope}" if self.scope else "")
            sql = (
                "SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ? "
                "ORDER BY rowid DESC LIMIT ?"
            )
            rows = self.db.execute(sql, [match, low, high, left]).fetchall()
            for (number,) in rows:
                found[number] = found.get(number, 0) | 1 << bit
            left -= len(rows)
            if left <= 0:
                break
        return found

    def _span(self) -> tuple[int, int]:
        """The first and last number that a document of the time asked about can have."""
        query = self.query
        if query.since is None and query.until is None and query.as_of is None:
            return 0, 1 << 62
        until = min(one for one in (query.until, query.as_of, 1 << 62) if one is not None)
        sql = "SELECT min(no), max(no) FROM passage WHERE earliest <= ? AND latest >= ?"
        since = -(1 << 62) if query.since is None else query.since
        first, last = self.db.execute(sql, [until, since]).fetchone()
        return (1, 0) if first is None else (first * STRETCH, (last + 1) * STRETCH - 1)

    def _rows(self, masks: dict[int, int], passages: dict[int, int]) -> list[Row]:
        """The likeliest documents that the query allows."""

        def promise(number: int) -> float:
            return self._sum(masks[number]) + NEARBY * self._sum(passages[number // STRETCH])

        likely = heapq.nlargest(4 * CANDIDATES, masks, key=promise)
        rows: list[Row] = []
        for start in range(0, len(likely), CANDIDATES):
            rows += self._read(likely[start : start + CANDIDATES])
            if len(rows) >= CANDIDATES // 2:
                break
        return rows

    def _read(self, numbers: Iterable[int]) -> list[Row]:
        listed = ", ".join(map(str, numbers))
        found = self.db.execute(f"{ROW} WHERE doc.id IN ({listed})")
        return [row for row in map(Row._make, found) if self._allowed(row)]

    def _allowed(self, row: Row) -> bool:
        query = self.query
        if query.user_id is not None and row.user != query.user_id:
            return False
        if query.session_id is not None and row.session != query.session_id:
            return False
        if query.since is not None and row.at < query.since:
            return False
        if query.until is not None and row.at > query.until:
            return False
        if query.as_of is None:
            return bool(row.newest)
        return row.at <= query.as_of < row.until

    # --- score --------------------------------------------------------------------------------

    def _sum(self, mask: int) -> float:
        if mask not in self._sums:
            self._sums[mask] = sum(
                one.weight for bit, one in enumerate(self.asked) if mask >> bit & 1
            )
        return self._sums[mask]

    def _scored(self, row: Row, mask: int) -> dict[str, float]:
        """The parts of a document's score that it has by itself."""
        found = terms(row.text[:MOST_CHARACTERS])
        if row.hidden:
            found += terms(row.hidden)
        times = Counter(found)
        long = K1 * (1 - B + B * row.length / self.average)
        words = names = 0.0
        for bit, one in enumerate(self.asked):
            count = times[one.term] or (mask >> bit & 1)
            if count:
                part = one.weight * count * (K1 + 1) / (count + long)
                words += part
                names += NAMES * part if one.is_name else 0.0
        follow = set(pairwise(found))
        order = sum(
            ORDER * min(one.weight, other.weight)
            for one, other in self._neighbours()
            if (one.term, other.term) in follow
        )
        return {"words": words, "names": names, "order": order, "recent": self._recent(row.at)}

    def _neighbours(self) -> Iterator[tuple[Asked, Asked]]:
        placed = sorted(self.asked, key=lambda one: one.place)
        return ((one, other) for one, other in pairwise(placed) if other.place == one.place + 1)

    def _recent(self, at: int) -> float:
        query = self.query
        asked = min(one for one in (query.now, query.as_of, query.until) if one is not None)
        share = RECENT_NOW if asks_for_now(query.text) else RECENT
        return share * self._whole() / (1 + math.log2(1 + max(0, asked - at) / HOUR))

    def _whole(self) -> float:
        return self._sum((1 << len(self.asked)) - 1)

    def _lift(self, rows: list[Row], scored: dict[int, dict[str, float]]) -> None:
        """What matches lifts what it rests on, and what belongs to the same thread."""
        citing = [row for row in rows if row.evidence]
        citing = heapq.nlargest(CITING, citing, key=lambda row: scored[row.number]["words"])
        for row in citing:
            for event in self._events((row.evidence or "").split("\n"), row):
                if event.number not in scored:
                    rows.append(event)
                    scored[event.number] = self._scored(event, 0)
                parts = scored[event.number]
                lift = EVIDENCE * scored[row.number]["words"]
                parts["evidence"] = max(parts.get("evidence", 0.0), lift)

    def _events(self, keys: list[str], citing: Row) -> list[Row]:
        marks = ", ".join("?" * len(keys))
        sql = f"{ROW} WHERE doc.key IN ({marks}) AND doc.kind = 'event'"
        found = [row for row in map(Row._make, self.db.execute(sql, keys)) if self._allowed(row)]
        if citing.session is None:
            return [row for row in found if row.user == citing.user]
        return [row for row in found if row.session == citing.session]

    def _near(self, scored: dict[int, dict[str, float]], passages: dict[int, int]) -> None:
        """The best document of a session's passage stands for what all of it has."""
        best: dict[int, int] = {}
        for number, parts in scored.items():
            at = number // STRETCH
            if at not in best or parts["words"] > scored[best[at]]["words"]:
                best[at] = number
        for at, number in best.items():
            if at in passages:
                parts = scored[number]
                parts["nearby"] = NEARBY * max(0.0, self._sum(passages[at]) - parts["words"])

    def _best(self, rows: list[Row], scored: dict[int, dict[str, float]]) -> list[Found]:
        whole = self._whole()
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
