"""What is asked of the search, and what it answers with. Times are RFC 3339 text outside.

Apart from the rest, so that the API can name these types without opening SQLite.
"""

import re
from typing import Annotated, Literal

import msgspec

from schemas.memory_kinds import SEARCHED
from streams.dates.period import parse_period
from streams.errors import UsageError

By = Literal["both", "words", "meaning"]
Kind = str
KINDS: tuple[Kind, ...] = SEARCHED
MAX_LIMIT = 100
MAX_NEIGHBOURS = 5
EXCERPT = 600
"""Characters of a hit's text, and of a neighbour's, that are shown."""
CURSOR = r"^[0-9]{1,17}:-?[0-9]{1,9}(\.[0-9]{1,20})?(e-[0-9]{1,3})?:[0-9]{1,15}$"
"""When the first page was asked for, the last hit's score, and its number in the index."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """`text` and what narrows it; times are microseconds since 1970-01-01 UTC.

    `as_of`: events up to then, and of the rest what was true then; without it, events of all times
    and the newest version of the rest. `now` is what recency counts from. `cursor` is that of the
    page before. `neighbours`: how many turns on each side an event is shown with.
    `about`: only what names a date with a moment between two times; then `text` may be empty.
    `by`: `words` or `meaning` alone, to compare them.
    """

    text: str
    now: int
    user_id: str | None = None
    session_id: str | None = None
    kinds: tuple[Kind, ...] = KINDS
    since: int | None = None
    until: int | None = None
    as_of: int | None = None
    limit: int = 10
    cursor: str | None = None
    neighbours: int = 0
    about: tuple[int, int] | None = None
    by: By = "both"


class Neighbour(msgspec.Struct, frozen=True):
    """A turn of the same session, so many turns after an event that was found; before: negative.

    `text` is at most its first `EXCERPT` characters.
    """

    place: int
    id: str
    user_id: str | None
    at: str
    text: str


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """One event, or document of what is remembered.

    `text` is at most `EXCERPT` characters of it, around what matched; `matches` are the parts of
    `text` that did, as [start, end) in code points. `why`: part -> what it adds to `score`.
    `valid_to`: when it ceased to be true, if it did. `about_start` and `about_end` (no longer part
    of it): the date that it names, the first in the period of `about`. These and `neighbours` are
    left out of JSON where there are none.
    """

    kind: Kind
    id: str
    session_id: str | None
    user_id: str | None
    at: str
    valid_to: str | None
    text: str
    matches: list[tuple[int, int]]
    score: float
    why: dict[str, float]
    neighbours: list[Neighbour] = msgspec.field(default_factory=list)
    about_start: str | None = None
    about_end: str | None = None


class Turn(msgspec.Struct, frozen=True):
    """A turn as it stands, whole; times are microseconds since 1970-01-01 UTC."""

    event_id: str
    session_id: str
    user_id: str | None
    at: int
    recorded_at: int
    user_input: str
    agent_answer: str


class Page(msgspec.Struct, frozen=True):
    """The best hits, and the cursor of the next page; None: there are no more."""

    hits: list[Hit]
    cursor: str | None


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """Where a page ended: the next begins below this score and place."""

    now: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    score: float
    place: int


def period(about: str | None) -> tuple[int, int] | None:
    """What `about` names: `2023`, `2023-05`, `2023-05-01..2023-05-14`. Raises UsageError."""
    try:
        return None if about is None else parse_period(about)
    except ValueError as error:
        raise UsageError(f"about: {error}") from None


def encode(cursor: Cursor) -> str:
    """A cursor as text that needs no escaping in a URL, and that `CURSOR` describes whole."""
    return f"{cursor.now}:{cursor.score!r}:{cursor.place}"


def decode(text: str) -> Cursor:
    """The cursor that `encode` made. Raises UsageError for any other text."""
    if not re.fullmatch(CURSOR, text, re.ASCII):
        raise UsageError("cursor: not a cursor of this list; omit it")
    now, score, number = text.split(":")
    return Cursor(int(now), float(score), int(number))
