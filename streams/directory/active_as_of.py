"""Lists users and sessions as of a past time from an index, most recently active first.

The newest turns before that time are read first, then more, then all.
"""

import sqlite3
from collections.abc import Iterator
from typing import Literal

import msgspec

from schemas.time import HOUR
from streams.directory.users_and_sessions import FAR, TURNS_AS_OF

NEWEST = 500, 20_000
"""Sizes of the first windows of turns: their users and sessions sort before all others."""


class ActiveQuery(msgspec.Struct, frozen=True, kw_only=True):
    """A page of the users or sessions active by `at`, as recorded by `known_at`.

    `since` and `until` bound the time of last activity. `after`: the last entry of the previous
    page, as (last active, id). Times are microseconds since 1970-01-01 UTC."""

    kind: Literal["user", "session"]
    at: int
    limit: int
    known_at: int = FAR
    since: int = -FAR
    until: int = FAR
    after: tuple[int, str] = (FAR, "")


def active_as_of(db: sqlite3.Connection, query: ActiveQuery) -> dict[str, int]:
    """Returns id -> time of last activity. For a user without a turn by then, the last plan
    counts."""
    page: dict[str, int] = {}
    latest = _latest(db, query)
    if latest is None:
        return page
    for earliest in _windows(db, query, latest):
        parameters = {
            "from": earliest, "to": latest, "at": query.at, "known": query.known_at,
            "since": query.since, "until": query.until,
            "after": query.after[0], "name": query.after[1], "limit": query.limit,
        }  # fmt: skip
        sql = _USERS if query.kind == "user" else _SESSIONS
        page = dict(db.execute(sql, parameters).fetchall())
        if len(page) >= query.limit or earliest <= query.since:
            break
    return page


def _latest(db: sqlite3.Connection, query: ActiveQuery) -> int | None:
    """An upper bound of all activity recorded by then, or None without any."""
    sql = """SELECT hour FROM active_hour WHERE hour <= ? AND recorded <= ?
        ORDER BY hour DESC LIMIT 1"""
    result = db.execute(sql, [query.at // HOUR, query.known_at]).fetchone()
    return None if result is None else min(query.at, (result[0] + 1) * HOUR - 1)


def _windows(db: sqlite3.Connection, query: ActiveQuery, latest: int) -> Iterator[int]:
    """Yields earlier and earlier starts of the window to search."""
    newest = min(latest, query.until, query.after[0])
    sql = """SELECT at FROM doc WHERE kind = 'event' AND at <= ? AND at + recorded <= ?
        ORDER BY at DESC LIMIT 1 OFFSET ?"""
    for turns in NEWEST:
        if (result := db.execute(sql, [newest, query.known_at, turns]).fetchone()) is None:
            break
        yield result[0]
    yield -FAR


_BEGUN = """FROM begun JOIN doc ON doc.id = begun.doc
    WHERE begun.recorded <= :known AND (doc.at > :at OR doc.at + doc.recorded > :known)"""
"""A turn that had not ended by then counts at the session and time of its start."""
_SPOKE = f"""SELECT {{0}} AS no, max(at) AS active FROM (
        SELECT {{1}} AS {{0}}, at FROM doc
        WHERE kind = 'event' AND at BETWEEN :from AND :to AND at + recorded <= :known
        AND coalesce({{1}}, 0) > 0
        UNION ALL SELECT begun.{{0}}, begun.at {_BEGUN}
        AND begun.at BETWEEN :from AND :to AND begun.{{0}} > 0
    ) GROUP BY 1"""
_PLANNED = f"""SELECT person AS no, max(at) AS active FROM planned
    WHERE at BETWEEN :from AND :to AND recorded <= :known
    AND NOT EXISTS (SELECT 1 FROM talk WHERE talk.person = planned.person
        AND first <= :at AND first_recorded <= :known AND (
            latest <= :at OR last_recorded <= :known OR EXISTS (SELECT 1 FROM {TURNS_AS_OF})))
    AND NOT EXISTS (SELECT 1 {_BEGUN} AND begun.person = planned.person AND begun.at <= :at)
    GROUP BY 1"""
_PAGE = """SELECT name.name, spoke.active FROM ({}) AS spoke JOIN name USING (no)
    WHERE spoke.active BETWEEN :since AND :until
    AND (spoke.active, name.name) < (:after, :name)
    ORDER BY spoke.active DESC, name.name DESC LIMIT :limit"""
_SESSIONS = _PAGE.format(_SPOKE.format("session", "owner"))
_USERS = _PAGE.format(f"{_SPOKE.format('person', 'person')} UNION ALL {_PLANNED}")
