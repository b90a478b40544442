"""What is asked of a context pack."""

import msgspec

from schemas.context import SECTIONS
from streams.context.tokens import Count, estimated
from streams.errors import UsageError

FORMATS = ("markdown", "text", "json")
MAX_TOKENS = 1500
"""The budget without another."""
LEAST, MOST = 1, 100_000
"""Tokens that one may ask for."""


class Question(msgspec.Struct, frozen=True, kw_only=True):
    """Whose memory, when and how much of it; times are microseconds since 1970-01-01 UTC.

    `text` is what the user asks now: turns about it are recalled. `session_id` is the session that
    goes on. `at` is the time that memory is true at, `known_at` the time it was known at; None: all
    that is known. `count` counts a text's tokens.
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


def checked(question: Question) -> Question:
    """The question. Raises UsageError where it names what there is not."""
    if unknown := [name for name in question.sections if name not in SECTIONS]:
        raise UsageError(f"sections: no section {unknown[0]!r}; there are {', '.join(SECTIONS)}")
    if not question.sections:
        raise UsageError(f"sections: name one of {', '.join(SECTIONS)}")
    if question.format not in FORMATS:
        raise UsageError(f"format: {question.format!r} is none of {', '.join(FORMATS)}")
    if not LEAST <= question.max_tokens <= MOST:
        raise UsageError(f"max_tokens: {question.max_tokens} is not between {LEAST} and {MOST:,}")
    return question
