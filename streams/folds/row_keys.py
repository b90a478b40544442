"""The names of an entity's rows, typed: whoever gets a row by its key gets a row of the key's type.

A kind of row has a letter, which its rows' names begin with. Of a kind that has one row the letter
is its name (`h`); of others an id follows (`c/task-1`), which may have parts (`q/task-1␟trace-1`).
"""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from streams.folds.rows import Rows

R = TypeVar("R")

SEP = "\x1f"
"""Between the parts of an id."""


class RowKey(str, Generic[R]):
    """The name of a row of type `R`. `RowKind.key` alone makes keys, and makes them as plain
    strings: `R` is for the type checker."""


class RowKind(Generic[R]):
    """The rows whose names begin with a `letter`, and their type."""

    def __init__(self, letter: str, type: type[R]) -> None:
        self.letter = letter
        self.type = type
        self._begin = f"{letter}/"

    def key(self, id: str | None = None, *parts: str) -> RowKey[R]:
        """The name of the row with this id, which may have more parts; without one, of a kind's one
        row."""
        if parts:
            return self._begin + SEP.join((id or "", *parts))  # type: ignore[return-value]
        return self.letter if id is None else self._begin + id  # type: ignore[return-value]

    def scan(self, rows: "Rows", *parts: str) -> Iterator[tuple[RowKey[R], R]]:
        """The rows whose ids begin with these parts, by name."""
        return rows.scan(self.key(*parts, ""))  # type: ignore[return-value]

    def ids(self, rows: "Rows", *parts: str) -> list[str]:
        """What follows these parts in the ids that begin with them, sorted."""
        begin = self.key(*parts, "")
        return [name[len(begin) :] for name in rows.names(begin)]
