"""The turns around an event that was found, as its session has them in time."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from schemas.time import format_time
from streams.search.candidates import Candidates, Row
from streams.search.doc import FOREVER
from streams.search.opening import GIVEN, given
from streams.search.query import EXCERPT, Neighbour, Query
from streams.search.store import STRETCH

PASSAGES = 2
"""Of a session, before and after the hit's own, in which its neighbours are looked for."""
SQL = f"""
SELECT passage.no, doc.at, doc.id, u.name, doc.until FROM passage
CROSS JOIN doc ON doc.id BETWEEN passage.no * {STRETCH} AND passage.no * {STRETCH} + {STRETCH - 1}
LEFT JOIN name u ON u.no = doc.person
WHERE doc.kind = 'event' AND passage.no IN {GIVEN}
"""
TOLD = f"""
SELECT doc.id, doc.key, u.name, doc.at, substr(doc.text, 1, {EXCERPT})
FROM doc LEFT JOIN name u ON u.no = doc.person WHERE doc.id IN {GIVEN}
"""


class Near(NamedTuple):
    """A document that is a turn so many places after another in time; before: negative."""

    place: int
    number: int


def neighbours_of(
    db: sqlite3.Connection, query: Query, hits: Sequence[Row], candidates: Candidates
) -> dict[int, list[Neighbour]]:
    """By hit: as many turns on each side as the query asks for, oldest first; none of what is no
    event. All of them in two statements."""
    near = around(db, query, hits, candidates)
    beside = {one.number for some in near.values() for one in some}
    told = {number: turn for number, *turn in db.execute(TOLD, given(beside))} if beside else {}
    return {
        hit: [
            Neighbour(one.place, key, user, format_time(at), text)
            for one in some
            for key, user, at, text in (told[one.number],)
        ]
        for hit, some in near.items()
    }


def around(
    db: sqlite3.Connection, query: Query, hits: Sequence[Row], candidates: Candidates
) -> dict[int, list[Near]]:
    """By hit: the turns on both sides of it, oldest first.

    They are of the user and up to the time (`as_of`) that the query is narrowed to; `since` and
    `until` narrow hits alone. `candidates` have found the hits, and know which passages follow each
    other.
    """
    events = [hit for hit in hits if query.neighbours and hit.kind == "event"]
    passages = {
        hit.number: list(candidates.stretch_of(hit.number // STRETCH, PASSAGES)) for hit in events
    }
    turns = _turns(db, {one for some in passages.values() for one in some})
    return {hit.number: _beside(query, hit, turns, passages[hit.number]) for hit in events}


class _Turn(NamedTuple):
    at: int
    number: int
    user: str | None
    until: int


def _turns(db: sqlite3.Connection, passages: Collection[int]) -> dict[int, list[_Turn]]:
    """The turns of each passage."""
    found: dict[int, list[_Turn]] = {passage: [] for passage in passages}
    if found:
        for passage, *turn in db.execute(SQL, given(passages)):
            found[passage].append(_Turn(*turn))
    return found


def _beside(
    query: Query, hit: Row, turns: dict[int, list[_Turn]], passages: Iterable[int]
) -> list[Near]:
    those = sorted(
        (turn.at, turn.number)
        for passage in passages
        for turn in turns[passage]
        if turn.number == hit.number or _allowed(query, turn)
    )
    place = those.index((hit.at, hit.number))
    first = max(0, place - query.neighbours)
    near = enumerate(those[first : place + query.neighbours + 1], start=first)
    return [Near(n - place, number) for n, (_, number) in near if n != place]


def _allowed(query: Query, turn: _Turn) -> bool:
    if query.user_id is not None and turn.user != query.user_id:
        return False
    if query.as_of is None:
        return turn.until == FOREVER
    return turn.at <= query.as_of < turn.until
