"""Which items a budget holds.

The stable part is chosen first, without regard to the query, so that the text begins with the same
bytes for every query. The session and the mood follow, then the ranking.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from streams.context.items import Item, in_order
from streams.context.render import NOTICE, Lines, heading, render
from streams.context.tokens import Count, estimated

STABLE, NOW = 0.2, 0.4
"""Shares of the budget that the stable part, and it together with the session, take at most."""


class Pack(NamedTuple):
    """`text` is what to paste, of `tokens` tokens; `items` what it shows, in its order. `left_out`
    counts the items that the budget did not hold, by section."""

    text: str
    tokens: int
    items: list[Item]
    left_out: dict[str, int]


def pack(
    items: Sequence[Item],
    max_tokens: int,
    format: str = "markdown",
    *,
    is_query: bool = False,
    count: Count = estimated,
) -> Pack:
    """The best items that fit, each whole. A budget that holds none gives an empty text."""
    lines = Lines(format, is_query)
    budget = _Budget(max_tokens, lines, count)
    budget.take((item for item in items if item.part == "stable"), STABLE, _rank)
    session = [item for item in items if item.part == "now"]
    budget.take(session, NOW, _rank)
    ranked = [
        item._replace(part="about")
        for item in items
        if item.place is not None and (item.kind, item.id) not in budget.taken
    ]
    budget.take(ranked, 1.0, _place)
    budget.take((one for one in session if (one.kind, one.id) not in budget.taken), 1.0, _rank)
    chosen = sorted(budget.taken.values(), key=in_order)
    text = render(chosen, lines)
    while chosen and count(text) > max_tokens:  # a tokenizer that counts lines otherwise
        chosen.pop()
        text = render(chosen, lines)
    shown = {(item.kind, item.id) for item in chosen}
    left_out = Counter(
        item.section for item in (*session, *ranked) if (item.kind, item.id) not in shown
    )
    return Pack(text, count(text), chosen, dict(sorted(left_out.items())))


def _rank(item: Item) -> tuple[Any, ...]:
    return item.rank


def _place(item: Item) -> tuple[Any, ...]:
    return item.place or ()


class _Budget:
    """The items that were taken, by kind and id, and the tokens that remain."""

    def __init__(self, tokens: int, lines: Lines, count: Count) -> None:
        self._all = tokens
        self._fixed = count(NOTICE) + 1
        self._spent = 0
        self._lines = lines
        self._count = count
        self._headings: set[str] = set()
        self.taken: dict[tuple[str, str], Item] = {}

    def take(
        self, items: Iterable[Item], share: float, order: Callable[[Item], tuple[Any, ...]]
    ) -> None:
        """Takes items in an order until this share of all tokens is spent."""
        most = min(self._all * share, self._all - self._fixed)
        for item in sorted(items, key=order):
            title = heading(item, self._lines)
            cost = self._count(self._lines.alone(item)) + 1
            if title not in self._headings:
                cost += self._count(title) + 2
            if self._spent + cost <= most:
                self._spent += cost
                self._headings.add(title)
                self.taken[item.kind, item.id] = item
