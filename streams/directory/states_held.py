"""Counts a user's valid states as of a time of recording.

The table has each revision of a state, because the documents of an index have the current
knowledge only."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

SCHEMA = """
CREATE TABLE state_revision (
    owner INTEGER, state TEXT, seq INTEGER,
    since INTEGER, ends INTEGER, -- of the version that it describes
    gone INTEGER, recorded INTEGER, PRIMARY KEY (owner, state, seq)
) WITHOUT ROWID;
"""

_VALID = """
WITH learnt AS (
    SELECT *, max(recorded) OVER (PARTITION BY state ORDER BY seq) AS learnt_at
    FROM state_revision WHERE owner = :owner
), version AS ( -- the last revision of each
    SELECT state, since, ends, gone, max(seq) FROM learnt
    WHERE learnt_at <= :known AND since <= :at GROUP BY state, since
), last AS (
    SELECT ends, max(since) FROM version WHERE NOT gone GROUP BY state
)
SELECT count(*) FROM last WHERE ends > :at
"""
"""Equivalent to the macro `state_as_of` (`sinks.views`). In SQLite, bare columns next to `max` come
from its row."""


class StateRevision(NamedTuple):
    """A revision of a user's state; times are microseconds since 1970-01-01 UTC."""

    owner: int
    state: str
    seq: int
    since: int
    ends: int
    gone: bool
    recorded: int


def note(db: sqlite3.Connection, revisions: Iterable[StateRevision]) -> None:
    """Stores revisions; existing ones stay unchanged."""
    sql = "INSERT OR IGNORE INTO state_revision VALUES (?, ?, ?, ?, ?, ?, ?)"
    db.executemany(sql, revisions)


def count(db: sqlite3.Connection, owner: int, at: int, known_at: int) -> int:
    """The number of states of a user valid at `at`, as recorded by `known_at`."""
    (states,) = db.execute(_VALID, {"owner": owner, "at": at, "known": known_at}).fetchone()
    return int(states)
