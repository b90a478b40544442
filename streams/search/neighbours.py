"""Reads the turns around a hit, in the order of its session."""

import sqlite3
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from schemas.time import format_time
from streams.search.candidates import Candidates, Row
from streams.search.document import FOREVER
from streams.search.open_index import IN_VALUES, values_parameter
from streams.search.query import EXCERPT, Neighbour, Query
from streams.search.store import STRETCH

PASSAGES = 2
"""Passages before and after the hit's own that are searched for its neighbours."""
SQL = f"""
SELECT passage.no, doc.at, doc.id, u.name, doc.until FROM passage
CROSS JOIN doc ON doc.id BETWEEN passage.no * {STRETCH} AND passage.no * {STRETCH} + {STRETCH - 1}
LEFT JOIN name u ON u.no = doc.person
WHERE doc.kind = 'event' AND passage.no IN {IN_VALUES}
"""
TURNS = f"""
SELECT doc.id, doc.key, u.name, doc.at, substr(doc.text, 1, {EXCERPT})
FROM doc LEFT JOIN name u ON u.no = doc.person WHERE doc.id IN {IN_VALUES}
"""


class Adjacent(NamedTuple):
    """A turn `place` turns after a hit; negative: before it. `number`: of its document."""

    place: int
    number: int


def neighbours_of(
    db: sqlite3.Connection, query: Query, hits: Sequence[Row], candidates: Candidates
) -> dict[int, list[Neighbour]]:
    """Returns hit -> its neighbours, oldest first, for hits that are events. Reads all of them with
    two statements."""
    by_hit = around(db, query, hits, candidates)
    numbers = {adjacent.number for turns in by_hit.values() for adjacent in turns}
    rows = db.execute(TURNS, values_parameter(numbers)) if numbers else ()
    documents = {number: columns for number, *columns in rows}
    return {
        hit: [
            Neighbour(adjacent.place, key, user, format_time(at), text)
            for adjacent in turns
            for key, user, at, text in (documents[adjacent.number],)
        ]
        for hit, turns in by_hit.items()
    }


def around(
    db: sqlite3.Connection, query: Query, hits: Sequence[Row], candidates: Candidates
) -> dict[int, list[Adjacent]]:
    """Returns hit -> the turns on both sides of it, oldest first.

    The filters `user_id` and `as_of` apply to them, `since` and `until` do not. `candidates` are
    the hits' candidates, with the order of passages.
    """
    events = [hit for hit in hits if query.neighbours and hit.kind == "event"]
    passages = {
        hit.number: list(candidates.passages_around(hit.number // STRETCH, PASSAGES))
        for hit in events
    }
    turns = _turns(db, set().union(*passages.values()))
    return {hit.number: _beside(query, hit, turns, passages[hit.number]) for hit in events}


class _Turn(NamedTuple):
    at: int
    number: int
    user: str | None
    until: int


def _turns(db: sqlite3.Connection, passages: Collection[int]) -> dict[int, list[_Turn]]:
    """The turns of each passage."""
    turns: dict[int, list[_Turn]] = {passage: [] for passage in passages}
    if turns:
        for passage, *turn in db.execute(SQL, values_parameter(passages)):
            turns[passage].append(_Turn(*turn))
    return turns


def _beside(
    query: Query, hit: Row, turns: dict[int, list[_Turn]], passages: Iterable[int]
) -> list[Adjacent]:
    ordered = sorted(
        (turn.at, turn.number)
        for passage in passages
        for turn in turns[passage]
        if turn.number == hit.number or _is_allowed(query, turn)
    )
    place = ordered.index((hit.at, hit.number))
    first = max(0, place - query.neighbours)
    near = enumerate(ordered[first : place + query.neighbours + 1], start=first)
    return [Adjacent(n - place, number) for n, (_, number) in near if n != place]


def _is_allowed(query: Query, turn: _Turn) -> bool:
    if query.user_id is not None and turn.user != query.user_id:
        return False
    if query.as_of is None:
        return turn.until == FOREVER
    return turn.at <= query.as_of < turn.until
