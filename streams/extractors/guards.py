"""What is not the user's own statement: a question, a condition, somebody else's words, a text
to be worked on, what is taken back at once."""

import re

from streams.extractors.clauses import Clause
from streams.extractors.patterns import loops_atomic

MAX_SENTENCE = 240
MAX_BEFORE = 14  # characters before a clause that may say when it was ("by the time")
MAX_AFTER = 40  # characters behind a sentence that may take back what ends in it


class Guards:
    """The patterns of one language, compiled.

    `foreign`: of a sentence that is not the user's own; `doubt`: of such a clause; `asks`: what
    begins so is a request and no question; `request`: of a turn about a text, a role or a joke;
    `shown`: from here on a turn is about that, and before it about the user;
    `revoked`: what stands after a thing not meant; `undone`: what takes an end back; `once`: what
    makes it of one occasion.
    """

    def __init__(
        self,
        *,
        foreign: str,
        doubt: str,
        asks: str,
        request: str,
        shown: str = "(?!)",
        revoked: str = "(?!)",
        undone: str = "(?!)",
        once: str = "(?!)",
    ) -> None:
        self._foreign = re.compile(loops_atomic(foreign))
        self._doubt = re.compile(loops_atomic(doubt))
        self._asks = re.compile(loops_atomic(asks))
        self._request = re.compile(loops_atomic(request))
        self._shown = re.compile(loops_atomic(shown))
        self._revoked = re.compile(loops_atomic(revoked))
        self._undone = re.compile(loops_atomic(undone))
        self._once = re.compile(loops_atomic(once))

    def own_part(self, said: str) -> str:
        """What of a turn is about the user, and not about a text, a role or a joke."""
        shown = self._shown.search(said)
        own = said[: shown.start()] if shown else said
        return "" if self._request.search(own) else own

    def is_foreign(self, said: str, first: Clause, last: Clause) -> bool:
        """Whether the clause asks, or its sentence is not the user's own statement."""
        if last.asked and not self._asks.match(said, last.start):
            return True
        if self._revoked.match(said, last.end) or self._revoked.match(said, last.stop):
            return True
        if last.stop - first.begin > MAX_SENTENCE or self._foreign.search(
            said, first.begin, last.stop
        ):
            return True
        clause = said[first.start : last.end].strip()
        return self._doubt.search(clause) is not None and not self._asks.match(clause)

    def is_undone(self, said: str, first: Clause, last: Clause) -> bool:
        """Whether an end was of one occasion, or what stands behind it takes it back."""
        if self._once.search(said, max(first.begin, first.start - MAX_BEFORE), last.stop):
            return True
        return self._undone.search(said, first.start, last.stop + MAX_AFTER) is not None
