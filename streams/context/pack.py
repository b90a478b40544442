"""Which items a budget holds.

The lasting sections are chosen first, and without a look at the question: what stands at the
beginning of the text is the same for every question, and a new fact adds a line (and, where the
budget is full, takes the place of another). Then come mood, session and recalled turns.
"""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from streams.context.items import LASTING, Item
from streams.context.render import NOTICE, Lines, heading, render
from streams.context.tokens import Count, estimated

SHARE = 0.6
"""Of the budget that the lasting sections may take where room is kept for what is asked."""


class Pack(NamedTuple):
    """`text` is what to paste, of `tokens` tokens; `items` what it shows, in its order. `left_out`
    counts the items for which there was no room."""

    text: str
    tokens: int
    items: list[Item]
    left_out: int


def pack(
    items: Sequence[Item],
    max_tokens: int,
    format: str = "markdown",
    *,
    recalls: bool = False,
    count: Count = estimated,
) -> Pack:
    """The best items that fit, each whole. A budget that holds none gives an empty text.

    `recalls`: turns or a session's memory were asked for, and room is kept for them.
    """
    shown = Lines(format)
    budget = _Budget(max_tokens, shown, count)
    budget.take([item for item in items if item.section in LASTING], SHARE if recalls else 1.0)
    budget.take([item for item in items if item.section not in LASTING], 1.0)
    chosen = [item for item in items if id(item) in budget.taken]
    text = render(chosen, shown)
    while chosen and count(text) > max_tokens:  # a tokenizer that counts lines otherwise
        chosen.remove(max(chosen, key=_rank))
        text = render(chosen, shown)
    return Pack(text, count(text), chosen, len(items) - len(chosen))


def _rank(item: Item) -> tuple[Any, ...]:
    return item.rank


class _Budget:
    """The items that were taken, by their identity, and the tokens that are left."""

    def __init__(self, tokens: int, shown: Lines, count: Count) -> None:
        self._all = tokens
        self._spent = count(NOTICE) + 1
        self._shown = shown
        self._count = count
        self._begun: set[str] = set()
        self.taken: set[int] = set()

    def take(self, items: Iterable[Item], share: float) -> None:
        """Takes items, best first, until this share of all tokens is spent."""
        most = self._all * share
        for item in sorted(items, key=_rank):
            cost = self._cost(item)
            if self._spent + cost <= most:
                self._spent += cost
                self._begun.add(item.section)
                self.taken.add(id(item))

    def _cost(self, item: Item) -> int:
        cost = self._count(self._shown.alone(item)) + 1
        if item.section not in self._begun:
            cost += self._count(heading(item.section, self._shown.format)) + 2
        return cost
