"""The types of search queries and results.

A separate module, so that the API can use these types without loading SQLite.
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
"""Maximum characters of a hit's text, and of a neighbour's."""
CURSOR = r"^[0-9]{1,17}:-?[0-9]{1,9}(\.[0-9]{1,20})?(e-[0-9]{1,3})?:[0-9]{1,15}$"
"""Time of the first page's query, the last hit's score, and its number in the index."""


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """A text and filters; times are microseconds since 1970-01-01 UTC.

    `as_of`: events up to then, and memory valid then; without it, all events and the newest version
    of memory. `now`: reference time of recency. `cursor`: from the previous page. `neighbours`:
    turns on each side of an event in the result. `about`: only documents with a date in this
    period; then `text` may be empty. `by`: `words` or `meaning` alone, to compare them.
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
    """A turn of a hit's session, `place` turns after it (negative: before it).

    `text`: its first characters, at most `EXCERPT`.
    """

    place: int
    id: str
    user_id: str | None
    at: str
    text: str


class Hit(msgspec.Struct, frozen=True, omit_defaults=True):
    """An event, or a document of memory.

    `text` is at most `EXCERPT` characters of it, around its matches; `matches`: matching parts of
    `text`, as [start, end) in code points. `why`: part -> its contribution to `score`. `valid_to`:
    end of its validity. `about_start` and `about_end` (exclusive): the date that it names, the
    first in the period of `about`. JSON omits these and `neighbours` without a value.
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
    """A complete turn; times are microseconds since 1970-01-01 UTC."""

    event_id: str
    session_id: str
    user_id: str | None
    at: int
    recorded_at: int
    user_input: str
    agent_answer: str


class Page(msgspec.Struct, frozen=True):
    """The best hits, and the cursor of the next page (None on the last one)."""

    hits: list[Hit]
    cursor: str | None


class Cursor(msgspec.Struct, frozen=True, array_like=True):
    """The end of a page: the next page starts below this score and place."""

    now: Annotated[int, msgspec.Meta(ge=0, lt=1 << 62)]
    score: float
    place: int


def period(about: str | None) -> tuple[int, int] | None:
    """Parses `about`: `2023`, `2023-05`, `2023-05-01..2023-05-14`. Raises UsageError."""
    try:
        return None if about is None else parse_period(about)
    except ValueError as error:
        raise UsageError(f"about: {error}") from None


def encode(cursor: Cursor) -> str:
    """Formats a cursor as text that matches `CURSOR` and needs no escaping in a URL."""
    return f"{cursor.now}:{cursor.score!r}:{cursor.place}"


def decode(text: str) -> Cursor:
    """Parses the result of `encode`. Raises UsageError for any other text."""
    if not re.fullmatch(CURSOR, text, re.ASCII):
        raise UsageError("cursor: not a cursor of this list; omit it")
    now, score, number = text.split(":")
    return Cursor(int(now), float(score), int(number))
