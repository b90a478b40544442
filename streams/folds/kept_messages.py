"""Number of stored messages of a session.

The messages are only in the history, which is written after the rows. Readers compare this number
with the history to see whether it is complete.
"""

from streams.folds.effects import RowKind, Rows

KEPT = RowKind("k", int)
"""Number of signals that add a message or take one back."""


def count(rows: Rows) -> int:
    """Returns the number of such signals of the session."""
    return rows.get(KEPT.key()) or 0


def add(rows: Rows) -> None:
    """Counts one more signal."""
    rows.put(KEPT.key(), count(rows) + 1)
