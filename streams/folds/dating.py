"""Since when and until when something is known of a session or task: `created_at`, `updated_at`."""

from typing import TYPE_CHECKING, TypeVar

from schemas.row import replace

if TYPE_CHECKING:
    from streams.folds.session_state import Session
    from streams.folds.task import Task

Dated = TypeVar("Dated", "Session", "Task")


def dated(row: Dated, at: int, by_result: bool = False) -> Dated:
    """The row with one more record's time, microseconds UTC. A tool result may turn out to fit no
    call, so its recursion dates it: its own time counts only while there is nothing else.
    """
    if by_result and not row.undated:
        return row
    if row.undated and not by_result:
        return replace(row, created_at=at, updated_at=at, undated=False)
    return replace(row, created_at=min(row.created_at, at), updated_at=max(row.updated_at, at))
