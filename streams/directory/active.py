"""Users and sessions as of a past time, the last active first, out of an index.

What was said last before that time is read first: the newest turns, then more, then all.
"""

import sqlite3
from collections.abc import Iterator
from typing import Literal

import msgspec

from schemas.time import HOUR
from streams.directory.owners import FAR, SAID_THEN

NEWEST = 500, 20_000
"""Turns before the time that are looked at first: who spoke in them comes before all others."""


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """Those active by `at`, as known at `known`, last active in a period, so many behind the last
    one of the page before, as (last active, id). Times are microseconds since 1970-01-01 UTC."""

    kind: Literal["user", "session"]
    at: int
    limit: int
    known: int = FAR
    since: int = -FAR
    until: int = FAR
    after: tuple[int, str] = (FAR, "")


def active_then(db: sqlite3.Connection, asked: Active) -> dict[str, int]:
    """Id -> last active. Of a user without a turn by then the last plan counts."""
    found: dict[str, int] = {}
    latest = _latest(db, asked)
    if latest is None:
        return found
    for earliest in _windows(db, asked, latest):
        given = {
            "from": earliest, "to": latest, "at": asked.at, "known": asked.known,
            "since": asked.since, "until": asked.until,
            "after": asked.after[0], "name": asked.after[1], "limit": asked.limit,
        }  # fmt: skip
        found = dict(db.execute(_USERS if asked.kind == "user" else _SESSIONS, given).fetchall())
        if len(found) >= asked.limit or earliest <= asked.since:
            break
    return found


def _latest(db: sqlite3.Connection, asked: Active) -> int | None:
    """A time after which nobody was active, as far as was known then; None: nobody ever was."""
    sql = """SELECT hour FROM active_hour WHERE hour <= ? AND recorded <= ?
        ORDER BY hour DESC LIMIT 1"""
    found = db.execute(sql, [asked.at // HOUR, asked.known]).fetchone()
    return None if found is None else min(asked.at, (found[0] + 1) * HOUR - 1)


def _windows(db: sqlite3.Connection, asked: Active, latest: int) -> Iterator[int]:
    """Since when to look; all who were active later than that are then found."""
    newest = min(latest, asked.until, asked.after[0])
    sql = """SELECT at FROM doc WHERE kind = 'event' AND at <= ? AND at + recorded <= ?
        ORDER BY at DESC LIMIT 1 OFFSET ?"""
    for turns in NEWEST:
        if (found := db.execute(sql, [newest, asked.known, turns]).fetchone()) is None:
            break
        yield found[0]
    yield -FAR


_BEGUN = """FROM begun JOIN doc ON doc.id = begun.doc
    WHERE begun.recorded <= :known AND (doc.at > :at OR doc.at + doc.recorded > :known)"""
"""A turn that had not ended by then is where and when it had begun."""
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
            latest <= :at OR last_recorded <= :known OR EXISTS (SELECT 1 FROM {SAID_THEN})))
    AND NOT EXISTS (SELECT 1 {_BEGUN} AND begun.person = planned.person AND begun.at <= :at)
    GROUP BY 1"""
_PAGE = """SELECT name.name, spoke.active FROM ({}) AS spoke JOIN name USING (no)
    WHERE spoke.active BETWEEN :since AND :until
    AND (spoke.active, name.name) < (:after, :name)
    ORDER BY spoke.active DESC, name.name DESC LIMIT :limit"""
_SESSIONS = _PAGE.format(_SPOKE.format("session", "owner"))
_USERS = _PAGE.format(f"{_SPOKE.format('person', 'person')} UNION ALL {_PLANNED}")
