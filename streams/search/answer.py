"""Queries of one tenant to its own index, which is brought up to date first: `search` returns
excerpts, `recall` whole turns and the ids of facts."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import TypeVar

import msgspec

from schemas.time import format_time
from sinks.generation import find_tables
from sinks.locations import Location
from streams.directory import active, counted, owners
from streams.errors import UsageError
from streams.search import about, build, meaning
from streams.search.doc import FOREVER
from streams.search.neighbours import neighbours_of
from streams.search.opening import notes
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
from streams.search.rank import Found, Ranker
from streams.search.readers import READERS
from streams.search.recall import Recall, recalled
from streams.search.tokens import tokens
from streams.search.vectors import Near

ATTEMPTS = 5
Q = TypeVar("Q")
T = TypeVar("T")


def search(
    root: Location, tenant: str, query: Query, *, update: bool = True, at_once: bool = False
) -> Page:
    """The best hits in a history's live generation, or the one that `root` itself names.

    With `update` the index is first brought up to date, which for the first search of a tenant
    means to build it; without, NotIndexed is raised where there is none, and with `at_once` where
    that would take its time. Synchronous: for a thread. Raises UsageError, NotIndexed,
    HistoryError.
    """
    query, folder = _checked(query), find_tables(root)
    near = meaning.near(folder, tenant, query)
    return answered(
        folder, tenant, lambda db: _page(db, query, near), update=update, at_once=at_once
    )


def recall(
    root: Location, tenant: str, query: Query, *, update: bool = True, at_once: bool = False
) -> Recall:
    """The best hits in one ranking, with whole turns, for a context pack. Raises as `search`
    does."""
    query, folder = _checked(query), find_tables(root)
    near = meaning.near(folder, tenant, query)
    return answered(
        folder, tenant, lambda db: _recalled(db, query, near), update=update, at_once=at_once
    )


def _reads(read: Callable[[sqlite3.Connection, Q], T]) -> Callable[..., T]:
    """A query to the lists of users and sessions: (root, tenant, query, update, at_once), else as
    `search`."""

    def listed(
        root: Location, tenant: str, query: Q, *, update: bool = True, at_once: bool = False
    ) -> T:
        return answered(
            find_tables(root), tenant, lambda db: read(db, query), update=update, at_once=at_once
        )

    return listed


users, sessions = _reads(owners.users), _reads(owners.sessions)
active_as_of, counts_as_of = _reads(active.active_as_of), _reads(counted.counts_as_of)


def answered(
    folder: Location,
    tenant: str,
    answer: Callable[[sqlite3.Connection], T],
    *,
    update: bool,
    at_once: bool,
) -> T:
    """What the index in a generation's folder answers, brought up to date before. One that lacks
    nothing is opened once."""
    for attempt in range(ATTEMPTS):
        path = build.current(folder, tenant)
        try:
            if update:
                with build.whole(folder, path) as db:
                    if db is not None:
                        return answer(db)
                path = build.update(folder, tenant, at_once=at_once)
            if path is None:
                raise build.NotIndexed("nothing is indexed yet; try again in a while")
            with READERS.reading(path) as db:
                return answer(db)
        except sqlite3.OperationalError:
            if path is None or path.exists() or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt raises")


def update(
    root: Location, tenant: str, *, rebuild: bool = False, ending: Event | None = None
) -> Path:
    """Brings a tenant's index up to date, or builds it again; its file. Raises NotIndexed once
    `ending` is set, HistoryError."""
    return build.update(find_tables(root), tenant, rebuild=rebuild, ending=ending)


def embed(root: Location, tenant: str, *, ending: Event | None = None) -> int:
    """Makes the vectors that a tenant's index lacks, if an endpoint of embeddings is set; how many
    were made. Raises Unreachable where the endpoint does not answer; what was made is kept."""
    return meaning.embed(find_tables(root), tenant, ending or Event())


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


def _page(db: sqlite3.Connection, query: Query, near: Near | None) -> Page:
    ranker = _ranker(db, query, near)
    found = ranker.found()
    if query.cursor is not None:
        after = decode(query.cursor)
        found = [one for one in found if (-one.score, -one.number) > (-after.score, -after.place)]
    shown = found[: query.limit]
    more = len(found) > query.limit
    asked = {one.term for one in ranker.asked}
    cursor = encode(Cursor(query.now, shown[-1].score, shown[-1].number)) if more else None
    beside = neighbours_of(db, query, [one.row for one in shown], ranker.candidates)
    return Page([_hit(query, one, asked, beside.get(one.number, [])) for one in shown], cursor)


def _recalled(db: sqlite3.Connection, query: Query, near: Near | None) -> Recall:
    ranker = _ranker(db, query, near)
    return recalled(db, query, ranker.found(), ranker.candidates)


def _ranker(db: sqlite3.Connection, query: Query, near: Near | None) -> Ranker:
    return Ranker(db, query, notes(db), near)


def _hit(query: Query, found: Found, asked: set[str], beside: list[Neighbour]) -> Hit:
    row = found.row
    text, matches = _excerpt(row.text, asked)
    named = about.overlapping(about.read(row.about), query.about)
    return Hit(
        row.kind,
        row.key,
        row.session,
        row.user,
        format_time(row.at),
        None if row.ends == FOREVER else format_time(row.ends),
        text,
        matches,
        found.score,
        found.why,
        beside,
        *(map(format_time, named) if named else ()),
    )


def _excerpt(text: str, asked: set[str]) -> tuple[str, list[tuple[int, int]]]:
    """A text around what matched of it, and where."""
    places = [(one.start, one.end) for one in tokens(text) if one.term in asked]
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
