"""Selects candidate documents: those with the rarest terms of a query."""

import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator
from itertools import chain, islice, pairwise
from typing import NamedTuple

from streams.search import dates_named
from streams.search.document import scope
from streams.search.open_index import IN_VALUES, values_parameter
from streams.search.query import KINDS, Query
from streams.search.question import QueryTerm, docs_with
from streams.search.store import STRETCH
from streams.search.vectors import DocName

POSTINGS = 12_000
"""Maximum postings read per query: bounds its cost."""
FEW = 150
"""Maximum documents of a user or session that are scanned: cheaper than the postings of a word that
other users have a hundred thousand times."""
CANDIDATES = 300
MOST_READ = 4 * CANDIDATES
"""Maximum documents read where filters reject most."""
NEARBY = 0.8
"""Weight of a passage's term for a document without it."""


class Row(NamedTuple):
    """A document of the index."""

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


def name_of(row: Row) -> DocName:
    """The name of a document in the vector store."""
    return DocName(row.kind, row.session or "", row.user or "", row.key)


class Candidates:
    """Finds and reads the candidate documents of one query. A set of terms is a bit mask."""

    def __init__(
        self, db: sqlite3.Connection, query: Query, query_terms: list[QueryTerm], docs: int
    ) -> None:
        self.db, self.query, self.query_terms, self.docs = db, query, query_terms, docs
        self.masks: dict[int, int] = {}
        self.passages: dict[int, int] = defaultdict(int)
        self._preceding: dict[int, int] = {}
        self._following: dict[int, int] = {}
        self._weights: dict[int, float] = {0: 0.0}
        self._scoped = docs
        self._all = self._unread = (1 << len(query_terms)) - 1

    def rows(self) -> list[Row]:
        """Returns the most promising documents within the query's filters; sets `masks` and
        `passages` to the terms of each document and passage."""
        scope = self._scope()
        if scope is None or not (self.query_terms or self.query.about):
            return []
        self.masks = self._postings(scope) if self.query_terms else self._newest(scope)
        for number, mask in self.masks.items():
            self.passages[number // STRETCH] |= mask
        return self._likely_rows(self.masks)

    @property
    def total_weight(self) -> float:
        """The sum of the weights of all terms."""
        return self.weight(self._all)

    def possible_terms(self, number: int) -> int:
        """The mask of the terms that a document may have: only these are searched in its text."""
        return self.masks.get(number, self._all) | self._unread

    def weight(self, mask: int) -> float:
        """The sum of the weights of a mask's terms."""
        if mask not in self._weights:
            self._weights[mask] = sum(
                term.weight for bit, term in enumerate(self.query_terms) if mask >> bit & 1
            )
        return self._weights[mask]

    def link(self, rows: list[Row]) -> None:
        """Loads the order of the passages of these rows' sessions, for `beyond`."""
        passages = {row.number // STRETCH for row in rows}
        sql = (
            "SELECT session, no FROM passage WHERE person IS NULL AND session IN "
            f"(SELECT session FROM passage WHERE no IN {IN_VALUES}) ORDER BY session, no"
        )
        ordered = self.db.execute(sql, values_parameter(passages))
        for (session, no), (next_session, following) in pairwise(ordered):
            if session == next_session:
                self._following[no], self._preceding[following] = following, no

    def beside(self, number: int, shares: dict[int, float]) -> Iterator[tuple[int, float]]:
        """Yields the documents at distances before and after one in its session, with their shares.
        `shares`: distance -> share."""
        for steps, share in shares.items():
            for neighbour in (self.beyond(number, -steps), self.beyond(number, steps)):
                if neighbour is not None:
                    yield neighbour, share

    def beyond(self, number: int, steps: int) -> int | None:
        """The number of the document `steps` places after one in its session, if it exists."""
        passage, place = divmod(number, STRETCH)
        at = place + steps
        if 0 <= at < STRETCH:
            return number + steps
        adjacent = (self._preceding if at < 0 else self._following).get(passage)
        return None if adjacent is None else adjacent * STRETCH + at % STRETCH

    def passages_around(self, passage: int, most: int) -> Iterator[int]:
        """Yields a passage, and up to `most` before and after it in its session, within the data of
        `link`."""
        yield passage
        for side in (self._preceding, self._following):
            adjacent = side.get(passage)
            for _ in range(most):
                if adjacent is None:
                    break
                yield adjacent
                adjacent = side.get(adjacent)

    def by_name(self, names: Collection[DocName]) -> list[Row]:
        """Reads documents by name, within the query's filters."""
        name_set, keys = set(names), values_parameter(name.key for name in names)
        rows = map(Row._make, self.db.execute(f"{ROW} WHERE doc.key IN {IN_VALUES}", keys))
        return [
            row
            for row in rows
            if name_of(row) in name_set and row.kind in self.query.kinds and self._is_allowed(row)
        ]

    def _scope(self) -> str | None:
        """The query's filters as an FTS5 expression, or None for an unknown session or user.

        A filter that matches most documents is omitted: checking the rows read is cheaper.
        """
        parts = []
        for kind, name in (("session", self.query.session_id), ("user", self.query.user_id)):
            if name is not None:
                sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
                result = self.db.execute(sql, [kind, name]).fetchone()
                if result is None:
                    return None
                term = scope(kind[0], result[0])
                count = docs_with(self.db, [term])[term]
                if 2 * count < self.docs:
                    parts.append(f'"{term}"')
                    self._scoped = min(self._scoped, count)
        if "event" not in self.query.kinds:
            kinds = [f'"{scope("k", kind)}"' for kind in KINDS if kind in self.query.kinds]
            parts.append(f"({' OR '.join(kinds)})")
        if self.query.about is not None:
            dates = (f'"{scope("d", key)}"' for key in dates_named.query_keys(self.query.about))
            parts.append(f"({' OR '.join(dates)})")
        return " AND ".join(parts)

    def _newest(self, scope: str) -> dict[int, int]:
        """For a query without terms: the last documents of the scope, with empty masks."""
        sql = (
            "SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ? "
            "ORDER BY rowid DESC LIMIT ?"
        )
        return dict.fromkeys(
            (number for (number,) in self.db.execute(sql, [scope, *self._span(), POSTINGS])), 0
        )

    def _postings(self, scope: str) -> dict[int, int]:
        """Document -> mask of its terms. Reads the rarest terms first, up to `POSTINGS`."""
        low, high = self._span()
        if scope and self._scoped <= FEW:
            return self._masks_of_few(scope, low, high)
        masks: dict[int, int] = {}
        self._unread, remaining = 0, POSTINGS
        for bit, term in enumerate(self.query_terms):
            if remaining <= 0 or (not scope and term.docs > remaining and masks):
                self._unread |= 1 << bit
                continue
            match = f'"{term.term}"' + (f" AND {scope}" if scope else "")
            sql = (
                "SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ? "
                "ORDER BY rowid DESC LIMIT ?"
            )
            rows = self.db.execute(sql, [match, low, high, remaining]).fetchall()
            for (number,) in rows:
                masks[number] = masks.get(number, 0) | 1 << bit
            remaining -= len(rows)
            if remaining <= 0:  # perhaps not all of them
                self._unread |= 1 << bit
        return masks

    def _masks_of_few(self, scope: str, low: int, high: int) -> dict[int, int]:
        """The result of `_postings`, from the documents themselves."""
        sql = (
            "SELECT id, terms FROM doc WHERE id IN "
            "(SELECT rowid FROM term WHERE term MATCH ? AND rowid BETWEEN ? AND ?)"
        )
        words = [(1 << bit, f" {term.term} ") for bit, term in enumerate(self.query_terms)]
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
        """The first and last number that a document of the query's period can have."""
        query = self.query
        if query.since is None and query.until is None and query.as_of is None:
            return 0, 1 << 62
        until = min(time for time in (query.until, query.as_of, 1 << 62) if time is not None)
        since = -(1 << 62) if query.since is None else query.since
        ends = []
        for order in ("", "DESC"):  # min and max would scan all passages
            sql = "SELECT no FROM passage WHERE earliest <= ? AND latest >= ? "
            result = self.db.execute(
                f"{sql} ORDER BY no {order} LIMIT 1", [until, since]
            ).fetchone()
            if result is None:
                return 1, 0
            ends.append(int(result[0]))
        return ends[0] * STRETCH, (ends[1] + 1) * STRETCH - 1

    def _likely_rows(self, masks: dict[int, int]) -> list[Row]:
        def score(pair: tuple[int, int]) -> float:
            mask, passage_mask = pair
            return self.weight(mask) + NEARBY * self.weight(passage_mask)

        by_masks: dict[tuple[int, int], list[int]] = defaultdict(list)
        for number, mask in masks.items():
            by_masks[mask, self.passages[number // STRETCH]].append(number)
        best = (by_masks[pair] for pair in sorted(by_masks, key=score, reverse=True))
        likely = list(islice(chain.from_iterable(best), MOST_READ))
        rows: list[Row] = []
        for start in range(0, len(likely), CANDIDATES):
            rows += self._read(likely[start : start + CANDIDATES])
            if len(rows) >= CANDIDATES // 2:
                break
        return rows

    def _read(self, numbers: Iterable[int]) -> list[Row]:
        rows = self.db.execute(f"{ROW} WHERE doc.id IN {IN_VALUES}", values_parameter(numbers))
        return [row for row in map(Row._make, rows) if self._is_allowed(row)]

    def _is_allowed(self, row: Row) -> bool:
        query = self.query
        if query.user_id is not None and row.user != query.user_id:
            return False
        if query.session_id is not None and row.session != query.session_id:
            return False
        if query.since is not None and row.at < query.since:
            return False
        if query.until is not None and row.at > query.until:
            return False
        if query.about is not None and not dates_named.overlapping(
            dates_named.parse_spans(row.about), query.about
        ):
            return False
        if query.as_of is None:
            return bool(row.newest)
        return row.since <= query.as_of < row.until
