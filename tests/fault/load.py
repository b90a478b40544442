"""Real data without end: dialogues, agents' steps and tool results, plans and corrections.

SGD's turns, and among them, a record after every few turns, the runs of tau-bench and Reflexion
and the ledger of corrections with its write plans. When one comes to its end it begins again: SGD
in new sessions, the others as another tenant.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from streams.importers.base import Skipped
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.conftest import LEDGER, REFLEXION, SGD, TAU

REPEATS = 1_000
TURNS_FOR_ONE = 3
"""So many turns of SGD come with one record of the others."""

Record = dict[str, Any]


def records(shared: Path) -> Iterator[Record]:
    """The records in one order, always the same; `shared` is the folder of the shared data."""
    others = agents_and_plans(shared)
    for number, turn in enumerate(sgd.records(shared.joinpath(*SGD), repeat=REPEATS)):
        yield turn
        if number % TURNS_FOR_ONE == 0:
            yield next(others)


def agents_and_plans(shared: Path) -> Iterator[Record]:
    """tau-bench, Reflexion and the ledger side by side, each in its order."""
    once = [
        list(tau_bench.records(shared.joinpath(*TAU), Skipped())),
        list(reflexion.records(shared.joinpath(*REFLEXION))),
        list(ledger.records(shared.joinpath(*LEDGER))),
    ]
    for number in range(REPEATS):
        for record in _side_by_side(once):
            yield {**record, "tenant": f"again-{number}"}


def _side_by_side(lists: list[list[Record]]) -> Iterator[Record]:
    """All of them, spread evenly."""
    placed = [
        (place / len(records), which, record)
        for which, records in enumerate(lists)
        for place, record in enumerate(records)
    ]
    placed.sort(key=lambda one: one[:2])
    return (record for *_, record in placed)
