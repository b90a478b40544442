"""Each revision of a user's states, so that it can be told which were held as of a time of
knowledge: the documents of an index are what is known now."""

import sqlite3
from collections.abc import Iterable
from typing import NamedTuple

SCHEMA = """
CREATE TABLE state_revision (
    owner INTEGER, state TEXT, seq INTEGER,
    since INTEGER, ends INTEGER, -- of the version that it says
    gone INTEGER, recorded INTEGER, PRIMARY KEY (owner, state, seq)
) WITHOUT ROWID;
"""

_HELD = """
WITH learnt AS (
    SELECT *, max(recorded) OVER (PARTITION BY state ORDER BY seq) AS learnt_at
    FROM state_revision WHERE owner = :owner
), version AS ( -- the last revision of each stands
    SELECT state, since, ends, gone, max(seq) FROM learnt
    WHERE learnt_at <= :known AND since <= :at GROUP BY state, since
), last AS (
    SELECT ends, max(since) FROM version WHERE NOT gone GROUP BY state
)
SELECT count(*) FROM last WHERE ends > :at
"""
"""As the macro `state_as_of` (`sinks.views`) has it. Columns beside `max` are those of its row."""


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
    """Keeps revisions; one that is there already stays."""
    sql = "INSERT OR IGNORE INTO state_revision VALUES (?, ?, ?, ?, ?, ?, ?)"
    db.executemany(sql, revisions)


def count(db: sqlite3.Connection, owner: int, at: int, known: int) -> int:
    """How many states of a user were held at a time, as known at another."""
    (states,) = db.execute(_HELD, {"owner": owner, "at": at, "known": known}).fetchone()
    return int(states)
