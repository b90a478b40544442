"""The tour of the demo's story: five pages, from a question to its reason to its past.

A step is an address with `tour=1` and so on; its text is above the page. It uses the sample's users
(`streams.sample`), so it is offered where they exist.
"""

from typing import Any, NamedTuple

from streams.sample import HOME, PERSON
from streams.serving.inspector.links import Links

TOUR = "tour"
QUESTION = "Where does Emma live?"
SESSION, TURN = "emma-move", "emma-move-8"
BEFORE = "2026-03-05T23:59:59Z"
"""When Emma still lived elsewhere."""


class TourStep(NamedTuple):
    """One of the tour's pages; `text` is a key of the catalogue."""

    text: str
    address: str


def _step(number: int, text: str, address: str) -> TourStep:
    path, mark, place = address.partition("#")
    return TourStep(text, f"{path}{'&' if '?' in path else '?'}{TOUR}={number}{mark}{place}")


_NOW, _THEN = Links(), Links(as_of=BEFORE, known_at=BEFORE)
STEPS = tuple(
    _step(number, *step)
    for number, step in enumerate(
        (
            ("tour.question", _NOW.user(PERSON, q=QUESTION)),
            ("tour.reason", _NOW.state(HOME)),
            ("tour.turn", _NOW.session(SESSION, TURN)),
            ("tour.past", _THEN.user(PERSON, q=QUESTION)),
            ("tour.search", _NOW.to("/", q=QUESTION)),
        ),
        1,
    )
)
FIRST = STEPS[0].address


def step(number: str | None) -> dict[str, Any] | None:
    """The step for a page's `tour` parameter, with its number and the next address, or None if
    invalid."""
    if number is None or number not in map(str, range(1, len(STEPS) + 1)):
        return None
    at = int(number)
    following = STEPS[at].address if at < len(STEPS) else None
    return {"number": at, "of": len(STEPS), "text": STEPS[at - 1].text, "next": following}


def is_told(answer: dict[str, Any]) -> bool:
    """Whether the lists of the start page name the story's person and session."""
    people = (answer.get("people") or {}).get("users", [])
    sessions = (answer.get("sessions") or {}).get("sessions", [])
    return any(user["user_id"] == PERSON for user in people) and any(
        session["session_id"] == SESSION for session in sessions
    )
