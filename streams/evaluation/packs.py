"""Measures how much of a question's evidence its context pack contains (docs/evaluation.md)."""

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from streams import search
from streams.context import PackRequest, load
from streams.evaluation.labels import Question
from streams.evaluation.retrieval import Events, PackResult, is_paraphrase, moment, rows
from streams.search.query import By


class PackFigures(msgspec.Struct, frozen=True):
    """The packs of a category's questions at one budget: shares (0..1) with any and with all of the
    evidence, and the mean numbers of lines and tokens."""

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
) -> list[PackResult]:
    """Builds the packs of the questions that have a user and evidence."""
    users: dict[tuple[str, str, int], dict[str, Any] | None] = {}
    results = []
    for question in questions:
        if question.user_id is None or not question.evidence:
            continue
        now = moment(question, events[question.tenant])
        paraphrase = is_paraphrase(question, events[question.tenant])
        for budget in budgets:
            request = PackRequest(
                user_id=question.user_id, at=now, text=question.question, max_tokens=budget
            )
            key = question.tenant, question.user_id, now
            if key not in users:
                users[key] = load.user_documents(history, question.tenant, request)
            query = load.search_query(request)
            assert query is not None
            query = msgspec.structs.replace(query, by=by)
            recall = search.recall(history, question.tenant, query, update=False)
            pack = load.build(request, users[key], None, recall)
            event_ids = {event for item in pack.items for event in (*item.evidence, item.later_id)}
            results.append(
                PackResult(
                    question.line,
                    question.category,
                    budget,
                    not event_ids.isdisjoint(question.evidence),
                    event_ids.issuperset(question.evidence),
                    len(pack.items),
                    pack.tokens,
                    paraphrase,
                )
            )
    return results


def figures(results: Iterable[PackResult]) -> list[PackFigures]:
    """Returns the figures of each category and budget."""
    return [
        _figures(category, budget, [result for result in group if result.max_tokens == budget])
        for category, group in rows(results)
        for budget in sorted({result.max_tokens for result in group})
    ]


def _figures(category: str, budget: int, results: Sequence[PackResult]) -> PackFigures:
    def mean(values: Iterable[float]) -> float:
        return sum(values) / len(results)

    return PackFigures(
        category,
        budget,
        len(results),
        mean(result.any for result in results),
        mean(result.all for result in results),
        mean(result.lines for result in results),
        mean(result.tokens for result in results),
    )
