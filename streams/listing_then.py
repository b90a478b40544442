"""Users and sessions as of a past time, for a reader who looks back. (Those of now are in the
search index: `streams.search.owners`.)

What had been said by then is in the index, too, as far as all is known: `streams.search.active`.
Here the log's narrow columns are read, of the newest days first: as of a time of knowledge, and
while there is no index. Times are microseconds since 1970-01-01 UTC.
"""

from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Any, Literal, NamedTuple

from schemas.time import DAY, EPOCH, parse_time
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.reading import load_revisions, rows

Json = dict[str, Any]
Listed = Literal["users", "sessions"]

LAST = parse_time("9999-12-30T00:00:00Z")
"""After all that anybody asks for."""
NEWEST = (1, 30)
"""Days that are read first: who was active then comes before all others."""


class Then(NamedTuple):
    """As of when, and which: those last active in a period, so many behind the last of the page
    before, as (last active, id)."""

    as_of: int = LAST
    known_at: int = LAST
    since: int = -LAST
    until: int = LAST
    after: tuple[int, str] = (LAST, "")
    limit: int = 20

    @property
    def sql(self) -> str:
        """The condition of a record that was there by then."""
        return f"epoch_us(occurred_at) <= {self.as_of} AND epoch_us(recorded_at) <= {self.known_at}"


def listed(root: Location, tenant: str, what: Listed, asked: Then) -> dict[str, Json]:
    """A page by id, the last active first: `last_active`, and how much there was. Of users `turns`,
    `sessions` and `states`; of sessions `user_id`, who spoke first in it, and `turns`."""
    with Lookup(root, tenant) as about:
        found = page(about, what, asked)
        told = counts(about, what, asked, found)
        if what == "users":
            states = _states(about, asked, found)
            told = {name: {**one, "states": states.get(name, 0)} for name, one in told.items()}
    return {name: {"last_active": at, **told[name]} for name, at in found.items()}


def page(about: Lookup, what: Listed, asked: Then) -> dict[str, str]:
    """Id -> last active, as RFC 3339 text; the last active first. Of a user without a turn by then
    the last plan counts."""
    newest = min(asked.as_of, asked.known_at, asked.after[0], asked.until)
    about.define("events", "plans")
    for days in NEWEST:
        found = _since_then(about, what, asked, newest - days * DAY)
        if len(found) >= asked.limit:
            return found
    return _since_then(about, what, asked, -LAST)


def _since_then(about: Lookup, what: Listed, asked: Then, since: int) -> dict[str, str]:
    """The page of those who were active since a time."""
    when = f"{asked.sql} AND {_since(since)}"
    for turns in (f"(FROM events WHERE {when})", _standing(asked, when)):
        but: Sequence[str] = ()
        if what == "users" and since > -LAST:
            but = _spoke_before(about, asked, when, turns)
        found, is_running = _page(about, what, asked, when, turns, but)
        if not is_running:
            break
    return found


def _page(
    about: Lookup, what: Listed, asked: Then, when: str, turns: str, but: Sequence[str]
) -> tuple[dict[str, str], bool]:
    """Of those who were active then, some left out; and whether any turn among all was running."""
    name, (at, after) = what[:-1] + "_id", asked.after
    planned = f"UNION ALL SELECT user_id, NULL, occurred_at, false FROM plans WHERE {when}"
    sql = f"""
        WITH everybody AS MATERIALIZED (
            SELECT name, coalesce(max(spoke), max(changed)) AS active, bool_or(running) AS running
            FROM (
                SELECT {name} AS name, occurred_at AS spoke, NULL AS changed,
                    status = 'running' AS running FROM {turns}
                {planned if what == "users" else ""}
            ) WHERE name IS NOT NULL {f"AND name NOT IN ({_listed(but)})" if but else ""} GROUP BY 1
        ), listed AS (
            SELECT name, active FROM everybody
            WHERE epoch_us(active) BETWEEN {asked.since} AND {asked.until}
                AND (epoch_us(active), name) < ({at}, {quoted(after)})
            ORDER BY active DESC, name DESC LIMIT {asked.limit}
        )
        SELECT name, active, running FROM (SELECT bool_or(running) AS running FROM everybody)
        LEFT JOIN listed ON true ORDER BY active DESC, name DESC
    """
    found = rows(about.db, sql)
    listed = {one["name"]: one["active"] for one in found if one["name"] is not None}
    return listed, bool(found[0]["running"])


def _standing(asked: Then, when: str) -> str:
    """SQL of the turns that fit a condition, of each what had come by then: what a running one says
    is over once the turn has ended, and that may be of another user and time."""
    running = f"SELECT session_id, event_id FROM events WHERE {when} AND status = 'running'"
    ended = f"""SELECT session_id, event_id FROM events
        WHERE {asked.sql} AND status <> 'running' AND (session_id, event_id) IN ({running})"""
    return f"""(SELECT * REPLACE ('stands' AS status) FROM events
        WHERE {when} AND (status <> 'running' OR (session_id, event_id) NOT IN ({ended})))"""


def _spoke_before(about: Lookup, asked: Then, when: str, turns: str) -> list[str]:
    """Users of whom there are plans alone then, and who spoke before."""
    sql = f"SELECT user_id FROM plans WHERE {when} EXCEPT SELECT user_id FROM {turns}"
    silent = [name for (name,) in about.db.execute(sql).fetchall()]
    if not silent:
        return []
    theirs = f"{asked.sql} AND user_id IN ({_listed(silent)})"
    sql = "SELECT user_id, bool_and(status = 'running') FROM {} GROUP BY 1"
    found = about.db.execute(sql.format(f"events WHERE {theirs}")).fetchall()
    if any(is_running for _, is_running in found):
        found = about.db.execute(sql.format(_standing(asked, theirs))).fetchall()
    return [name for name, _ in found]


def _since(at: int) -> str:
    """SQL that opens the files of these days alone."""
    if at < 0:
        return "true"
    day = (EPOCH + timedelta(microseconds=at)).date()
    return f"date >= DATE '{day}' AND epoch_us(occurred_at) >= {at}"


def counts(about: Lookup, what: Listed, asked: Then, found: dict[str, str]) -> dict[str, Json]:
    """Of users {turns, sessions}, of sessions {user_id, turns}."""
    if what == "sessions":
        spoken = _counts(about, asked, "session_id", "user_id", found)
        return {
            name: {"user_id": one["first"], "turns": one["turns"]} for name, one in spoken.items()
        }
    spoken = _counts(about, asked, "user_id", "session_id", found)
    return {
        name: {
            "turns": spoken[name]["turns"] if name in spoken else 0,
            "sessions": spoken[name]["others"] if name in spoken else 0,
        }
        for name in found
    }


def _counts(
    about: Lookup, asked: Then, by: str, other: str, page: dict[str, str]
) -> dict[str, Json]:
    """Of each name on a page its `turns`, how many of the `others` it was with, and the `first`."""
    when = f"{asked.sql} AND {by} IN ({_listed(page)})"
    found: list[Json] = []
    for turns in (f"(FROM events WHERE {when})", _standing(asked, when)):
        sql = f"""
            SELECT {by} AS name, count(DISTINCT (session_id, event_id)) AS turns,
                count(DISTINCT {other}) AS others,
                arg_min({other}, (occurred_at, {other})) AS first,
                bool_or(status = 'running') AS running
            FROM {turns} GROUP BY 1
        """
        found = rows(about.db, sql)
        if not any(one["running"] for one in found):
            break
    return {one["name"]: one for one in found}


def _states(about: Lookup, asked: Then, page: dict[str, str]) -> dict[str, int]:
    """How many held of each user, the mood not among them."""
    theirs = f"owner_id IN ({_listed(page)})"
    # the list alone tells which files may have any; with `coalesce` only those rows are read
    theirs += f" AND coalesce({theirs}, false)"
    mood = "kind IS DISTINCT FROM 'long_mood_state'"  # most revisions may be its own
    load_revisions(about, f"{theirs} AND entity_type = 'state' AND {mood}")
    at, known = (f"make_timestamptz({one})" for one in (asked.as_of, asked.known_at))
    sql = f"SELECT owner_id, count(*) AS n FROM state_as_of({at}, {known}) GROUP BY 1"
    return {one["owner_id"]: one["n"] for one in rows(about.define("state_as_of"), sql)}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(quoted, names)) or "NULL"
