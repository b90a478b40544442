"""Lists the users and sessions of an index, with counts that are updated with its documents.

Triggers derive a name's `turns` and `others` (the sessions of a user, the users of a session) from
`talk`, which has a row for each user in each session. So the cost of a page depends on its size
alone.
"""

import sqlite3
from collections.abc import Iterable, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from schemas.time import HOUR

SCHEMA = """
CREATE TABLE name (
    no INTEGER PRIMARY KEY, kind TEXT, name TEXT,
    turns INTEGER DEFAULT 0, others INTEGER DEFAULT 0,
    turned INTEGER, -- time of the latest turn
    changed INTEGER, -- time of the latest other record
    active INTEGER AS (coalesce(turned, changed, 0)),
    UNIQUE (kind, name)
);
CREATE INDEX name_active ON name (kind, active, name);
CREATE TABLE talk (
    session INTEGER, person INTEGER, -- 0: turns that name no user
    turns INTEGER, first INTEGER, latest INTEGER,
    -- when the first and the last of these turns was recorded
    first_recorded INTEGER, last_recorded INTEGER, PRIMARY KEY (session, person)
) WITHOUT ROWID;
CREATE INDEX talk_person ON talk (person, latest);
-- ended turns as they were while they ran: `talk` counts them as ended
CREATE TABLE begun (
    doc INTEGER PRIMARY KEY, session INTEGER, person INTEGER, at INTEGER, recorded INTEGER
);
CREATE INDEX begun_session ON begun (session);
CREATE INDEX begun_person ON begun (person);
CREATE INDEX begun_at ON begun (at);
-- write plans by user and time; `recorded`: when the first one was recorded
CREATE TABLE planned (
    at INTEGER, person INTEGER, recorded INTEGER, PRIMARY KEY (at, person)
) WITHOUT ROWID;
-- hours with activity; `recorded`: when the first turn or plan of the hour was recorded
CREATE TABLE active_hour (hour INTEGER PRIMARY KEY, recorded INTEGER);
CREATE TRIGGER talk_begins AFTER INSERT ON talk BEGIN
    UPDATE name SET turns = turns + new.turns, others = others + (new.person > 0)
        WHERE no = new.session;
    UPDATE name SET turns = turns + new.turns, others = others + 1 WHERE no = new.person;
END;
CREATE TRIGGER talk_goes_on AFTER UPDATE ON talk BEGIN
    UPDATE name SET turns = turns + new.turns - old.turns WHERE no IN (new.session, new.person);
END;
CREATE TRIGGER talk_ends AFTER DELETE ON talk BEGIN
    UPDATE name SET turns = turns - old.turns, others = others - (old.person > 0)
        WHERE no = old.session;
    UPDATE name SET turns = turns - old.turns, others = others - 1 WHERE no = old.person;
END;
"""
STRETCH = 16
"""Documents of a passage (`streams.search.store`)."""
AFTER_ALL = "\U0010ffff" * 129
"""Appended to a prefix: sorts after every id with this prefix."""
FAR = 2**62
LINE = 120
"""Characters of a session's first line."""
TURNS_AS_OF = f"""passage
    JOIN doc ON doc.id BETWEEN no * {STRETCH} AND no * {STRETCH} + {STRETCH - 1}
    WHERE passage.session = talk.session AND earliest <= :at AND doc.kind = 'event'
    AND coalesce(doc.person, 0) = talk.person
    AND doc.at <= :at AND doc.at + doc.recorded <= :known"""
"""SQL of the turns of a row of `talk` as of :at, as recorded by :known."""

Order = Literal["last_active", "id"]
ORDERS: tuple[Order, ...] = ("last_active", "id")


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """A page of users or sessions; times are microseconds since 1970-01-01 UTC.

    Order: `last_active` is descending, `id` ascending. `prefix` filters ids. `since` and `until`
    bound the time of last activity. `user_id`: only sessions of this user. `after`: the last entry
    of the previous page, as (last active, id). `now`: the time of the counts.
    """

    now: int
    limit: int
    prefix: str = ""
    since: int | None = None
    until: int | None = None
    user_id: str | None = None
    order: Order = "last_active"
    after: tuple[int, str] | None = None


class User(msgspec.Struct, frozen=True):
    """A user; `active` in microseconds. `states` and `preferences` count the valid ones."""

    user_id: str
    active: int
    turns: int
    sessions: int
    states: int
    preferences: int


class Session(msgspec.Struct, frozen=True):
    """A session; times in microseconds. `user_id`: the user of its earliest turn with one. `users`
    counts its users, `memory` its current items of session memory. `first_line`: the start of the
    first turn's words, up to `LINE` characters; None if that turn has none, asks not to be kept, or
    is retracted."""

    session_id: str
    user_id: str | None
    users: int
    begun: int | None
    active: int
    turns: int
    memory: int
    first_line: str | None


# --- writing --------------------------------------------------------------------------------------


class Spoken(NamedTuple):
    """A turn: numbers of its session and user (0: none), its time, and the time of recording."""

    session: int
    person: int
    at: int
    recorded: int


class Counts:
    """The changes of one transaction to the counts."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._touched: set[tuple[int, int]] = set()
        self._hours: dict[int, int] = {}

    def add(self, turns: Iterable[Spoken]) -> None:
        """Adds new turns."""
        talks: dict[tuple[int, int], list[int]] = {}
        for session, person, at, recorded in turns:
            talk = talks.setdefault((session, person), [0, at, at, recorded, recorded])
            talk[0] += 1
            talk[1], talk[2] = min(talk[1], at), max(talk[2], at)
            talk[3], talk[4] = min(talk[3], recorded), max(talk[4], recorded)
            self.note_activity(at, recorded)
        self._db.executemany(
            "INSERT INTO talk VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "turns = turns + excluded.turns, first = min(first, excluded.first), "
            "latest = max(latest, excluded.latest), "
            "first_recorded = min(first_recorded, excluded.first_recorded), "
            "last_recorded = max(last_recorded, excluded.last_recorded)",
            ((*pair, *talk) for pair, talk in talks.items()),
        )
        self._touched |= talks.keys()

    def recount(self, session: int, turns: Iterable[Spoken]) -> None:
        """Replaces the counts of a session; `turns`: all its turns."""
        pairs = self._db.execute("SELECT session, person FROM talk WHERE session = ?", [session])
        self._touched |= set(pairs.fetchall())
        self._db.execute("DELETE FROM talk WHERE session = ?", [session])
        self.add(turns)

    def touch(self, number: int, at: int) -> None:
        """Notes the time of another record of a user or session."""
        sql = "UPDATE name SET changed = max(coalesce(changed, ?1), ?1) WHERE no = ?2"
        self._db.execute(sql, [at, number])

    def plan(self, plans: Iterable[tuple[int, int, int]]) -> None:
        """Adds write plans: (time, number of the user, when the first one was recorded)."""
        rows = list(plans)
        sql = (
            "INSERT INTO planned VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET recorded = min(recorded, excluded.recorded)"
        )
        self._db.executemany(sql, rows)
        for at, _, recorded in rows:
            self.note_activity(at, recorded)

    def note_activity(self, at: int, recorded: int) -> None:
        """Notes activity at a time, recorded at `recorded`."""
        hour = at // HOUR
        self._hours[hour] = min(recorded, self._hours.get(hour, recorded))

    def settle(self) -> None:
        """Writes the pending changes; call it before the transaction ends."""
        for column, place in (("session", 0), ("person", 1)):
            sql = f"UPDATE name SET turned = (SELECT max(latest) FROM talk WHERE {column} = no) "
            numbers = {pair[place] for pair in self._touched}
            self._db.executemany(f"{sql} WHERE no = ?", ((number,) for number in numbers))
        self._touched.clear()
        sql = (
            "INSERT INTO active_hour VALUES (?, ?) "
            "ON CONFLICT DO UPDATE SET recorded = min(recorded, excluded.recorded)"
        )
        self._db.executemany(sql, self._hours.items())
        self._hours.clear()


# --- listing --------------------------------------------------------------------------------------

_VALID = """(SELECT count(*) FROM doc WHERE doc.owner = name.no AND doc.kind = '{}'
    AND doc.kind <> 'event' AND doc.until > :now AND doc.since <= :now)"""
_USER = f"name, active, turns, others, {_VALID.format('state')}, {_VALID.format('preference')}"
_SESSION = f"""name,
    (SELECT user.name FROM talk JOIN name AS user ON user.no = person
        WHERE session = name.no ORDER BY first, user.name LIMIT 1),
    others, (SELECT min(first) FROM talk WHERE session = name.no), active, turns,
    {_VALID.format("session_memory")},
    (SELECT substr(text, 1, min(said, {LINE})) FROM doc WHERE kind = 'event' AND owner = name.no
        AND at = (SELECT min(first) FROM talk WHERE session = name.no)
        AND said > 0 AND until > :now ORDER BY key LIMIT 1)"""


def users(db: sqlite3.Connection, listing: Listing) -> list[User]:
    """Returns a page of users."""
    return [User(*row) for row in _rows(db, listing, "user", _USER)]


def sessions(db: sqlite3.Connection, listing: Listing) -> list[Session]:
    """Returns a page of sessions."""
    rows = _rows(db, listing, "session", _SESSION)
    return [Session(*(*row, text and text.strip().partition("\n")[0])) for *row, text in rows]


def _rows(
    db: sqlite3.Connection, listing: Listing, kind: str, columns: str
) -> Sequence[tuple[Any, ...]]:
    parameters = {"kind": kind, "limit": listing.limit, "now": listing.now, "user": listing.user_id}
    parameters |= {"since": -FAR if listing.since is None else listing.since}
    parameters |= {"until": FAR if listing.until is None else listing.until}
    parameters |= {"from": listing.prefix, "to": listing.prefix + AFTER_ALL}
    where = "kind = :kind AND active BETWEEN :since AND :until AND name BETWEEN :from AND :to"
    where += " AND (turned IS NOT NULL OR changed IS NOT NULL)"  # a name may have lost its turns
    if listing.user_id is not None:
        where += (
            " AND no IN (SELECT session FROM talk WHERE person = "
            "(SELECT no FROM name WHERE kind = 'user' AND name = :user))"
        )
    by = "active DESC, name DESC" if listing.order == "last_active" else "name"
    if listing.after is not None:
        parameters |= {"after": listing.after[0], "name": listing.after[1]}
        behind = "(active, name) < (:after, :name)"
        where += f" AND {behind if listing.order == 'last_active' else 'name > :name'}"
    sql = f"SELECT no FROM name WHERE {where} ORDER BY {by} LIMIT :limit"
    numbers = [number for (number,) in db.execute(sql, parameters)]
    listed = ", ".join(map(str, numbers))
    sql = f"SELECT no, {columns} FROM name WHERE no IN ({listed})"
    rows = {number: row for number, *row in db.execute(sql, {"now": listing.now})}
    return [tuple(rows[number]) for number in numbers]
