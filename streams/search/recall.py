"""What was said about a question: whole turns, for an agent that is about to answer it."""

import sqlite3
from collections.abc import Iterator

from streams.search.candidates import Candidates
from streams.search.neighbours import around
from streams.search.opening import GIVEN, given
from streams.search.query import Query, Turn
from streams.search.rank import Found

SQL = f"""
SELECT doc.id, doc.key, s.name, u.name, doc.at, doc.at + doc.recorded,
    doc.said, doc.answered, doc.text
FROM doc JOIN name s ON s.no = doc.owner LEFT JOIN name u ON u.no = doc.person
WHERE doc.id IN {GIVEN}
"""


def turns_of(
    db: sqlite3.Connection, query: Query, found: list[Found], candidates: Candidates
) -> list[Turn]:
    """The turns that were found, best first, and behind them those around each."""
    beside = around(db, query, [one.row for one in found], candidates)
    numbers = dict.fromkeys(one.number for one in found)
    numbers |= dict.fromkeys(near.number for some in beside.values() for near in some)
    told = dict(_told(db, list(numbers)))
    return [told[number] for number in numbers]


def _told(db: sqlite3.Connection, numbers: list[int]) -> Iterator[tuple[int, Turn]]:
    for row in db.execute(SQL, given(numbers)):
        number, event, session, user, at, recorded, said, answered, text = row
        told = text[:said], text[len(text) - answered :]
        yield number, Turn(event, session, user, at, recorded, *told)
