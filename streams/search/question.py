"""Converts a text to weighted query terms, rarest first.

A text is never parsed as a query language: the query consists of its `tokens`.
"""

import math
import sqlite3
from collections.abc import Sequence
from typing import NamedTuple

import msgspec

from streams.search.stopwords import STOP, STOP_EAST
from streams.search.tokens import CJK_RUN, Token, tokens

MOST_CHARACTERS = 2000
MOST_TERMS = 24
"""Maximum terms of a query: the rarest of its first terms."""
FIRST_TERMS = 100
DOCS = """
SELECT value, coalesce((SELECT docs FROM common WHERE term = value),
                       (SELECT doc FROM vocabulary WHERE term = value), 0) FROM json_each(?)
"""


class QueryTerm(NamedTuple):
    """A term of a query; `place`: its position in the query, `docs`: number of documents with
    it."""

    term: str
    weight: float
    docs: int
    is_name: bool
    place: int


def query_terms(db: sqlite3.Connection, text: str, total: int) -> list[QueryTerm]:
    """Returns the terms of a query, rarest first. `total`: documents in the index."""
    words = _without_stop_words(text[:MOST_CHARACTERS])[:FIRST_TERMS]
    counts = docs_with(db, list(dict.fromkeys(token.term for token in words)))
    terms: dict[str, QueryTerm] = {}
    for place, token in enumerate(words):
        term, first = token.term, token.start == 0
        if term not in terms:
            docs = counts[term]
            weight = max(math.log(1 + (total - docs + 0.5) / (docs + 0.5)), 0.01)
            terms[term] = QueryTerm(term, weight, docs, _is_name(token.raw, first), place)
    rarest = sorted(terms.values(), key=lambda term: (term.docs == 0, term.docs, term.place))
    return rarest[:MOST_TERMS]


def _without_stop_words(text: str) -> list[Token]:
    """The tokens of a text without stop words, or all tokens if no others remain."""
    all_tokens = tokens(text)
    words = [token for token in all_tokens if len(token.term) > 1 and CJK_RUN.match(token.term)]
    pairs = {token.start for token in words} | {token.end for token in words}
    content = [
        token for token in all_tokens
        if token.raw.lower().partition("'")[0] not in STOP and token.term not in STOP_EAST
        and not (len(token.term) == 1 and CJK_RUN.match(token.term)
                 and (token.start in pairs or token.end in pairs))
    ]  # fmt: skip
    return content or all_tokens


def _is_name(raw: str, first: bool) -> bool:
    return any(char.isdigit() for char in raw) or (raw[0].isupper() and not first)


def docs_with(db: sqlite3.Connection, terms: Sequence[str]) -> dict[str, int]:
    """Returns term -> number of documents with it; for common terms as of the last count."""
    return dict(db.execute(DOCS, [msgspec.json.encode(terms).decode()]).fetchall())
