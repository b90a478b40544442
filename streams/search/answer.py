"""`search`: the question of one tenant to its own index, brought up to date before."""

import sqlite3
from contextlib import closing
from pathlib import Path
from threading import Event

import msgspec

from schemas.time import format_time
from sinks.generation import find_tables
from streams.errors import UsageError
from streams.search import build
from streams.search.query import KINDS, MAX_LIMIT, Cursor, Hit, Page, Query, decode, encode
from streams.search.rank import Found, Ranker
from streams.search.store import FOREVER, connected
from streams.search.tokens import tokens

EXCERPT = 600
"""Characters of a hit's text that are shown."""
ATTEMPTS = 5


def search(
    root: Path, tenant: str, query: Query, *, update: bool = True, at_once: bool = False
) -> Page:
    """The best hits in a history's live generation, or the one that `root` itself names.

    With `update` the index is first brought up to date, which for the first search of a tenant
    means to build it; without, NotIndexed is raised where there is none, and with `at_once` where
    that would take its time. Synchronous: for a thread. Raises UsageError, NotIndexed,
    HistoryError.
    """
    query = _checked(query)
    folder = find_tables(root)
    for attempt in range(ATTEMPTS):
        path = (
            build.update(folder, tenant, at_once=at_once)
            if update
            else build.current(folder, tenant)
        )
        if path is None:
            raise build.NotIndexed("nothing is indexed yet; try again in a while")
        try:
            with closing(connected(path)) as db:
                return _page(db, query)
        except sqlite3.OperationalError:
            if path.exists() or attempt == ATTEMPTS - 1:
                raise
    raise AssertionError("the last attempt raises")


def update(root: Path, tenant: str, *, rebuild: bool = False, ending: Event | None = None) -> Path:
    """Brings a tenant's index up to date, or builds it anew; its file. Raises NotIndexed once
    `ending` is set, HistoryError."""
    return build.update(find_tables(root), tenant, rebuild=rebuild, ending=ending)


def _checked(query: Query) -> Query:
    if unknown := [kind for kind in query.kinds if kind not in KINDS]:
        raise UsageError(f"kinds: no kind {unknown[0]!r}; there are {', '.join(KINDS)}")
    if not 1 <= query.limit <= MAX_LIMIT:
        raise UsageError(f"limit: {query.limit} is not between 1 and {MAX_LIMIT}")
    if not query.kinds:
        raise UsageError(f"kinds: name one of {', '.join(KINDS)}")
    if query.cursor is None:
        return query
    return msgspec.structs.replace(query, now=decode(query.cursor).now)


def _page(db: sqlite3.Connection, query: Query) -> Page:
    db.execute("PRAGMA query_only = 1")
    db.execute("BEGIN")  # all of it from one state of the index
    meta = {
        key: msgspec.json.decode(value) for key, value in db.execute("SELECT key, value FROM meta")
    }
    ranker = Ranker(db, query, meta)
    found = ranker.found()
    if query.cursor is not None:
        after = decode(query.cursor)
        found = [one for one in found if (-one.score, -one.number) > (-after.score, -after.place)]
    shown = found[: query.limit]
    more = len(found) > query.limit
    asked = {one.term for one in ranker.asked}
    cursor = encode(Cursor(query.now, shown[-1].score, shown[-1].number)) if more else None
    return Page([_hit(one, asked) for one in shown], cursor)


def _hit(found: Found, asked: set[str]) -> Hit:
    row = found.row
    text, matches = _excerpt(row.text, asked)
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
