"""Counters of a tier's data flow, of all tenants; they only grow.

An unknown value is None or missing, never zero.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from streams.folds.outcome import Outcome
from streams.observability.metrics import Histogram

Tier = Literal["files", "kafka", "history"]
FOLD = "fold"
"""The one fold of a history on this machine, which does the work of all agents."""


class Observed(NamedTuple):
    """`counts`: by agent, records read and their outcomes. `reasons`: of dead letters.

    `waiting`: records in the log that are not folded; `unwritten`: folded, and not in the tables;
    `commits`: duration of batches. The last three only over files.
    """

    tier: Tier
    counts: Mapping[str, Mapping[str, int]] = {}
    reasons: Mapping[str, int] | None = None
    waiting: int | None = None
    unwritten: int | None = None
    commits: Histogram | None = None


class FoldCounts:
    """Counts the outcomes of a folding thread since the process started."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter({"read": 0})
        self._reasons: Counter[str] = Counter()
        self._upto = 0

    def add(self, first: int, outcomes: Sequence[Outcome]) -> None:
        """Outcomes from an offset on; repeated ones after an error count once."""
        new = outcomes[max(0, self._upto + 1 - first) :]
        self._upto = max(self._upto, first + len(outcomes) - 1)
        self._counts.update([outcome.ending for outcome in new])
        self._counts["read"] += len(new)
        self._reasons.update([outcome.reason for outcome in new if outcome.reason is not None])

    def observed(self, waiting: int | None, unwritten: int, commits: Histogram) -> Observed:
        counts, reasons = dict(self._counts), dict(self._reasons)
        return Observed("files", {FOLD: counts}, reasons, waiting, max(0, unwritten), commits)


def by_agent(notes: Iterable[tuple[str, Mapping[str, Any]]]) -> Observed:
    """The sum of all lanes' markers, each with the name of its agent."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    for agent, note in notes:
        counts[agent].update(note.get("counts", {}))
        reasons.update(note.get("reasons", {}))
    return Observed("kafka", counts, reasons)
