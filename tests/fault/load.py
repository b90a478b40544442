"""Real data without end: dialogues, agents' steps and tool results, plans and corrections.

SGD's turns, and among them, a record after every few turns, the runs of tau-bench and Reflexion
and the ledger of corrections with its write plans. When one comes to its end it begins again: SGD
in new sessions, the others as another tenant.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from streams.importers.base import Skipped
from streams.sample import CONVERSATIONS
from tests.acceptance import ledger, reflexion, sgd, tau_bench
from tests.conftest import LEDGER, REFLEXION, TAU
from tests.shared_data import dialogues

REPEATS = 1_000
TURNS_FOR_ONE = 3
"""So many turns of SGD come with one record of the others."""

Record = dict[str, Any]


def records(shared: Path) -> Iterator[Record]:
    """The records, always in the same order; `shared` is the folder of the shared data. Without it
    fetched dialogues and the sample's steps and tool results take its place. Raises
    FileNotFoundError without dialogues."""
    if (turns := dialogues()) is None:
        raise FileNotFoundError("no dialogues here: python -m benchmarks.fetch downloads them")
    others = agents_and_plans(shared) if shared.exists() else sample()
    for number, turn in enumerate(sgd.records(turns, repeat=REPEATS)):
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


def sample() -> Iterator[Record]:
    """The sample conversations, again and again, each time as another tenant."""
    once = list(map(msgspec.json.decode, CONVERSATIONS.read_bytes().splitlines()))
    for number in range(REPEATS):
        yield from ({**record, "tenant": f"again-{number}"} for record in once)


def _side_by_side(lists: list[list[Record]]) -> Iterator[Record]:
    """All of them, spread evenly."""
    placed = [
        (place / len(records), which, record)
        for which, records in enumerate(lists)
        for place, record in enumerate(records)
    ]
    placed.sort(key=lambda one: one[:2])
    return (record for *_, record in placed)
