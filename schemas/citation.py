"""Citations: short forms of ids in the text of a context pack.

A citation is a letter for the kind and the first digits of the id's SHA-256, so all have the same
length. `why` accepts one in place of an id.
"""

import re
from hashlib import sha256
from typing import NamedTuple, Self

LETTERS = {"state": "s", "preference": "p", "session_memory": "m", "event": "e"}
"""First letter of a citation, by kind; the mood is a state."""
DIGITS = 10
"""With a million ids in a tenant, one id in a million shares its citation with another id."""
PATTERN = re.compile(rf"([{''.join(LETTERS.values())}]):([0-9a-f]{{{DIGITS}}})", re.ASCII)
_KINDS = {letter: kind for kind, letter in LETTERS.items()}


class Citation(NamedTuple):
    """`kind` is the kind of a search hit, `digits` are hexadecimal."""

    kind: str
    digits: str

    def __str__(self) -> str:
        return f"{LETTERS[self.kind]}:{self.digits}"

    @classmethod
    def of(cls, kind: str, id: str) -> Self:
        """Returns the citation of an id."""
        return cls(kind, _digits(id))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parses a citation with or without brackets, or returns None for any other text."""
        match = PATTERN.fullmatch(text.removeprefix("[").removesuffix("]"))
        return cls(_KINDS[match[1]], match[2]) if match else None


def cited(kind: str, id: str) -> str:
    """Returns the text of an id's citation."""
    return f"{LETTERS[kind]}:{_digits(id)}"


def _digits(id: str) -> str:
    return sha256(id.encode()).hexdigest()[:DIGITS]
