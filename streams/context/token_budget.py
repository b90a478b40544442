"""Selects the items of a pack within its token budget.

The stable part is selected first and independently of the query, so that the text starts with the
same bytes for every query (prompt caching). The session and the mood follow, then the ranking.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from streams.context.pack_lines import Item, in_order
from streams.context.render import NOTICE, Lines, heading, render
from streams.context.tokenizer import Count, estimated

STABLE, NOW = 0.2, 0.4
"""Maximum shares of the budget for the stable part, and for it together with the session."""


class Pack(NamedTuple):
    """`text` is the pack for the prompt, of `tokens` tokens; `items` its items, in order.
    `left_out`: section -> number of items beyond the budget."""

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
    """Selects the best items that fit, each whole. The text is empty if none fits."""
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
    budget.take((item for item in session if (item.kind, item.id) not in budget.taken), 1.0, _rank)
    chosen = sorted(budget.taken.values(), key=in_order)
    text = render(chosen, lines)
    while chosen and count(text) > max_tokens:  # the tokenizer counts lines in context differently
        chosen.pop()
        text = render(chosen, lines)
    chosen_keys = {(item.kind, item.id) for item in chosen}
    left_out = Counter(
        item.section for item in (*session, *ranked) if (item.kind, item.id) not in chosen_keys
    )
    return Pack(text, count(text), chosen, dict(sorted(left_out.items())))


def _rank(item: Item) -> tuple[Any, ...]:
    return item.rank


def _place(item: Item) -> tuple[Any, ...]:
    return item.place or ()


class _Budget:
    """Takes items while they fit. `taken`: (kind, id) -> item."""

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
