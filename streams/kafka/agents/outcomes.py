"""What the records of a transaction ended as that were not applied, or wait, as its marker's note
says it.

A client that sent a record and follows the changelog learns what became of it, in the
transaction that decided it. Most are applied: of those the note says nothing.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from streams.folds.outcome import DUPLICATE, WAITS, Outcome

SAID = 100
"""Dead letters of a transaction whose detail the note has; that of others is in their topic."""
DETAIL_KEPT = 300
NAMING = frozenset({
    "conflicting_duplicate", "kind_differs", "mood_cannot_close", "not_a_task", "too_large",
    "unknown_state", "unmatched_tool_result", "wrong_partition",
})  # fmt: skip
"""Reasons whose details name fields and ids alone. Others may quote what people said, and the
newest note of an idle partition stays where `forget` does not come: theirs are in the dead letter.
"""

NOTED = "ends"
"""The name in the note: topic -> [first offset, last offset, outcome], a dead letter's with reason
and detail."""
NAMED = {"duplicate": DUPLICATE, "waits": WAITS}
"""Outcomes that a name tells."""


class OutcomeNote:
    """Collects them, by source topic: of a lane they are all of one partition."""

    def __init__(self) -> None:
        self.runs: dict[str, list[list[Any]]] = {}
        self._said = 0

    def duplicate(self, topic: str, offset: int) -> None:
        self._run(topic, offset, "duplicate")

    def waits(self, topic: str, offset: int) -> None:
        self._run(topic, offset, "waits")

    def _run(self, topic: str, offset: int, name: str) -> None:
        runs = self.runs.setdefault(topic, [])
        if runs and runs[-1][1:] == [offset - 1, name]:
            runs[-1][1] = offset
        else:
            runs.append([offset, offset, name])

    def dead(self, topic: str, offset: int, reason: str, detail: str) -> None:
        self._said += 1
        says = reason in NAMING and self._said <= SAID
        kept = detail[:DETAIL_KEPT] if says else None
        self.runs.setdefault(topic, []).append([offset, offset, "dead", reason, kept])


def found(note: Mapping[str, Any]) -> Iterator[tuple[str, int, Outcome]]:
    """Topic, offset and outcome of each record that a marker's note speaks of."""
    for topic, runs in note.get(NOTED, {}).items():
        for first, last, *outcome in runs:
            ended = NAMED[outcome[0]] if len(outcome) == 1 else Outcome(*outcome)
            for offset in range(first, last + 1):
                yield topic, offset, ended
