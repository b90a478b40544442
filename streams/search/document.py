"""The documents of an index and their terms."""

from collections.abc import Sequence
from typing import NamedTuple

from streams.search import dates_named
from streams.search.dates_named import Span
from streams.search.query import Kind
from streams.search.tokens import terms

MOST_TERMS = 4000
"""Maximum indexed terms of a document: the first ones."""
FOREVER = (1 << 63) - 1
ANSWER = "|"
"""Separates a document's terms from the terms of its answer; FTS5 does not index it."""


class Doc(NamedTuple):
    """A document; times are microseconds.

    Valid from `since` to `ends`, or to the next version. `seq` counts an owner's revisions.
    `hidden`: text that matches but is not in excerpts. `text` starts with `input_length` characters
    of the user's words and ends with `answer`, the agent's words. `recorded`: time of recording.
    `about`: the dates that it names.
    """

    kind: Kind
    key: str
    session: str | None
    user: str | None
    at: int
    since: int
    ends: int
    seq: int
    text: str
    hidden: str
    evidence: list[str]
    answer: str = ""
    input_length: int = 0
    recorded: int = 0
    about: tuple[Span, ...] = ()


def event_columns(doc: Doc) -> tuple[int | None, int | None, int | None]:
    """The columns `said`, `answered` and `recorded`."""
    if doc.kind != "event":
        return None, None, None
    return doc.input_length, len(doc.answer), doc.recorded - doc.at


def terms_of(doc: Doc) -> tuple[list[str], list[str]]:
    """Returns the terms of a document without its answer, and of the answer."""
    text = doc.text[: len(doc.text) - len(doc.answer)]
    text_terms = (terms(text) + terms(doc.hidden))[:MOST_TERMS]
    return text_terms, terms(doc.answer)[: MOST_TERMS - len(text_terms)]


def joined(text_terms: list[str], answer_terms: list[str]) -> str:
    """Joins terms with a separate space before and after each; the terms of an answer follow
    `ANSWER`."""
    text = f" {'  '.join(text_terms)} "
    return f"{text}{ANSWER} {'  '.join(answer_terms)} " if answer_terms else text


def fts_text(
    words: list[str], kind: str, session: int | None, person: int | None, dates: Sequence[Span]
) -> str:
    """The text of a document in the FTS5 table: its terms, and the terms of its scopes."""
    owners = scope("k", kind), scope("s", session or 0), scope("u", person or 0)
    keys = (scope("d", key) for key in dates_named.index_keys(dates))
    return " ".join([*words, *terms(dates_named.words(dates)), *owners, *keys])


def scope(prefix: str, key: int | str) -> str:
    """The term of a kind, session, user or date; it never occurs in a text."""
    return f"§{prefix}{key}".replace("_", "-")  # FTS5 would split it at "_"
