"""The turns around an event that was found, as its session has them in time."""

import sqlite3
from typing import NamedTuple

from schemas.time import format_time
from streams.search.candidates import Row
from streams.search.query import EXCERPT, Neighbour, Query
from streams.search.store import STRETCH

PASSAGES = 2
"""Of a session, before and after the hit's own, in which its neighbours are looked for."""
SQL = """
SELECT doc.at, doc.id, u.name FROM doc LEFT JOIN name u ON u.no = doc.person
WHERE doc.kind = 'event' AND doc.id BETWEEN ? AND ?
"""
TOLD = f"""
SELECT doc.id, doc.key, u.name, doc.at, substr(doc.text, 1, {EXCERPT})
FROM doc LEFT JOIN name u ON u.no = doc.person WHERE doc.id IN
"""


class Near(NamedTuple):
    """A document that is a turn so many places after another in time; before: negative."""

    place: int
    number: int


def neighbours_of(db: sqlite3.Connection, query: Query, hit: Row) -> list[Neighbour]:
    """As many turns on each side as the query asks for, oldest first; none of what is no event."""
    near = around(db, query, hit)
    listed = ", ".join(str(one.number) for one in near)
    told = {number: turn for number, *turn in db.execute(f"{TOLD} ({listed})")}
    return [
        Neighbour(one.place, key, user, format_time(at), text)
        for one in near
        for key, user, at, text in (told[one.number],)
    ]


def around(db: sqlite3.Connection, query: Query, hit: Row) -> list[Near]:
    """The turns on both sides of a hit, oldest first.

    They are of the user and up to the time (`as_of`) that the query is narrowed to; `since` and
    `until` narrow hits alone.
    """
    if not query.neighbours or hit.kind != "event":
        return []
    turns = sorted(
        (at, number)
        for passage in _passages(db, hit.number // STRETCH)
        for at, number, user in db.execute(SQL, _span(passage))
        if number == hit.number or _allowed(query, user, at)
    )
    place = turns.index((hit.at, hit.number))
    first = max(0, place - query.neighbours)
    near = enumerate(turns[first : place + query.neighbours + 1], start=first)
    return [Near(n - place, number) for n, (_, number) in near if n != place]


def _passages(db: sqlite3.Connection, passage: int) -> list[int]:
    """A passage and those before and after it in its session."""
    sql = "SELECT no FROM passage WHERE session = ? AND person IS NULL AND no"
    (session,) = db.execute("SELECT session FROM passage WHERE no = ?", [passage]).fetchone()
    found = [passage]
    for side in ("< ? ORDER BY no DESC", "> ? ORDER BY no"):
        near = db.execute(f"{sql} {side} LIMIT {PASSAGES}", [session, passage])
        found += [no for (no,) in near]
    return found


def _span(passage: int) -> tuple[int, int]:
    return passage * STRETCH, (passage + 1) * STRETCH - 1


def _allowed(query: Query, user: str | None, at: int) -> bool:
    if query.user_id is not None and user != query.user_id:
        return False
    return query.as_of is None or at <= query.as_of
