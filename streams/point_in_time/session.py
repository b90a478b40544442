"""A session as of any time: turns in chunks with their changes, and tasks."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sinks.generation import find_tables
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams import history_documents
from streams.errors import DataRefused
from streams.files.manifest import rules_of
from streams.files.refold import refold
from streams.folds import documents, task
from streams.history_documents import FAR, rows
from streams.point_in_time import text_of

Json = dict[str, Any]

STEPS = 2000
"""Maximum number of times, the newest."""
HIDDEN_KINDS = ("affect", "link", "thread")
"""Entities with separately shown changes: mood, links, threads."""
ORDERING = (
    "tenant", "event_id", "session_id", "user_id", "status", "occurred_at", "recorded_at",
    "src_topic", "src_partition", "src_offset",
)  # fmt: skip
"""Columns that determine the order of turns, and the current row of an event."""
TURN = (
    "event_id", "occurred_at", "recorded_at", "user_id", "task_id", "source", "status",
    "user_input", "agent_answer", "error", "intent", "topic",
)  # fmt: skip
CHANGE = ("entity_type", "entity_id", "kind", "op", "reason", "plan_id")


def session(
    root: Location,
    tenant: str,
    session_id: str,
    *,
    size: int,
    chunk: int | None = None,
    turn: str | None = None,
    as_of: int | None = None,
    known_at: int | None = None,
) -> Json:
    """One chunk of `size` turns of a session with their changes: the chunk with `turn`, otherwise
    number `chunk`, otherwise the first; and the times of changes. Raises DataRefused for an unknown
    session."""
    latest = FAR if known_at is None else known_at
    condition = "session_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
    values = session_id, FAR if as_of is None else as_of, latest
    in_order = "FROM event_current ORDER BY occurred_at, event_id"
    with Lookup(root, tenant) as lookup:
        lookup.load("events", condition, *values, columns=ORDERING)
        db = lookup.define("event_current")
        event_ids = [id for (id,) in db.execute(f"SELECT event_id {in_order}").fetchall()]
        if not event_ids:
            raise DataRefused(f"no session {session_id!r} in this history")
        place = event_ids.index(turn) // size if turn in event_ids else chunk or 0
        number = min(place, (len(event_ids) - 1) // size)
        events = event_ids[number * size : (number + 1) * size]
        columns = (*ORDERING, *TURN[4:6], *TURN[7:])
        chunk_condition = f"{condition} AND event_id IN ({sql_list(events)})"
        lookup.load("events", chunk_condition, *values, columns=columns)
        turns = rows(lookup.define("event_current"), f"SELECT {', '.join(TURN)} {in_order}")
        owners = sorted({session_id, *(row["user_id"] for row in turns if row["user_id"])})
        times = steps(lookup, owners)
        changes = _changes(lookup, owners, events, latest)
        replies, threads = _links_and_threads(lookup, session_id, owners, events, latest)
    for row in turns:
        event_id = row["event_id"]
        row |= {
            "changes": changes.get(event_id, []),
            "replies_to": replies.get(event_id),
            "threads": threads.get(event_id, []),
        }
    return {
        "turn_count": len(event_ids), "size": size, "chunk": number, "turns": turns, "steps": times,
    }  # fmt: skip


def sql_list(names: Collection[str]) -> str:
    """Names as an SQL list."""
    return ", ".join(map(quoted, names)) or "NULL"


def steps(lookup: Lookup, owners: Collection[str]) -> Json:
    """Times of changes for owners: `as_of` when they happened, `known_at` when they were recorded;
    the newest of each, oldest first."""
    columns = {"as_of": "occurred_at", "known_at": "recorded_at"}
    lookup.load("revisions", f"owner_id IN ({sql_list(owners)})", columns=tuple(columns.values()))
    sql = "SELECT DISTINCT {} AS at FROM revisions ORDER BY 1 DESC LIMIT ?"
    return {
        name: [row["at"] for row in rows(lookup.db, sql.format(column), STEPS)][::-1]
        for name, column in columns.items()
    }


def _changes(
    lookup: Lookup, owners: Collection[str], events: Sequence[str], known_at: int
) -> dict[str, list[Json]]:
    """Turn -> revisions with it as evidence, each at the newest turn of the chunk that it cites."""
    lookup.load(
        "revisions",
        f"owner_id IN ({sql_list(owners)}) AND epoch_us(recorded_at) <= ? "
        f"AND entity_type NOT IN {HIDDEN_KINDS} AND list_has_any(evidence_event_ids, ?)",
        known_at, events, columns=(*CHANGE, "owner_id", "seq", "after", "evidence_event_ids"),
    )  # fmt: skip
    columns = (*CHANGE, '"after"', "evidence_event_ids")
    sql = f"SELECT {', '.join(columns)} FROM revisions ORDER BY owner_id, seq"
    event_ids = set(events)
    changes = defaultdict[str, list[Json]](list)
    for row in rows(lookup.db, sql):
        cited, after = row.pop("evidence_event_ids"), row.pop("after")
        row["text"] = text_of(row["entity_type"], msgspec.json.decode(after) if after else None)
        changes[next(id for id in reversed(cited) if id in event_ids)].append(row)
    return changes


def _links_and_threads(
    lookup: Lookup, session_id: str, owners: Collection[str], events: Sequence[str], known_at: int
) -> tuple[dict[str, Json], dict[str, list[str]]]:
    """Turn -> the turn it replies to, and turn -> its threads."""
    owner_sql = f"owner_id IN ({sql_list(owners)}) AND epoch_us(recorded_at) <= ?"
    session_sql = "session_id IS NULL OR session_id = ?"
    lookup.load(
        "links", f"{owner_sql} AND IF(provisional, owner_id = ?, {session_sql})",
        known_at, session_id, session_id,
    )  # fmt: skip
    lookup.load("threads", f"{owner_sql} AND ({session_sql})", known_at, session_id)
    db = lookup.define("link_current", "thread_current")
    replies = rows(
        db,
        "SELECT from_event_id, to_event_id, provisional FROM link_current "
        f"WHERE label = 'reply_to' AND from_event_id IN ({sql_list(events)})",
    )
    threads = rows(
        db,
        "SELECT event_id, list_sort(list(DISTINCT thread_key)) AS threads FROM thread_current "
        f"WHERE event_id IN ({sql_list(events)}) GROUP BY 1",
    )
    return {
        row["from_event_id"]: {"event_id": row["to_event_id"], "provisional": row["provisional"]}
        for row in replies
    }, {row["event_id"]: row["threads"] for row in threads}


def documents_as_of(
    root: Location,
    tenant: str,
    session_id: str,
    as_of: int,
    known_at: int | None,
    task_ids: Collection[str],
) -> tuple[Json, list[Json]]:
    """A session's document as of a time, and the documents of those tasks that existed then."""
    rules = rules_of(find_tables(root))
    entity = refold(root, tenant, session_id, rules, as_of, known_at)
    document = history_documents.session_of_rows(entity, session_id, as_of, rules)
    latest = documents.latest_turn(entity, rules)
    tasks = [
        task.document(entity, rules, id, latest)
        for id in task_ids
        if entity.get(task.TASKS.key(id)) is not None
    ]
    return document, tasks


def tasks(root: Location, tenant: str, session_id: str, task_ids: Collection[str]) -> list[Json]:
    """Documents of tasks of a session (schemas.task.TaskDocument), by task id."""
    if not task_ids:
        return []
    with Lookup(root, tenant) as lookup:
        ids = sql_list(sorted(task_ids))
        lookup.load("tasks", f"session_id = ? AND task_id IN ({ids})", session_id)
        records = rows(
            lookup.define("task_current"), "SELECT doc FROM task_current ORDER BY task_id"
        )
    return [msgspec.json.decode(row["doc"]) for row in records]
