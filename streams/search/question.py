"""A text as a question to the index: its terms, rarest first, each with what it weighs.

Nothing in the text is ever a query language: what is asked are the terms that `tokens` finds.
"""

import math
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from streams.search.tokens import CJK_RUN, Token, tokens
from streams.search.words import STOP, STOP_EAST

MOST_CHARACTERS = 2000
MOST_TERMS = 24
"""Of a text: the rarest of its first terms."""
FIRST_TERMS = 100
DOCS = """
SELECT value, coalesce((SELECT docs FROM common WHERE term = value),
                       (SELECT doc FROM vocabulary WHERE term = value), 0) FROM json_each(?)
"""


class Asked(NamedTuple):
    """A term of the question; `place` counts the question's terms, `docs` has it how many."""

    term: str
    weight: float
    docs: int
    is_name: bool
    place: int


def ask(db: sqlite3.Connection, text: str, total: int) -> list[Asked]:
    """The terms of a question, rarest first."""
    told = _telling(text[:MOST_CHARACTERS])[:FIRST_TERMS]
    known = docs_with(db, list(dict.fromkeys(token.term for token in told)))
    found: dict[str, Asked] = {}
    for place, token in enumerate(told):
        term, first = token.term, token.start == 0
        if term not in found:
            docs = known[term]
            weight = math.log(1 + (total - docs + 0.5) / (docs + 0.5))
            found[term] = Asked(term, max(weight, 0.01), docs, _is_name(token.raw, first), place)
    rarest = sorted(found.values(), key=lambda one: (one.docs == 0, one.docs, one.place))
    return rarest[:MOST_TERMS]


def _telling(text: str) -> list[Token]:
    """A text's tokens without those that say nothing, unless there are no others."""
    given = tokens(text)
    pairs = {token.start for token in given if len(token.term) > 1 and CJK_RUN.match(token.term)}
    pairs |= {token.end for token in given if len(token.term) > 1 and CJK_RUN.match(token.term)}
    kept = [
        token for token in given
        if token.raw.lower().partition("'")[0] not in STOP and token.term not in STOP_EAST
        and not (len(token.term) == 1 and CJK_RUN.match(token.term)
                 and (token.start in pairs or token.end in pairs))
    ]  # fmt: skip
    return kept or given


def _is_name(raw: str, first: bool) -> bool:
    return any(one.isdigit() for one in raw) or (raw[0].isupper() and not first)


def docs_with(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    """How many documents have each term, as of the last count for common ones."""
    return dict(db.execute(DOCS, [msgspec.json.encode(terms).decode()]).fetchall())
