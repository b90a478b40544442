"""Users and sessions as of a past time, the last active first, out of an index.

What was said last before that time is read first: the newest turns, then more, then all.
"""

import sqlite3
from collections.abc import Iterator
from typing import Literal

import msgspec

from streams.search.owners import FAR

NEWEST = 500, 20_000
"""Turns before the time that are looked at first: who spoke in them comes before all others."""


class Active(msgspec.Struct, frozen=True, kw_only=True):
    """Those active by `at`, last active in a period, so many behind the last one of the page
    before, as (last active, id). Times are microseconds since 1970-01-01 UTC."""

    kind: Literal["user", "session"]
    at: int
    limit: int
    since: int = -FAR
    until: int = FAR
    after: tuple[int, str] = (FAR, "")


def active_then(db: sqlite3.Connection, asked: Active) -> dict[str, int]:
    """Id -> last active. Of a user without a turn by then the last plan counts."""
    found: dict[str, int] = {}
    for since in _windows(db, asked):
        given = {
            "from": since, "at": asked.at, "since": asked.since, "until": asked.until,
            "after": asked.after[0], "name": asked.after[1], "limit": asked.limit,
        }  # fmt: skip
        found = dict(db.execute(_USERS if asked.kind == "user" else _SESSIONS, given).fetchall())
        if len(found) >= asked.limit or since <= asked.since:
            break
    return found


def _windows(db: sqlite3.Connection, asked: Active) -> Iterator[int]:
    """Since when to look; all who were active later than that are then known."""
    newest = min(asked.at, asked.until, asked.after[0])
    sql = "SELECT at FROM doc WHERE kind = 'event' AND at <= ? ORDER BY at DESC LIMIT 1 OFFSET ?"
    for turns in NEWEST:
        if (found := db.execute(sql, [newest, turns]).fetchone()) is None:
            break
        yield found[0]
    yield -FAR


_SPOKE = """SELECT {0} AS no, max(at) AS active FROM (
        SELECT {1} AS {0}, at FROM doc
        WHERE kind = 'event' AND at BETWEEN :from AND :at AND coalesce({1}, 0) > 0
        UNION ALL SELECT begun.{0}, begun.at FROM begun JOIN doc ON doc.id = begun.doc
        WHERE begun.at BETWEEN :from AND :at AND doc.at > :at AND begun.{0} > 0
    ) GROUP BY 1"""
"""A turn that ended later is where and when it had begun."""
_PLANNED = """SELECT person AS no, max(at) AS active FROM planned
    WHERE at BETWEEN :from AND :at
    AND NOT EXISTS (SELECT 1 FROM talk WHERE talk.person = planned.person AND first <= :at)
    AND NOT EXISTS (SELECT 1 FROM begun JOIN doc ON doc.id = begun.doc
        WHERE begun.person = planned.person AND begun.at <= :at AND doc.at > :at)
    GROUP BY 1"""
_PAGE = """SELECT name.name, spoke.active FROM ({}) AS spoke JOIN name USING (no)
    WHERE spoke.active BETWEEN :since AND :until
    AND (spoke.active, name.name) < (:after, :name)
    ORDER BY spoke.active DESC, name.name DESC LIMIT :limit"""
_SESSIONS = _PAGE.format(_SPOKE.format("session", "owner"))
_USERS = _PAGE.format(f"{_SPOKE.format('person', 'person')} UNION ALL {_PLANNED}")
