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
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain, islice, pairwise
from typing import Any, NamedTuple

from schemas.time import HOUR
from streams.search.asking import Asked, ask, docs_with
from streams.search.query import KINDS, Query
from streams.search.store import STRETCH, scope
from streams.search.words import asks_for_now

POSTINGS = 20_000
CANDIDATES = 300
MOST_READ = 4 * CANDIDATES
"""Where filters leave few of the likeliest."""
CITING = 20
K1, B = 1.2, 0.5
NAMES, ORDER, NEARBY, EVIDENCE, THREAD = 0.3, 0.3, 0.6, 0.5, 0.2
RECENT, RECENT_NOW = 0.03, 0.5
STRONG = 0.75
"""Of the best hit's score: where the newest is asked for, it is the newest of those above."""
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
    terms: str
    evidence: str | None


ROW = f"""
SELECT doc.id, doc.kind, doc.key, s.name, u.name, doc.at, doc.until, doc.newest, doc.ends,
    doc.length, doc.text, doc.terms, doc.evidence
FROM doc JOIN passage ON passage.no = doc.id / {STRETCH}
LEFT JOIN name s ON s.no = passage.session LEFT JOIN name u ON u.no = doc.person
"""


class Ranker:
    """One question to one index."""

    def __init__(self, db: sqlite3.Connection, query: Query, meta: dict[str, Any]) -> None:
        self.db, self.query = db, query
        self.average: float = meta.get("length") or 1.0
        self.docs: int = meta.get("docs") or 0
        self.asked: list[Asked] = ask(db, query.text, self.docs)
        self.scope = self._scope()
        self.pairs = _pairs(self.asked)
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
        scored = {row.number: self._scored(row) for row in rows}
        self._lift_evidence(rows, scored)
        self._lift_threads(rows, scored)
        self._near(scored, passages)
        self._recent(rows, scored)
        return self._best(rows, scored)

    # --- candidates ---------------------------------------------------------------------------

    def _scope(self) -> str | None:
        """What the query is narrowed to, as FTS5 has it; None where there is no such thing.

        Where that is most of what there is, looking at what was found costs less.
        """
        parts = []
        for kind, name in (("session", self.query.session_id), ("user", self.query.user_id)):
            if name is not None:
                sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
                known = self.db.execute(sql, [kind, name]).fetchone()
                if known is None:
                    return None
                if 2 * docs_with(self.db, scope(kind[0], known[0])) < self.docs:
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

        def promise(both: tuple[int, int]) -> float:
            return self._sum(both[0]) + NEARBY * self._sum(both[1])

        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, mask in masks.items():
            alike[mask, passages[number // STRETCH]].append(number)
        best = (alike[both] for both in sorted(alike, key=promise, reverse=True))
        likely = list(islice(chain.from_iterable(best), MOST_READ))
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

    def _whole(self) -> float:
        return self._sum((1 << len(self.asked)) - 1)

    def _lift_evidence(self, rows: list[Row], scored: dict[int, dict[str, float]]) -> None:
        """What matches lifts the events it rests on, found or not."""
        citing = _strongest([row for row in rows if row.evidence], scored)
        for row in citing:
            for event in self._events((row.evidence or "").split("\n"), row):
                if event.number not in scored:
                    rows.append(event)
                    scored[event.number] = self._scored(event)
                parts = scored[event.number]
                lift = EVIDENCE * scored[row.number]["words"]
                parts["evidence"] = max(parts.get("evidence", 0.0), lift)

    def _lift_threads(self, rows: list[Row], scored: dict[int, dict[str, float]]) -> None:
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

    def _recent(self, rows: list[Row], scored: dict[int, dict[str, float]]) -> None:
        """A little for what is recent; where the newest is asked for, much for that of the best."""
        query = self.query
        asked = min(one for one in (query.now, query.as_of, query.until) if one is not None)
        whole = self._whole()
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


def _strongest(rows: list[Row], scored: dict[int, dict[str, float]]) -> list[Row]:
    return heapq.nlargest(CITING, rows, key=lambda row: scored[row.number]["words"])


def _pairs(asked: list[Asked]) -> list[tuple[float, str]]:
    """What two neighbours of the question add where they stand so in a document's terms."""
    placed = sorted(asked, key=lambda one: one.place)
    return [
        (ORDER * min(one.weight, other.weight), f" {one.term}  {other.term} ")
        for one, other in pairwise(placed)
        if other.place == one.place + 1
    ]
