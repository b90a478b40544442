"""Which documents may be what a text is about: those that have its rarest terms."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from streams.search import about
from streams.search.doc import scope
from streams.search.opening import GIVEN, given
from streams.search.query import KINDS, Query
from streams.search.question import Asked, docs_with
from streams.search.store import STRETCH
from streams.search.vectors import Named

POSTINGS = 12_000
"""That are read for one question: what bounds its cost."""
FEW = 150
"""Documents of a user or session that are read one by one: where others have a word a hundred
thousand times, that costs less than its postings."""
CANDIDATES = 300
MOST_READ = 4 * CANDIDATES
"""Where filters leave few of the likeliest."""
NEARBY = 0.8
"""What a term of a passage counts for a document that has it not."""


class Row(NamedTuple):
    """A document as the index has it."""

    number: int
    kind: str
    key: str
    session: str | None
    user: str | None
    at: int
    since: int
    until: int
    newest: int
    ends: int
    length: int
    text: str
    terms: str
    evidence: str | None
    about: str | None


ROW = f"""
SELECT doc.id, doc.kind, doc.key, s.name, u.name, doc.at, doc.since, doc.until, doc.newest,
    doc.ends, doc.length, doc.text, doc.terms, doc.evidence,
    doc.about
FROM doc JOIN passage ON passage.no = doc.id / {STRETCH}
LEFT JOIN name s ON s.no = passage.session LEFT JOIN name u ON u.no = doc.person
"""


def name_of(row: Row) -> Named:
    """What a document is called among the vectors."""
    return Named(row.kind, row.session or "", row.user or "", row.key)


class Candidates:
    """Finds and reads what one question is ranked among. A set of terms is a mask: a bit each."""

    def __init__(self, db: sqlite3.Connection, query: Query, asked: list[Asked], docs: int) -> None:
        self.db, self.query, self.asked, self.docs = db, query, asked, docs
        self.masks: dict[int, int] = {}
        self.passages: dict[int, int] = defaultdict(int)
        self._preceding: dict[int, int] = {}
        self._following: dict[int, int] = {}
        self._weights: dict[int, float] = {0: 0.0}
        self._scoped = docs
        self._all = self._unread = (1 << len(asked)) - 1

    def found(self) -> list[Row]:
        """The likeliest documents that the query allows; `masks` and `passages` then have the terms
        of each document and passage."""
        scope = self._scope()
        if scope is None or not (self.asked or self.query.about):
            return []
        self.masks = self._postings(scope) if self.asked else self._newest(scope)
        for number, mask in self.masks.items():
            self.passages[number // STRETCH] |= mask
        return self._rows(self.masks)

    @property
    def whole(self) -> float:
        """What all terms weigh together."""
        return self.weight(self._all)

    def may_have(self, number: int) -> int:
        """The terms that a document can have: no others need to be looked for in its text."""
        return self.masks.get(number, self._all) | self._unread

    def weight(self, mask: int) -> float:
        """What the terms of a mask weigh together."""
        if mask not in self._weights:
            self._weights[mask] = sum(
                one.weight for bit, one in enumerate(self.asked) if mask >> bit & 1
            )
        return self._weights[mask]

    def link(self, rows: list[Row]) -> None:
        """Learns which passages of their sessions follow each other, for `beyond`."""
        passages = {row.number // STRETCH for row in rows}
        sql = (
            "SELECT session, no FROM passage WHERE person IS NULL AND session IN "
            f"(SELECT session FROM passage WHERE no IN {GIVEN}) ORDER BY session, no"
        )
        for (session, no), (other, following) in pairwise(self.db.execute(sql, given(passages))):
            if session == other:
                self._following[no], self._preceding[following] = following, no

    def beside(self, number: int, shares: dict[int, float]) -> Iterator[tuple[int, float]]:
        """The documents so many places before and after one in its session, with their shares."""
        for steps, share in shares.items():
            for other in (self.beyond(number, -steps), self.beyond(number, steps)):
                if other is not None:
                    yield other, share

    def beyond(self, number: int, steps: int) -> int | None:
        """The number that a document has which is so many places after one in its session."""
        passage, place = divmod(number, STRETCH)
        at = place + steps
        if 0 <= at < STRETCH:
            return number + steps
        other = (self._preceding if at < 0 else self._following).get(passage)
        return None if other is None else other * STRETCH + at % STRETCH

    def stretch_of(self, passage: int, most: int) -> Iterator[int]:
        """A passage, and as many before and behind it in its session, as far as `link` knows."""
        yield passage
        for side in (self._preceding, self._following):
            other = side.get(passage)
            for _ in range(most):
                if other is None:
                    break
                yield other
                other = side.get(other)

    def named(self, names: Collection[Named]) -> list[Row]:
        """Documents by their names, as far as the query allows them."""
        wanted, keys = set(names), given(name.key for name in names)
        found = map(Row._make, self.db.execute(f"{ROW} WHERE doc.key IN {GIVEN}", keys))
        return [
            row
            for row in found
            if name_of(row) in wanted and row.kind in self.query.kinds and self._allowed(row)
        ]

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
                term = scope(kind[0], known[0])
                theirs = docs_with(self.db, [term])[term]
                if 2 * theirs < self.docs:
                    parts.append(f'"{scope(kind[0], known[0])}"')
                    self._scoped = min(self._scoped, theirs)
        if "event" not in self.query.kinds:
            kinds = [f'"{scope("k", kind)}"' for kind in KINDS if kind in self.query.kinds]
            parts.append(f"({' OR '.join(kinds)})")
        if self.query.about is not None:
            dates = (f'"{scope("d", one)}"' for one in about.asked(self.query.about))
            parts.append(f"({' OR '.join(dates)})")
        return " AND ".join(parts)

    def _newest(self, scope: str) -> dict[int, int]:
        """Where nothing is asked, the last documents of the scope, with no terms."""
        sql = (
            "SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ? "
            "ORDER BY rowid DESC LIMIT ?"
        )
        return dict.fromkeys(
            (number for (number,) in self.db.execute(sql, [scope, *self._span(), POSTINGS])), 0
        )

    def _postings(self, scope: str) -> dict[int, int]:
        """Document -> the terms it has, a bit each. Rarest first, within bounds."""
        low, high = self._span()
        if scope and self._scoped <= FEW:
            return self._masks_of_few(scope, low, high)
        found: dict[int, int] = {}
        self._unread, left = 0, POSTINGS
        for bit, one in enumerate(self.asked):
            if left <= 0 or (not scope and one.docs > left and found):
                self._unread |= 1 << bit
                continue
            match = f'"{one.term}"' + (f" AND {scope}" if scope else "")
            sql = (
                "SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ? "
                "ORDER BY rowid DESC LIMIT ?"
            )
            rows = self.db.execute(sql, [match, low, high, left]).fetchall()
            for (number,) in rows:
                found[number] = found.get(number, 0) | 1 << bit
            left -= len(rows)
            if left <= 0:  # perhaps not all of them
                self._unread |= 1 << bit
        return found

    def _masks_of_few(self, scope: str, low: int, high: int) -> dict[int, int]:
        """What `_postings` says, out of the documents themselves."""
        sql = (
            "SELECT id, terms FROM doc WHERE id IN "
            "(SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ?)"
        )
        words = [(1 << bit, f" {one.term} ") for bit, one in enumerate(self.asked)]
        masks: dict[int, int] = {}
        self._unread = 0
        for number, terms in self.db.execute(sql, [scope, low, high]):
            mask = 0
            for bit, word in words:
                if word in terms:
                    mask |= bit
            if mask:
                masks[number] = mask
        return masks

    def _span(self) -> tuple[int, int]:
        """The first and last number that a document of the time asked about can have."""
        query = self.query
        if query.since is None and query.until is None and query.as_of is None:
            return 0, 1 << 62
        until = min(one for one in (query.until, query.as_of, 1 << 62) if one is not None)
        since = -(1 << 62) if query.since is None else query.since
        ends = []
        for order in ("", "DESC"):  # not min and max, which look at all passages
            sql = "SELECT no FROM passage WHERE earliest <= ? AND latest >= ? "
            found = self.db.execute(f"{sql} ORDER BY no {order} LIMIT 1", [until, since]).fetchone()
            if found is None:
                return 1, 0
            ends.append(int(found[0]))
        return ends[0] * STRETCH, (ends[1] + 1) * STRETCH - 1

    def _rows(self, masks: dict[int, int]) -> list[Row]:
        def promise(both: tuple[int, int]) -> float:
            return self.weight(both[0]) + NEARBY * self.weight(both[1])

        alike: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, mask in masks.items():
            alike[mask, self.passages[number // STRETCH]].append(number)
        best = (alike[both] for both in sorted(alike, key=promise, reverse=True))
        likely = list(islice(chain.from_iterable(best), MOST_READ))
        rows: list[Row] = []
        for start in range(0, len(likely), CANDIDATES):
            rows += self._read(likely[start : start + CANDIDATES])
            if len(rows) >= CANDIDATES // 2:
                break
        return rows

    def _read(self, numbers: Iterable[int]) -> list[Row]:
        found = self.db.execute(f"{ROW} WHERE doc.id IN {GIVEN}", given(numbers))
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
        if query.about is not None and not about.overlapping(about.read(row.about), query.about):
            return False
        if query.as_of is None:
            return bool(row.newest)
        return row.since <= query.as_of < row.until
