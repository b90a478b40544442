"""Queries of a tenant's index, which is updated first: `search` returns excerpts, `recall` whole
turns and the ids of facts."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

import msgspec

from schemas.time import format_time
from sinks.generation import find_tables
from sinks.locations import Location
from streams.directory import active_as_of as active
from streams.directory import counts_as_of as counted
from streams.directory import users_and_sessions
from streams.errors import UsageError
from streams.search import dates_named, indexing, vector_search
from streams.search.connections import READERS
from streams.search.document import FOREVER
from streams.search.neighbours import neighbours_of
from streams.search.open_index import read_meta
from streams.search.query import (
    EXCERPT,
    KINDS,
    MAX_LIMIT,
    MAX_NEIGHBOURS,
    Cursor,
    Hit,
    Neighbour,
    Page,
    Query,
    decode,
    encode,
)
from streams.search.rank import RankedDoc, Ranker
from streams.search.recall import Recall, recalled
from streams.search.tokens import tokens
from streams.search.vectors import Similarities

ATTEMPTS = 5
Q = TypeVar("Q")
T = TypeVar("T")


def search(
    root: Location, tenant: str, query: Query, *, update: bool = True, at_once: bool = False
) -> Page:
    """Returns the best hits in a history's live generation, or in the generation `root`.

    `update`: update the index first; the first search of a tenant builds it. Otherwise raises
    NotIndexed without an index. `at_once`: raise NotIndexed if the update would take long.
    Synchronous: call it in a thread. Raises UsageError, NotIndexed, HistoryError.
    """
    query, folder = _checked(query), find_tables(root)
    near = vector_search.similarities(folder, tenant, query)
    return _run(folder, tenant, lambda db: _page(db, query, near), update=update, at_once=at_once)


def recall(
    root: Location, tenant: str, query: Query, *, update: bool = True, at_once: bool = False
) -> Recall:
    """Returns the best hits in one ranking, with whole turns, for a context pack. Parameters and
    errors as in `search`."""
    query, folder = _checked(query), find_tables(root)
    near = vector_search.similarities(folder, tenant, query)
    return _run(
        folder, tenant, lambda db: _recalled(db, query, near), update=update, at_once=at_once
    )


def _directory_query(run_query: Callable[[sqlite3.Connection, Q], T]) -> Callable[..., T]:
    """Wraps a query of users or sessions; parameters and errors as in `search`."""

    def run(
        root: Location, tenant: str, query: Q, *, update: bool = True, at_once: bool = False
    ) -> T:
        return _run(
            find_tables(root),
            tenant,
            lambda db: run_query(db, query),
            update=update,
            at_once=at_once,
        )

    return run


users, sessions = (
    _directory_query(users_and_sessions.users),
    _directory_query(users_and_sessions.sessions),
)
active_as_of = _directory_query(active.active_as_of)
counts_as_of = _directory_query(counted.counts_as_of)


def _run(
    folder: Location,
    tenant: str,
    run_query: Callable[[sqlite3.Connection], T],
    *,
    update: bool,
    at_once: bool,
) -> T:
    """Runs a query on the index in a generation's folder, after an update. A current index is
    opened once."""
    for attempt in range(ATTEMPTS):
        path = indexing.current(folder, tenant)
        try:
            if update:
                with indexing.open_current(folder, path) as db:
                    if db is not None:
                        return run_query(db)
                path = indexing.update(folder, tenant, at_once=at_once)
            if path is None:
                raise indexing.NotIndexed("nothing is indexed yet; try again in a while")
            with READERS.reading(path) as db:
                return run_query(db)
        except sqlite3.OperationalError:
            if path is None or path.exists() or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt raises")


def update(
    root: Location, tenant: str, *, rebuild: bool = False, ending: Event | None = None
) -> Path:
    """Updates or rebuilds a tenant's index; returns its file. Raises NotIndexed once `ending` is
    set, HistoryError."""
    return indexing.update(find_tables(root), tenant, rebuild=rebuild, ending=ending)


def embed(root: Location, tenant: str, *, ending: Event | None = None) -> int:
    """Computes the missing vectors of a tenant's index, if embeddings are configured; returns their
    number. Raises Unreachable if the endpoint does not answer; vectors so far are kept."""
    return vector_search.embed(find_tables(root), tenant, ending or Event())


def _checked(query: Query) -> Query:
    if query.since is not None and query.until is not None and query.since > query.until:
        raise UsageError(f"from: {format_time(query.since)} is after to {format_time(query.until)}")
    if unknown := [kind for kind in query.kinds if kind not in KINDS]:
        raise UsageError(f"kinds: no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise UsageError(f"limit: {query.limit} is not between 1 and {MAX_LIMIT}")
    if not 0 <= query.neighbours <= MAX_NEIGHBOURS:
        raise UsageError(f"neighbours: {query.neighbours} is not between 0 and {MAX_NEIGHBOURS}")
    if not query.kinds:
        raise UsageError(f"kinds: name one of {', '.join(KINDS)}")
    if query.cursor is None:
        return query
    return msgspec.structs.replace(query, now=decode(query.cursor).now)


def _page(db: sqlite3.Connection, query: Query, near: Similarities | None) -> Page:
    ranker = _ranker(db, query, near)
    docs = ranker.ranked()
    if query.cursor is not None:
        after = decode(query.cursor)
        docs = [doc for doc in docs if (-doc.score, -doc.number) > (-after.score, -after.place)]
    page = docs[: query.limit]
    more = len(docs) > query.limit
    terms = {term.term for term in ranker.query_terms}
    cursor = encode(Cursor(query.now, page[-1].score, page[-1].number)) if more else None
    neighbours = neighbours_of(db, query, [doc.row for doc in page], ranker.candidates)
    return Page([_hit(query, doc, terms, neighbours.get(doc.number, [])) for doc in page], cursor)


def _recalled(db: sqlite3.Connection, query: Query, near: Similarities | None) -> Recall:
    ranker = _ranker(db, query, near)
    return recalled(db, query, ranker.ranked(), ranker.candidates)


def _ranker(db: sqlite3.Connection, query: Query, near: Similarities | None) -> Ranker:
    return Ranker(db, query, read_meta(db), near)


def _hit(query: Query, doc: RankedDoc, terms: set[str], neighbours: list[Neighbour]) -> Hit:
    row = doc.row
    text, matches = _excerpt(row.text, terms)
    span = dates_named.overlapping(dates_named.parse_spans(row.about), query.about)
    return Hit(
        row.kind,
        row.key,
        row.session,
        row.user,
        format_time(row.at),
        None if row.ends == FOREVER else format_time(row.ends),
        text,
        matches,
        doc.score,
        doc.why,
        neighbours,
        *(map(format_time, span) if span else ()),
    )


def _excerpt(text: str, terms: set[str]) -> tuple[str, list[tuple[int, int]]]:
    """The text around its first match, and the matches as [start, end) in it."""
    places = [(token.start, token.end) for token in tokens(text) if token.term in terms]
    first = max(0, places[0][0] - EXCERPT // 4) if places and places[0][0] > EXCERPT // 2 else 0
    first = min(first, max(0, len(text) - EXCERPT))
    merged: list[tuple[int, int]] = []
    for start, end in sorted((start - first, end - first) for start, end in places):
        if end > EXCERPT:
            continue
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return text[first : first + EXCERPT], merged
