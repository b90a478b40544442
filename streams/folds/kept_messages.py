"""How many messages of a session are kept as they were sent.

The messages themselves are in the history alone, which is written after the rows: who reads them
there knows by this count whether all of them have come.
"""

from streams.folds.rows import RowKind, Rows

KEPT = RowKind("k", int)
"""The number of signals that kept a message or took one back."""


def count(rows: Rows) -> int:
    """How many signals of the session did so."""
    return rows.get(KEPT.key()) or 0


def add(rows: Rows) -> None:
    """One more."""
    rows.put(KEPT.key(), count(rows) + 1)
