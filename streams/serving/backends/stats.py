"""What a tier has counted of its own flow, of all tenants together: numbers that only grow.

What a tier cannot know is None, or not there: it is not zero.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from streams.folds.outcome import Outcome
from streams.observability.histogram import Histogram

Tier = Literal["files", "kafka", "history"]
FOLD = "fold"
"""The one fold of a history on this machine, which does the work of all agents."""


class Observed(NamedTuple):
    """`counts`: by agent, how many records were read and how they ended. `reasons`: dead letters.

    `waiting`: records in the log that are not folded yet; `unwritten`: folded, and not in the
    tables yet; `commits`: seconds that a batch took to be written. The last three of files alone.
    """

    tier: Tier
    counts: Mapping[str, Mapping[str, int]] = {}
    reasons: Mapping[str, int] | None = None
    waiting: int | None = None
    unwritten: int | None = None
    commits: Histogram | None = None


class FoldCounts:
    """Counts what a folding thread makes of its log, since the process began."""

    def __init__(self) -> None:
        self._counts: Counter[str] = Counter({"read": 0})
        self._reasons: Counter[str] = Counter()
        self._upto = 0

    def add(self, first: int, outcomes: Sequence[Outcome]) -> None:
        """Records from an offset on; those that are folded again after an error count once."""
        new = outcomes[max(0, self._upto + 1 - first) :]
        self._upto = max(self._upto, first + len(outcomes) - 1)
        self._counts.update([one.ending for one in new])
        self._counts["read"] += len(new)
        self._reasons.update([one.reason for one in new if one.reason is not None])

    def observed(self, waiting: int | None, unwritten: int, commits: Histogram) -> Observed:
        """As it is now; another thread goes on counting."""
        counts, reasons = dict(self._counts), dict(self._reasons)
        return Observed("files", {FOLD: counts}, reasons, waiting, max(0, unwritten), commits)


def by_agent(notes: Iterable[tuple[str, Mapping[str, Any]]]) -> Observed:
    """The sum of what the markers of all lanes say, each with the name of its agent."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    reasons: Counter[str] = Counter()
    for agent, note in notes:
        counts[agent].update(note.get("counts", {}))
        reasons.update(note.get("reasons", {}))
    return Observed("kafka", counts, reasons)
