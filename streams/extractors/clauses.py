"""A text falls into sentences, a sentence into clauses."""

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple


class Clause(NamedTuple):
    """Where a clause lies in the text, and the sentence it is of. `asked`: it ends a question."""

    start: int
    end: int
    begin: int
    stop: int
    asked: bool


class Clauses:
    """How a language ends its sentences and clauses."""

    def __init__(self, sentence: str, clause: str) -> None:
        self._split = re.compile(f"(?P<end>{sentence})|{clause}")
        self._clause = re.compile(clause)

    def of(self, said: str) -> Iterator[Clause]:
        """All clauses of all sentences."""
        begin = start = 0
        ends: list[tuple[int, int]] = []
        for match in chain(self._split.finditer(said), (None,)):
            end, after = match.span() if match else (len(said), len(said))
            if start < end:
                ends.append((start, end))
            start = after
            if match is None or match["end"] is not None:
                asked = match is not None and ("?" in match[0] or "？" in match[0])
                for one in ends:
                    yield Clause(*one, begin, after, asked and one is ends[-1])
                begin, ends = after, []

    def is_wide(self, example: str) -> bool:
        """Whether it has several clauses."""
        return self._split.search(example[:-1]) is not None

    def falls_apart(self, value: str) -> bool:
        """Whether a value has the border of a clause in it."""
        return self._clause.search(value) is not None
