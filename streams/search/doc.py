"""What an index holds: a text to be found, and the terms that it is found under."""

from collections.abc import Sequence
from typing import NamedTuple

from streams.search import about
from streams.search.about import Span
from streams.search.query import Kind
from streams.search.tokens import terms

MOST_TERMS = 4000
"""Terms of one document that are indexed: the first ones."""
FOREVER = (1 << 63) - 1
ANSWER = "|"
"""Between a document's terms and those of its answer; no term, also to FTS5."""


class Doc(NamedTuple):
    """One text to be found; times are microseconds.

    True from `since` to `ends`, or to the next version. `seq` counts an owner's revisions.
    `hidden` is found, too, but not shown. `text` begins with the `said` characters of what a user
    said and ends with `answered`, what an agent said. `recorded`: when it came. `about`: the
    dates that it names.
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
    answered: str = ""
    said: int = 0
    recorded: int = 0
    about: tuple[Span, ...] = ()


def parts(doc: Doc) -> tuple[int | None, int | None, int | None]:
    """The columns `said`, `answered` and `recorded`."""
    if doc.kind != "event":
        return None, None, None
    return doc.said, len(doc.answered), doc.recorded - doc.at


def terms_of(doc: Doc) -> tuple[list[str], list[str]]:
    """The terms under which a document is found: all but those of an answer, and those."""
    said = doc.text[: len(doc.text) - len(doc.answered)]
    found = (terms(said) + terms(doc.hidden))[:MOST_TERMS]
    return found, terms(doc.answered)[: MOST_TERMS - len(found)]


def joined(said: list[str], answered: list[str]) -> str:
    """Terms as text in which each has a space of its own before and after it; those of an answer
    follow behind `ANSWER`."""
    return (
        f" {'  '.join(said)} {ANSWER} {'  '.join(answered)} "
        if answered
        else f" {'  '.join(said)} "
    )


def stored(
    found: list[str], kind: str, session: int | None, person: int | None, dates: Sequence[Span]
) -> str:
    owners = scope("k", kind), scope("s", session or 0), scope("u", person or 0)
    named = (scope("d", one) for one in about.listed(dates))
    return " ".join([*found, *terms(about.words(dates)), *owners, *named])


def scope(of: str, what: int | str) -> str:
    """The term of a kind, session, user or date; no text has it."""
    return f"§{of}{what}".replace("_", "-")  # FTS5 would make two terms of it
