"""The request for a context pack."""

import msgspec

from schemas.context import SECTIONS
from streams.context.tokenizer import Count, estimated
from streams.errors import UsageError

FORMATS = ("markdown", "text", "json")
MAX_TOKENS = 1500
"""Default budget."""
LEAST, MOST = 1, 100_000
"""Bounds of the budget, in tokens."""


class PackRequest(msgspec.Struct, frozen=True, kw_only=True):
    """User, time and budget of a pack; times are microseconds since 1970-01-01 UTC.

    `text` is the user's current message: related memory ranks first. `session_id`: the current
    session. The pack has the memory valid at `at`, as recorded by `known_at` (None: no bound).
    `count` returns the tokens of a text.
    """

    user_id: str
    at: int
    text: str | None = None
    session_id: str | None = None
    max_tokens: int = MAX_TOKENS
    known_at: int | None = None
    sections: tuple[str, ...] = SECTIONS
    format: str = "markdown"
    count: Count = estimated


def checked(request: PackRequest) -> PackRequest:
    """Returns a valid request as it is. Raises UsageError otherwise."""
    if unknown := [name for name in request.sections if name not in SECTIONS]:
        raise UsageError(f"sections: no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    if not request.sections:
        raise UsageError(f"sections: name one of {', '.join(SECTIONS)}")
    if request.format not in FORMATS:
        raise UsageError(f"format: {request.format!r} is none of {', '.join(FORMATS)}")
    if not LEAST <= request.max_tokens <= MOST:
        raise UsageError(f"max_tokens: {request.max_tokens} is not between {LEAST} and {MOST:,}")
    return request
