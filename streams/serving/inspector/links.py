"""The addresses of the inspector's pages.

Every link keeps the two clocks of its page, so a reader stays at the same point in time.
"""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

CLOCKS = ("as_of", "known_at")


class Links(NamedTuple):
    """`as_of` and `known_at` are RFC 3339 text (None: now)."""

    as_of: str | None = None
    known_at: str | None = None

    def to(self, path: str, **query: Any) -> str:
        """A path with parameters, except None and ""."""
        parameters = {"as_of": self.as_of, "known_at": self.known_at} | query
        text = urlencode(
            {name: value for name, value in parameters.items() if value not in (None, "")}
        )
        return f"{path}?{text}" if text else path

    def user(self, user_id: str, **query: Any) -> str:
        return self.to(f"/users/{part(user_id)}", **query)

    def facts(self, user_id: str, **query: Any) -> str:
        """All facts of a user."""
        return self.to(f"/users/{part(user_id)}/facts", **query)

    def session(self, session_id: str, event_id: str | None = None, **query: Any) -> str:
        """A session, at one of its turns."""
        there = self.to(f"/sessions/{part(session_id)}", turn=event_id, **query)
        return there if event_id is None else f"{there}#{anchor(event_id)}"

    def state(self, entity_id: str, **query: Any) -> str:
        """The revisions of a state, a preference, or another entity."""
        return self.to(f"/states/{part(entity_id)}", **query)

    def plan(self, user_id: str, plan_id: str, **query: Any) -> str:
        """A write plan; ids of plans are unique for their user."""
        return self.to(f"/users/{part(user_id)}/plans/{part(plan_id)}", **query)

    def letter(self, letter_id: str, **query: Any) -> str:
        return self.to(f"/letters/{part(letter_id)}", **query)

    def hit(self, hit: dict[str, Any]) -> str:
        """The page of a search hit."""
        if hit["kind"] == "event" and hit["session_id"]:
            return self.session(hit["session_id"], hit["id"])
        return self.state(hit["id"])

    def at(self, as_of: str | None, known_at: str | None) -> "Links":
        return Links(as_of, known_at)


def part(id: str) -> str:
    """An id as a part of a path. A trailing `.json` is escaped."""
    quoted = quote(id, safe="")
    return quoted[:-5] + "%2Ejson" if quoted.endswith(".json") else quoted


def anchor(id: str) -> str:
    """The `id` that an element of a page has, for a turn or another thing."""
    return "at-" + quote(id, safe="").replace("%", "_")
