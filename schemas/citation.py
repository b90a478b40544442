"""Citations: the short form of an id, in the text of a context pack.

A letter for the kind and the first digits of the id's SHA-256, so that each has the same length
whatever the id is. `why` takes one in place of an id.
"""

import re
from hashlib import sha256
from typing import NamedTuple, Self

LETTERS = {"state": "s", "preference": "p", "session_memory": "m", "event": "e"}
"""What a citation begins with, by kind; the mood is a state."""
DIGITS = 10
"""Of a million ids in a tenant, one in a million shares its citation with another."""
PATTERN = re.compile(rf"([{''.join(LETTERS.values())}]):([0-9a-f]{{{DIGITS}}})", re.ASCII)
_KINDS = {letter: kind for kind, letter in LETTERS.items()}


class Citation(NamedTuple):
    """`kind` is that of a search hit, `digits` are hexadecimal."""

    kind: str
    digits: str

    def __str__(self) -> str:
        return f"{LETTERS[self.kind]}:{self.digits}"

    @classmethod
    def of(cls, kind: str, id: str) -> Self:
        """That of an id."""
        return cls(kind, _digits(id))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The citation that a text is, with or without its brackets; None for any other text."""
        found = PATTERN.fullmatch(text.removeprefix("[").removesuffix("]"))
        return cls(_KINDS[found[1]], found[2]) if found else None


def cited(kind: str, id: str) -> str:
    """What stands in a text for an id: its citation."""
    return f"{LETTERS[kind]}:{_digits(id)}"


def _digits(id: str) -> str:
    return sha256(id.encode()).hexdigest()[:DIGITS]
