"""Whose a clause is that names nobody: who leaves out "I" leaves out a film's star, too."""

import re

from streams.extractors.clauses import Clause
from streams.extractors.patterns import loops_atomic


class Speaker:
    """How a language tells that a user speaks of themselves, compiled.

    `families`: of what may be said of anybody ("23岁"); `me`: the user, in a clause; `implied`:
    what may stand before a clause without them, in its sentence; `others`: who else such a
    sentence is about.
    """

    def __init__(
        self,
        families: frozenset[str] = frozenset(),
        *,
        me: str = "",
        implied: str = "",
        others: str = "(?!)",
    ) -> None:
        self._families = families
        self._me = re.compile(me)
        self._implied = re.compile(loops_atomic(implied))
        self._others = re.compile(others)

    def says(self, family: str, said: str, first: Clause, last: Clause) -> bool:
        """Whether what fits a rule of a family is said of the user."""
        if family not in self._families or self._me.search(said, first.start, last.end):
            return True
        return (
            self._implied.fullmatch(said, first.begin, first.start) is not None
            and self._others.search(said, first.begin, last.stop) is None
        )
