"""Status of tasks at a past time.

`mark_done` changes a task's version without creating one (docs/rules.md, Long-term memory): the
version that was true at a time may have the status `done` from a later time. The revisions contain
the time.
"""

from collections import defaultdict
from typing import Any, NamedTuple

from _duckdb import DuckDBPyConnection

from schemas.time import parse_time
from sinks.history import quoted

Json = dict[str, Any]
Version = tuple[str, str, int]
"""Owner, state_id, valid_from."""


class StatusChange(NamedTuple):
    """Status of a version after a revision; `at` is when the change happened (microseconds)."""

    at: int
    status: str | None


def with_task_status(
    db: DuckDBPyConnection, states: list[Json], at: int, known_at: int | None
) -> list[Json]:
    """Sets the status of tasks among states (schemas.memory.State) to that at a time, as known at
    another.

    `db` has the table `revisions` with at least the owners of these states.
    """
    tasks = [state for state in states if state["kind"] == "task"]
    if not tasks:
        return states
    changes = _status_changes(db, tasks, known_at)
    return [
        _with_status(state, _status_at(changes[_version(state)], at))
        if state["kind"] == "task"
        else state
        for state in states
    ]


def _version(state: Json) -> Version:
    return state["owner_id"], state["state_id"], parse_time(state["valid_from"])


def _status_changes(
    db: DuckDBPyConnection, tasks: list[Json], known_at: int | None
) -> dict[Version, list[StatusChange]]:
    """Version -> status after each of its revisions, in order."""
    ids = ", ".join(sorted({quoted(task["state_id"]) for task in tasks}))
    sql = f"""
        SELECT owner_id, entity_id, "after" ->> '$.valid_from', epoch_us(occurred_at),
            "after" ->> '$.payload.status'
        FROM (SELECT *, max(recorded_at) OVER (
            PARTITION BY owner_id, entity_id ORDER BY seq ROWS UNBOUNDED PRECEDING
        ) AS learnt_at FROM revisions WHERE entity_type = 'state' AND entity_id IN ({ids}))
        WHERE "after" IS NOT NULL AND (? IS NULL OR epoch_us(learnt_at) <= ?) ORDER BY seq
    """
    changes: dict[Version, list[StatusChange]] = defaultdict(list)
    for owner, state_id, since, occurred_at, status in db.execute(
        sql, [known_at, known_at]
    ).fetchall():
        changes[owner, state_id, parse_time(since)].append(StatusChange(occurred_at, status))
    return changes


def _status_at(revisions: list[StatusChange], at: int) -> str | None:
    """The status at a time. The first revision's status applies from the start; later changes apply
    from when they happened, independent of when they were recorded."""
    first, *later = revisions
    changes, previous = [], first.status
    for revision in later:
        if revision.status != previous:
            changes.append(revision)
        previous = revision.status
    past = [change for change in sorted(changes, key=lambda change: change.at) if change.at <= at]
    return past[-1].status if past else first.status


def _with_status(state: Json, status: str | None) -> Json:
    state_status = "closed" if state["valid_to"] else "done" if status == "done" else "active"
    return {**state, "payload": {**state["payload"], "status": status}, "status": state_status}
