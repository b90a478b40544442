"""The addresses of the inspector's pages.

Every link keeps the two clocks of the page that it stands on, so that a reader who looks at memory
as of a time goes on doing so.
"""

from typing import Any, NamedTuple
from urllib.parse import quote, urlencode

CLOCKS = ("as_of", "known_at")


class Links(NamedTuple):
    """`as_of` and `known_at` are RFC 3339 text, as the page was asked for; None: now."""

    as_of: str | None = None
    known_at: str | None = None

    def to(self, path: str, **query: Any) -> str:
        """A path with parameters; those that are None or "" are left out."""
        given = {"as_of": self.as_of, "known_at": self.known_at} | query
        said = urlencode({name: one for name, one in given.items() if one not in (None, "")})
        return f"{path}?{said}" if said else path

    def user(self, user_id: str, **query: Any) -> str:
        """What is held of a user."""
        return self.to(f"/users/{part(user_id)}", **query)

    def session(self, session_id: str, event_id: str | None = None, **query: Any) -> str:
        """A session, at one of its turns."""
        there = self.to(f"/sessions/{part(session_id)}", turn=event_id, **query)
        return there if event_id is None else f"{there}#{anchor(event_id)}"

    def state(self, entity_id: str, **query: Any) -> str:
        """The life of a state, a preference, or another thing that has revisions."""
        return self.to(f"/states/{part(entity_id)}", **query)

    def plan(self, user_id: str, plan_id: str, **query: Any) -> str:
        """A write plan; ids of plans are unique for their user."""
        return self.to(f"/users/{part(user_id)}/plans/{part(plan_id)}", **query)

    def letter(self, letter_id: str, **query: Any) -> str:
        """A dead letter."""
        return self.to(f"/letters/{part(letter_id)}", **query)

    def hit(self, hit: dict[str, Any]) -> str:
        """Where what a search has found is shown."""
        if hit["kind"] == "event" and hit["session_id"]:
            return self.session(hit["session_id"], hit["id"])
        return self.state(hit["id"])

    def at(self, as_of: str | None, known_at: str | None) -> "Links":
        """The same at other times."""
        return Links(as_of, known_at)


def part(id: str) -> str:
    """An id as a part of a path. `.json` at its end would ask for the JSON."""
    quoted = quote(id, safe="")
    return quoted[:-5] + "%2Ejson" if quoted.endswith(".json") else quoted


def anchor(id: str) -> str:
    """The `id` that an element of a page has, for a turn or another thing."""
    return "at-" + quote(id, safe="").replace("%", "_")
