"""Whether the context pack of a question has what answers it (docs/evaluation.md)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from streams import search
from streams.context import Question as Asking
from streams.context import gather
from streams.evaluation.labels import Question
from streams.evaluation.retrieval import Events, Packed, is_paraphrase, moment, rows
from streams.search.query import By

BUDGETS = (400, 800, 1500)
"""Tokens of the packs, unless others are named."""


class PackFigures(msgspec.Struct, frozen=True):
    """The packs of a category's questions at one budget: the shares (0..1) with some and with all
    of the evidence, and the mean number of lines and tokens."""

    category: str
    max_tokens: int
    questions: int
    any: float
    all: float
    lines: float
    tokens: float


def pack(
    history: Path,
    questions: Sequence[Question],
    events: dict[str, Events],
    budgets: Sequence[int],
    by: By = "both",
) -> list[Packed]:
    """The packs of the questions that name a user and have evidence."""
    users: dict[tuple[str, str, int], dict[str, Any] | None] = {}
    packs = []
    for one in questions:
        if one.user_id is None or not one.evidence:
            continue
        now = moment(one, events[one.tenant])
        paraphrase = is_paraphrase(one, events[one.tenant])
        for budget in budgets:
            question = Asking(user_id=one.user_id, at=now, text=one.question, max_tokens=budget)
            key = one.tenant, one.user_id, now
            if key not in users:
                users[key] = gather.user_then(history, one.tenant, question)
            query = gather.recalling(question)
            assert query is not None
            query = msgspec.structs.replace(query, by=by)
            recall = search.recall(history, one.tenant, query, update=False)
            made = gather.made(question, users[key], None, recall)
            shown = {event for item in made.items for event in (*item.evidence, item.later_id)}
            packs.append(
                Packed(
                    one.line,
                    one.category,
                    budget,
                    not shown.isdisjoint(one.evidence),
                    shown.issuperset(one.evidence),
                    len(made.items),
                    made.tokens,
                    paraphrase,
                )
            )
    return packs


def figures(packs: Iterable[Packed]) -> list[PackFigures]:
    """The figures of each category and budget."""
    return [
        _figures(name, budget, [one for one in some if one.max_tokens == budget])
        for name, some in rows(packs)
        for budget in sorted({one.max_tokens for one in some})
    ]


def _figures(category: str, budget: int, packs: Sequence[Packed]) -> PackFigures:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(packs)

    return PackFigures(
        category,
        budget,
        len(packs),
        mean(one.any for one in packs),
        mean(one.all for one in packs),
        mean(one.lines for one in packs),
        mean(one.tokens for one in packs),
    )
