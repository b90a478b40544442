"""Timestamps of a session or task: `created_at`, `updated_at`."""

from typing import Protocol, TypeVar

from schemas.row import replace


class DatedRow(Protocol):
    """A row with timestamps; `undated` if only tool results have arrived."""

    @property
    def created_at(self) -> int: ...
    @property
    def updated_at(self) -> int: ...
    @property
    def undated(self) -> bool: ...


R = TypeVar("R", bound=DatedRow)


def dated(row: R, at: int, by_result: bool = False) -> R:
    """Extends the timestamps of a row by a record's time, microseconds UTC.

    A tool result may match no call, so its time counts only until another record arrives.
    """
    if by_result and not row.undated:
        return row
    first, last = min(row.created_at, at), max(row.updated_at, at)
    if row.undated and not by_result:
        first = last = at
    return replace(  # type: ignore[type-var] # that a row is a Row no protocol can say
        row, created_at=first, updated_at=last, undated=row.undated and by_result
    )
