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

    def of(self, text: str) -> Iterator[Clause]:
        """All clauses of all sentences."""
        begin = start = 0
        ends: list[tuple[int, int]] = []
        for match in chain(self._split.finditer(text), (None,)):
            end, after = match.span() if match else (len(text), len(text))
            if start < end:
                ends.append((start, end))
            start = after
            if match is None or match["end"] is not None:
                is_question = match is not None and ("?" in match[0] or "？" in match[0])
                for borders in ends:
                    yield Clause(*borders, begin, after, is_question and borders is ends[-1])
                begin, ends = after, []

    def falls_apart(self, value: str) -> bool:
        """Whether a value has the border of a clause in it."""
        return self._clause.search(value) is not None
