"""Users and sessions as of a past time, for a reader who looks back. (Those of now, with all
counts, are in the search index: `streams.search.owners`.)

Here the log's narrow columns are read: who had spoken by then, and of those that a page shows how
much. Times are microseconds since 1970-01-01 UTC.
"""

from typing import Any, NamedTuple

from schemas.time import parse_time
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.reading import load_revisions, rows

Json = dict[str, Any]

LAST = parse_time("9999-12-30T00:00:00Z")
"""After all that anybody asks for."""


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


def users(root: Location, tenant: str, asked: Then) -> list[Json]:
    """The last active first: {user_id, last_active, turns, sessions, states}."""
    planned = f"SELECT user_id, NULL, occurred_at FROM plans WHERE {asked.sql}"
    with Lookup(root, tenant) as about:
        about.define("events", "plans")
        page = _page(about, asked, f"{_spoke('user_id', asked)} UNION ALL {planned}")
        spoken = _counts(about, asked, "user_id", "session_id", page)
        held = _states(about, asked, page)
    nothing = {"turns": 0, "others": 0}
    return [
        {
            "user_id": name,
            "last_active": active,
            "turns": spoken.get(name, nothing)["turns"],
            "sessions": spoken.get(name, nothing)["others"],
            "states": held.get(name, 0),
        }
        for name, active in page.items()
    ]


def sessions(root: Location, tenant: str, asked: Then) -> list[Json]:
    """The last active first: {session_id, user_id, last_active, turns}; `user_id` is the first who
    spoke in it."""
    spoke = _spoke("session_id", asked)
    with Lookup(root, tenant) as about:
        about.define("events")
        page = _page(about, asked, spoke)
        spoken = _counts(about, asked, "session_id", "user_id", page)
    return [
        {
            "session_id": name,
            "user_id": spoken[name]["first"],
            "last_active": active,
            "turns": spoken[name]["turns"],
        }
        for name, active in page.items()
    ]


def _spoke(column: str, asked: Then) -> str:
    return (
        f"SELECT {column} AS name, occurred_at AS spoke, NULL AS changed FROM events "
        f"WHERE {asked.sql}"
    )


def _page(about: Lookup, asked: Then, seen: str) -> dict[str, str]:
    """Name -> last active, as RFC 3339 text. `seen`: SQL of `name`, and when it `spoke`, or when
    something else was said of it."""
    at, name = asked.after
    sql = f"""
        SELECT name, coalesce(max(spoke), max(changed)) AS active FROM ({seen})
        WHERE name IS NOT NULL GROUP BY name
        HAVING epoch_us(active) BETWEEN {asked.since} AND {asked.until}
            AND (epoch_us(active), name) < ({at}, {quoted(name)})
        ORDER BY active DESC, name DESC LIMIT {asked.limit}
    """
    return {one["name"]: one["active"] for one in rows(about.db, sql)}


def _counts(
    about: Lookup, asked: Then, by: str, other: str, page: dict[str, str]
) -> dict[str, Json]:
    """Of each name on a page its `turns`, how many of the `others` it was with, and the `first`."""
    sql = f"""
        SELECT {by} AS name, count(DISTINCT event_id) AS turns, count(DISTINCT {other}) AS others,
            arg_min({other}, (occurred_at, {other})) AS first
        FROM events WHERE {asked.sql} AND {by} IN ({_listed(page)}) GROUP BY 1
    """
    return {one["name"]: one for one in rows(about.db, sql)}


def _states(about: Lookup, asked: Then, page: dict[str, str]) -> dict[str, int]:
    """How many states of each user held, the mood not among them."""
    mood = "kind IS DISTINCT FROM 'long_mood_state'"  # most revisions may be its own
    load_revisions(about, f"owner_id IN ({_listed(page)}) AND entity_type = 'state' AND {mood}")
    at, known = (f"make_timestamptz({one})" for one in (asked.as_of, asked.known_at))
    sql = f"SELECT owner_id, count(*) AS n FROM state_as_of({at}, {known}) GROUP BY 1"
    return {one["owner_id"]: one["n"] for one in rows(about.define("state_as_of"), sql)}


def _listed(page: dict[str, str]) -> str:
    return ", ".join(map(quoted, page)) or "NULL"
