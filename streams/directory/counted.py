"""How much there was of some users or sessions as of a past time, out of an index."""

import sqlite3
from collections.abc import Iterator
from typing import Literal, NamedTuple

import msgspec

from streams.directory import states_held
from streams.directory.owners import FAR, SAID_THEN


class Then(msgspec.Struct, frozen=True, kw_only=True):
    """Some users or sessions, as of `at` and as known at `known` (microseconds since 1970-01-01
    UTC)."""

    kind: Literal["user", "session"]
    names: tuple[str, ...]
    at: int
    known: int = FAR


class Counted(msgspec.Struct, frozen=True):
    """Of a user: `others` are sessions, `states` those that were held. Of a session: `others` are
    users, `first` is who spoke first."""

    turns: int
    others: int
    states: int = 0
    first: str | None = None


class _Talk(NamedTuple):
    """The turns of a user in a session by then; the session or the user is `other`."""

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
"""A turn that had not ended by then is where and when it had begun."""
_TURNS = f"""SELECT count(*), min(doc.at) FROM talk JOIN {SAID_THEN}
    AND talk.session = :session AND talk.person = :person"""
_STATES = """SELECT count(*) FROM doc
    WHERE owner = ? AND kind = 'state' AND kind <> 'event' AND until > ? AND since <= ?"""


def counted_then(db: sqlite3.Connection, asked: Then) -> dict[str, Counted]:
    """By name. Counts are read, and turns counted where talk went on later."""
    return {name: _counted(db, asked, name) for name in asked.names}


def _counted(db: sqlite3.Connection, asked: Then, name: str) -> Counted:
    sql = "SELECT no FROM name WHERE kind = ? AND name = ?"
    found = db.execute(sql, [asked.kind, name]).fetchone()
    if found is None:
        return Counted(0, 0)
    (number,) = found
    talks = sorted(_talks(db, asked, number))
    turns, others = sum(one.turns for one in talks), len({one.other for one in talks} - {0})
    if asked.kind == "user":
        return Counted(turns, others, states=_states(db, asked, number))
    return Counted(turns, others, first=next((one.user for one in talks if one.user), None))


def _talks(db: sqlite3.Connection, asked: Then, number: int) -> Iterator[_Talk]:
    by = "session" if asked.kind == "session" else "person"
    given = {"no": number, "at": asked.at, "known": asked.known}
    for sql in (_TALK, _BEGUN):
        for session, person, turns, first, user, whole in db.execute(sql.format(by), given):
            if not whole:
                those = given | {"session": session, "person": person}
                turns, first = db.execute(_TURNS, those).fetchone()
            if turns:
                yield _Talk(first, user, turns, person if by == "session" else session)


def _states(db: sqlite3.Connection, asked: Then, number: int) -> int:
    if asked.known < FAR:
        return states_held.count(db, number, asked.at, asked.known)
    (count,) = db.execute(_STATES, [number, asked.at, asked.at]).fetchone()
    return int(count)
