"""Outcomes of a transaction's records that were not applied, or wait, stored in its marker's note.

A client that follows the changelog learns the outcome of its record in the transaction that decided
it. Most records are applied: the note omits those.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from streams.folds.outcome import DUPLICATE, WAITS, WITHHELD, Outcome

MAX_DETAILS = 100
"""Dead letters per transaction with detail in the note; the topic has the details of others."""
DETAIL_KEPT = 300
SAFE_REASONS = frozenset({
    "conflicting_duplicate", "kind_differs", "mood_cannot_close", "not_a_task", "too_large",
    "unknown_state", "unmatched_tool_result", "wrong_partition",
})  # fmt: skip
"""Reasons with details that only name fields and ids. Other details may quote users, and `forget`
does not reach the newest note of an idle partition: those are in the dead letter only."""

NOTED = "ends"
"""Name in the note: topic -> [first offset, last offset, outcome]; with reason and detail for a
dead letter."""
OUTCOMES = {"duplicate": DUPLICATE, "waits": WAITS, "withheld": WITHHELD}
"""Outcomes without further data."""


class OutcomeNote:
    """Collects outcomes by source topic, all of one partition."""

    def __init__(self) -> None:
        self.runs: dict[str, list[list[Any]]] = {}
        self._dead_count = 0

    def duplicate(self, topic: str, offset: int) -> None:
        self._run(topic, offset, "duplicate")

    def withheld(self, topic: str, offset: int) -> None:
        self._run(topic, offset, "withheld")

    def waits(self, topic: str, offset: int) -> None:
        self._run(topic, offset, "waits")

    def _run(self, topic: str, offset: int, name: str) -> None:
        runs = self.runs.setdefault(topic, [])
        if runs and runs[-1][1:] == [offset - 1, name]:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset, name])

    def dead(self, topic: str, offset: int, reason: str, detail: str) -> None:
        self._dead_count += 1
        is_quoted = reason in SAFE_REASONS and self._dead_count <= MAX_DETAILS
        quoted = detail[:DETAIL_KEPT] if is_quoted else None
        self.runs.setdefault(topic, []).append([offset, offset, "dead", reason, quoted])


def outcomes_of(note: Mapping[str, Any]) -> Iterator[tuple[str, int, Outcome]]:
    """Yields topic, offset and outcome of each record in a marker's note."""
    for topic, runs in note.get(NOTED, {}).items():
        for first, last, *outcome in runs:
            result = OUTCOMES[outcome[0]] if len(outcome) == 1 else Outcome(*outcome)
            for offset in range(first, last + 1):
                yield topic, offset, result
