"""The users and sessions of an index, with counts that are kept as documents come.

A name's `turns` and `others` (of a user its sessions, of a session its users) follow from `talk`,
which has a row for each user in each session, by triggers. So a list costs what its page shows.
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
-- turns that have ended, as they were until then: `talk` counts them as ended
CREATE TABLE begun (
    doc INTEGER PRIMARY KEY, session INTEGER, person INTEGER, at INTEGER, recorded INTEGER
);
CREATE INDEX begun_session ON begun (session);
CREATE INDEX begun_person ON begun (person);
CREATE INDEX begun_at ON begun (at);
-- write plans of a user and a time; `recorded`: when the first of them was
CREATE TABLE planned (
    at INTEGER, person INTEGER, recorded INTEGER, PRIMARY KEY (at, person)
) WITHOUT ROWID;
-- hours in which somebody was active; `recorded`: when the first turn or plan of the hour was
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
"""Behind an id's prefix: after every id that begins so."""
FAR = 2**62
SAID_THEN = f"""passage JOIN doc ON doc.id BETWEEN no * {STRETCH} AND no * {STRETCH} + {STRETCH - 1}
    WHERE passage.session = talk.session AND earliest <= :at AND doc.kind = 'event'
    AND coalesce(doc.person, 0) = talk.person
    AND doc.at <= :at AND doc.at + doc.recorded <= :known"""
"""SQL of the turns of a row of `talk` by a time, as known at another."""

Order = Literal["last_active", "id"]
ORDERS: tuple[Order, ...] = ("last_active", "id")


class Listing(msgspec.Struct, frozen=True, kw_only=True):
    """Which users or sessions are listed; times are microseconds since 1970-01-01 UTC.

    By `last_active` the latest come first, by `id` the smallest. `prefix`: their ids begin so.
    `since` and `until` bound the time they were last active. `user_id`: only sessions of this user.
    `after`: the last one of the page before, as (last active, id). `now`: counts are as of then.
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
    """A user; `active` in microseconds. `states` and `preferences` count those that hold."""

    user_id: str
    active: int
    turns: int
    sessions: int
    states: int
    preferences: int


class Session(msgspec.Struct, frozen=True):
    """A session; times in microseconds. `user_id` is of its earliest turn that names a user,
    `users` how many spoke, `memory` how many items of session memory hold."""

    session_id: str
    user_id: str | None
    users: int
    begun: int | None
    active: int
    turns: int
    memory: int


# --- keeping --------------------------------------------------------------------------------------


class Spoken(NamedTuple):
    """A turn: the numbers of its session and user (0: none), its time, and when it was
    recorded."""

    session: int
    person: int
    at: int
    recorded: int


class Counts:
    """What one transaction changes in the counts."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self._db = db
        self._touched: set[tuple[int, int]] = set()
        self._hours: dict[int, int] = {}

    def add(self, turns: Iterable[Spoken]) -> None:
        """New turns."""
        found: dict[tuple[int, int], list[int]] = {}
        for session, person, at, recorded in turns:
            talk = found.setdefault((session, person), [0, at, at, recorded, recorded])
            talk[0] += 1
            talk[1], talk[2] = min(talk[1], at), max(talk[2], at)
            talk[3], talk[4] = min(talk[3], recorded), max(talk[4], recorded)
            self.active(at, recorded)
        self._db.executemany(
            "INSERT INTO talk VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
            "turns = turns + excluded.turns, first = min(first, excluded.first), "
            "latest = max(latest, excluded.latest), "
            "first_recorded = min(first_recorded, excluded.first_recorded), "
            "last_recorded = max(last_recorded, excluded.last_recorded)",
            ((*pair, *talk) for pair, talk in found.items()),
        )
        self._touched |= found.keys()

    def count_again(self, session: int, turns: Iterable[Spoken]) -> None:
        """Turns of a session were replaced; these are all that it has."""
        known = self._db.execute("SELECT session, person FROM talk WHERE session = ?", [session])
        self._touched |= set(known.fetchall())
        self._db.execute("DELETE FROM talk WHERE session = ?", [session])
        self.add(turns)

    def touch(self, number: int, at: int) -> None:
        """Another record of a user or session came."""
        sql = "UPDATE name SET changed = max(coalesce(changed, ?1), ?1) WHERE no = ?2"
        self._db.execute(sql, [at, number])

    def plan(self, plans: Iterable[tuple[int, int, int]]) -> None:
        """Write plans came: (time, number of their user, when the first of them was recorded)."""
        every = list(plans)
        sql = (
            "INSERT INTO planned VALUES (?, ?, ?) "
            "ON CONFLICT DO UPDATE SET recorded = min(recorded, excluded.recorded)"
        )
        self._db.executemany(sql, every)
        for at, _, recorded in every:
            self.active(at, recorded)

    def active(self, at: int, recorded: int) -> None:
        """Somebody was active at a time, which was recorded at another."""
        hour = at // HOUR
        self._hours[hour] = min(recorded, self._hours.get(hour, recorded))

    def settle(self) -> None:
        """Before the transaction ends."""
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

_HELD = """(SELECT count(*) FROM doc WHERE doc.owner = name.no AND doc.kind = '{}'
    AND doc.kind <> 'event' AND doc.until > :now AND doc.since <= :now)"""
_USER = f"name, active, turns, others, {_HELD.format('state')}, {_HELD.format('preference')}"
_SESSION = f"""name,
    (SELECT user.name FROM talk JOIN name AS user ON user.no = person
        WHERE session = name.no ORDER BY first, user.name LIMIT 1),
    others, (SELECT min(first) FROM talk WHERE session = name.no), active, turns,
    {_HELD.format("session_memory")}"""


def users(db: sqlite3.Connection, asked: Listing) -> list[User]:
    """A page of the users."""
    return [User(*row) for row in _rows(db, asked, "user", _USER)]


def sessions(db: sqlite3.Connection, asked: Listing) -> list[Session]:
    """A page of the sessions."""
    return [Session(*row) for row in _rows(db, asked, "session", _SESSION)]


def _rows(
    db: sqlite3.Connection, asked: Listing, kind: str, shown: str
) -> Sequence[tuple[Any, ...]]:
    given = {"kind": kind, "limit": asked.limit, "now": asked.now, "user": asked.user_id}
    given |= {"since": -FAR if asked.since is None else asked.since}
    given |= {"until": FAR if asked.until is None else asked.until}
    given |= {"from": asked.prefix, "to": asked.prefix + AFTER_ALL}
    where = "kind = :kind AND active BETWEEN :since AND :until AND name BETWEEN :from AND :to"
    where += " AND (turned IS NOT NULL OR changed IS NOT NULL)"  # what was said may be over
    if asked.user_id is not None:
        where += (
            " AND no IN (SELECT session FROM talk WHERE person = "
            "(SELECT no FROM name WHERE kind = 'user' AND name = :user))"
        )
    by = "active DESC, name DESC" if asked.order == "last_active" else "name"
    if asked.after is not None:
        given |= {"after": asked.after[0], "name": asked.after[1]}
        behind = "(active, name) < (:after, :name)"
        where += f" AND {behind if asked.order == 'last_active' else 'name > :name'}"
    sql = f"SELECT no FROM name WHERE {where} ORDER BY {by} LIMIT :limit"
    numbers = [number for (number,) in db.execute(sql, given)]
    listed = ", ".join(map(str, numbers))
    sql = f"SELECT no, {shown} FROM name WHERE no IN ({listed})"
    found = {number: row for number, *row in db.execute(sql, {"now": asked.now})}
    return [tuple(found[number]) for number in numbers]
