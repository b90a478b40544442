"""Counts turns, sessions, users and states as of a past time from an index."""

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from streams.directory import states_held
from streams.directory.users_and_sessions import FAR, TURNS_AS_OF


class CountQuery(msgspec.Struct, frozen=True, kw_only=True):
    """Users or sessions to count, as of `at` and as recorded by `known_at` (microseconds since
    1970-01-01 UTC)."""

    kind: Literal["user", "session"]
    names: tuple[str, ...]
    at: int
    known_at: int = FAR


class OwnerCounts(msgspec.Struct, frozen=True):
    """Counts of a user or session. For a user, `others` counts sessions and `states` valid states;
    for a session, `others` counts users and `first` is the user who spoke first."""

    turns: int
    others: int
    states: int = 0
    first: str | None = None


class _Talk(NamedTuple):
    """The turns of a user in a session by then. `other`: number of the session, if a user is
    counted, or of the user."""

    first: int
    user: str
    turns: int
    other: int


_TALK = """SELECT session, person, talk.turns, first, coalesce(name, ''),
        latest <= :at AND last_recorded <= :known
    FROM talk LEFT JOIN name ON no = person
    WHERE talk.{0} = :no AND first <= :at AND first_recorded <= :known"""
_BEGUN = """SELECT begun.session, begun.person, 1, begun.at, coalesce(name, ''), true
    FROM begun JOIN doc ON doc.id = begun.doc LEFT JOIN name ON no = begun.person
    WHERE begun.{0} = :no AND begun.at <= :at AND begun.recorded <= :known
    AND (doc.at > :at OR doc.at + doc.recorded > :known)"""
"""A turn that had not ended by then counts at the session and time of its start."""
_TURNS = f"""SELECT count(*), min(doc.at) FROM talk JOIN {TURNS_AS_OF}
    AND talk.session = :session AND talk.person = :person"""
_STATES = """SELECT count(*) FROM doc
    WHERE owner = ? AND kind = 'state' AND kind <> 'event' AND until > ? AND since <= ?"""


def counts_as_of(db: sqlite3.Connection, query: CountQuery) -> dict[str, OwnerCounts]:
    """Returns name -> counts. Stored counts are read; turns are counted only in sessions that
    continued later."""
    return {name: _counted(db, query, name) for name in query.names}


def _counted(db: sqlite3.Connection, query: CountQuery, name: str) -> OwnerCounts:
    sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
    row = db.execute(sql, [query.kind, name]).fetchone()
    if row is None:
        return OwnerCounts(0, 0)
    (number,) = row
    talks = sorted(_talks(db, query, number))
    turns, partners = sum(talk.turns for talk in talks), len({talk.other for talk in talks} - {0})
    if query.kind == "user":
        return OwnerCounts(turns, partners, states=_states(db, query, number))
    return OwnerCounts(
        turns, partners, first=next((talk.user for talk in talks if talk.user), None)
    )


def _talks(db: sqlite3.Connection, query: CountQuery, number: int) -> Iterator[_Talk]:
    column = "session" if query.kind == "session" else "person"
    parameters = {"no": number, "at": query.at, "known": query.known_at}
    for sql in (_TALK, _BEGUN):
        for session, person, turns, first, user, is_whole in db.execute(
            sql.format(column), parameters
        ):
            if not is_whole:
                pair = parameters | {"session": session, "person": person}
                turns, first = db.execute(_TURNS, pair).fetchone()
            if turns:
                yield _Talk(first, user, turns, person if column == "session" else session)


def _states(db: sqlite3.Connection, query: CountQuery, number: int) -> int:
    if query.known_at < FAR:
        return states_held.count(db, number, query.at, query.known_at)
    (count,) = db.execute(_STATES, [number, query.at, query.at]).fetchone()
    return int(count)
