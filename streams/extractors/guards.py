"""What is not the user's own statement: a question, a condition, somebody else's words, a text
to be worked on, what is taken back at once."""

from collections.abc import Callable

from streams.extractors.clauses import Clause
from streams.extractors.patterns import Late
from streams.extractors.rule import Rule

MAX_SENTENCE = 240
MAX_AFTER = 40  # characters behind a sentence that may take back what ends in it
NOTHING = "(?!)"
WITH_OTHERS = frozenset(["household", "task", "instruction"])
"""Families of what names other people, and is the user's."""


class Guards:
    """The guards of a table, compiled (docs/extractors.md, "Adding a rule").

    `foreign`: of a sentence that is not the user's own statement; `supposed`: of one that states a
    condition, which an instruction may have; `doubt`: of such a clause; `asks`: what begins so is a
    request and no question; `others`: of a sentence about somebody else, unless the rule is;
    `request`: of a turn about a text, a role or a joke; `shown`: from here on it is about that;
    `intro`: the lines after a line with it are somebody else's;
    `revoked`: what stands after a thing not meant; `undone`: what takes an end back.
    """

    def __init__(self, late: Callable[[str], Late]) -> None:
        self._foreign, self._supposed, self._doubt = map(late, ("foreign", "supposed", "doubt"))
        self._asks, self._request, self._shown = map(late, ("asks", "request", "shown"))
        self._revoked, self._undone, self._others = map(late, ("revoked", "undone", "others"))
        self._intro = late("intro")

    def own_part(self, text: str) -> str:
        """What of a turn is about the user, and not about a text, a role or a joke."""
        introduction = self._shown.search(text)
        own_text = text[: introduction.start()] if introduction else text
        place = 0
        for line in own_text.split("\n")[:-1]:
            place += len(line) + 1
            if self._intro.search(line):
                own_text = own_text[:place]
                break
        return "" if self._request.search(own_text) else own_text

    def is_asked(self, text: str, clause: Clause) -> bool:
        """Whether a clause asks something, and is no request."""
        return clause.asked and self._asks.match(text, clause.start) is None

    def is_foreign(self, text: str, first: Clause, last: Clause, rule: Rule) -> bool:
        """Whether the sentence of a clause is not the user's own statement."""
        if self._revoked.match(text, last.end) or self._revoked.match(text, last.stop):
            return True
        begin, stop = first.begin, last.stop
        if stop - begin > MAX_SENTENCE or self._foreign.search(text, begin, stop):
            return True
        if rule.accepts != "order" and self._supposed.search(text, begin, stop):
            return True
        if (
            "whose" not in rule.pattern
            and rule.family not in WITH_OTHERS
            and self._others.search(text, begin, last.end)
        ):
            return True
        clause = text[first.start : last.end].strip()
        return self._doubt.search(clause) is not None and not self._asks.match(clause)

    def is_undone(self, text: str, first: Clause, last: Clause) -> bool:
        """Whether the words after an end withdraw it, or limit it to one occasion."""
        return self._undone.search(text, first.begin, last.stop + MAX_AFTER) is not None
