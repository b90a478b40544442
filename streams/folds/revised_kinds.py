"""The kinds of a user's memory that write plans update, each change with a revision.

`schemas/memory_kinds.py` declares what readers see of a kind; here is its code. A kind's newest
revision is its newest document.
"""

from collections.abc import Callable, Iterable
from typing import Any, Generic, NamedTuple

from schemas import memory_kinds
from schemas.events import WritePlan
from schemas.memory_kinds import MemoryKind
from streams.folds import end_facts, preferences
from streams.folds.effects import Effects, R, RowKind, Rows

Apply = Callable[[Rows, WritePlan, Any, Effects], None]
End = Callable[[Rows, WritePlan, end_facts.End, Effects], None]
Settle = Callable[[Rows, WritePlan, Effects], None]
Evidence = Callable[[Rows], Iterable[end_facts.Event]]


class RevisedKind(NamedTuple, Generic[R]):
    """Fold of one kind. `apply` folds each update of the plan's list `updates` into `rows`; `end`
    folds one of a plan's `ends`, `settle` its `event_updates`. `evidence` returns the supporting
    events of the rows, `document` the document of a row."""

    kind: MemoryKind
    rows: RowKind[R]
    updates: str
    apply: Apply
    document: Callable[[R], dict[str, Any]]
    end: End | None = None
    settle: Settle | None = None
    evidence: Evidence | None = None

    def newest(self, rows: Rows, id: str) -> dict[str, Any]:
        """Returns the document with that id."""
        return self.document(rows[self.rows.key(id)])

    def all(self, rows: Rows) -> list[dict[str, Any]]:
        """Returns the documents of a user in the order of `kind.listed`."""
        documents = [self.document(row) for _, row in self.rows.scan(rows)]
        order = self.kind.listed.order if self.kind.listed else (self.kind.id,)
        return sorted(documents, key=lambda document: [document[name] for name in order])


REVISED_KINDS: tuple[RevisedKind[Any], ...] = (
    RevisedKind(
        memory_kinds.PREFERENCE,
        preferences.PREFERENCES,
        "preference_updates",
        preferences.apply,
        preferences.document,
        preferences.end,
        preferences.settle,
        preferences.evidence,
    ),
)
"""In the order of folding a plan."""
