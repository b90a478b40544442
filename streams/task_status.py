"""Whether a task was done by a time.

`mark_done` changes a task's version, it makes none (docs/rules.md, Long-term memory): the version
that was true at a time may say `done` of what was done later. The revisions say when.
"""

from collections import defaultdict
from typing import Any, NamedTuple

from _duckdb import DuckDBPyConnection

from schemas.time import parse_time
from sinks.history import quoted

Json = dict[str, Any]
Version = tuple[str, str, int]
"""Owner, state_id, valid_from."""


class Said(NamedTuple):
    """What a revision made of a version's status; `at` is when it happened."""

    at: int
    status: str | None


def tasks_then(
    db: DuckDBPyConnection, states: list[Json], at: int, known_at: int | None
) -> list[Json]:
    """States (schemas.memory.State) with the status that tasks had at a time, as known at another.

    `db` has the table `revisions`, of at least the owners of these states.
    """
    tasks = [one for one in states if one["kind"] == "task"]
    if not tasks:
        return states
    said = _said(db, tasks, known_at)
    return [
        _with_status(state, _then(said[_version(state)], at)) if state["kind"] == "task" else state
        for state in states
    ]


def _version(state: Json) -> Version:
    return state["owner_id"], state["state_id"], parse_time(state["valid_from"])


def _said(
    db: DuckDBPyConnection, tasks: list[Json], known_at: int | None
) -> dict[Version, list[Said]]:
    """Of each version what its revisions said, in the order in which they were made."""
    ids = ", ".join(sorted({quoted(one["state_id"]) for one in tasks}))
    sql = f"""
        SELECT owner_id, entity_id, "after" ->> '$.valid_from', epoch_us(occurred_at),
            "after" ->> '$.payload.status'
        FROM (SELECT *, max(recorded_at) OVER (
            PARTITION BY owner_id, entity_id ORDER BY seq ROWS UNBOUNDED PRECEDING
        ) AS learnt_at FROM revisions WHERE entity_type = 'state' AND entity_id IN ({ids}))
        WHERE "after" IS NOT NULL AND (? IS NULL OR epoch_us(learnt_at) <= ?) ORDER BY seq
    """
    found: dict[Version, list[Said]] = defaultdict(list)
    for owner, state_id, since, at, status in db.execute(sql, [known_at, known_at]).fetchall():
        found[owner, state_id, parse_time(since)].append(Said(at, status))
    return found


def _then(said: list[Said], at: int) -> str | None:
    """The status at a time. What the first revision says holds from the start; after that what
    changes it counts from when it happened, whenever it was told."""
    first, *later = said
    changes, before = [], first.status
    for one in later:
        if one.status != before:
            changes.append(one)
        before = one.status
    begun = [one for one in sorted(changes, key=lambda one: one.at) if one.at <= at]
    return begun[-1].status if begun else first.status


def _with_status(state: Json, status: str | None) -> Json:
    shown = "closed" if state["valid_to"] else "done" if status == "done" else "active"
    return {**state, "payload": {**state["payload"], "status": status}, "status": shown}
