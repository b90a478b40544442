"""A session as of any time: turns in chunks, what each changed, and tasks."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

import msgspec

from sinks.generation import find_tables
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams import reading
from streams.chronicle import text_of
from streams.errors import DataRefused
from streams.files.manifest import rules_of
from streams.files.refold import refold
from streams.folds import documents, task
from streams.reading import FAR, rows

Json = dict[str, Any]

STEPS = 2000
"""The newest times of a slider."""
NOT_TOLD = ("affect", "link", "thread")
"""Entities whose changes are shown elsewhere: the mood, and how turns belong together."""
ORDERING = (
    "tenant", "event_id", "session_id", "user_id", "status", "occurred_at", "recorded_at",
    "src_topic", "src_partition", "src_offset",
)  # fmt: skip
"""What puts turns in order, and decides which row of an event stands."""
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
    """One chunk of a session's turns, so many in each, with what each changed: the chunk that has
    `turn`, else `chunk`, else the first; with the times at which something changed. Raises
    DataRefused for an unknown session."""
    known = FAR if known_at is None else known_at
    where = "session_id = ? AND epoch_us(occurred_at) <= ? AND epoch_us(recorded_at) <= ?"
    values = session_id, FAR if as_of is None else as_of, known
    in_order = "FROM event_current ORDER BY occurred_at, event_id"
    with Lookup(root, tenant) as about:
        about.load("events", where, *values, columns=ORDERING)
        db = about.define("event_current")
        every = [id for (id,) in db.execute(f"SELECT event_id {in_order}").fetchall()]
        if not every:
            raise DataRefused(f"no session {session_id!r} in this history")
        place = every.index(turn) // size if turn in every else chunk or 0
        number = min(place, (len(every) - 1) // size)
        events = every[number * size : (number + 1) * size]
        columns = (*ORDERING, *TURN[4:6], *TURN[7:])
        shown = f"{where} AND event_id IN ({listed(events)})"
        about.load("events", shown, *values, columns=columns)
        turns = rows(about.define("event_current"), f"SELECT {', '.join(TURN)} {in_order}")
        owners = sorted({session_id, *(row["user_id"] for row in turns if row["user_id"])})
        times = steps(about, owners)
        changes = _changes(about, owners, events, known)
        replies, threads = _bonds(about, session_id, owners, events, known)
    for row in turns:
        event_id = row["event_id"]
        row |= {
            "changes": changes.get(event_id, []),
            "replies_to": replies.get(event_id),
            "threads": threads.get(event_id, []),
        }
    return {
        "turn_count": len(every), "size": size, "chunk": number, "turns": turns, "steps": times,
    }  # fmt: skip


def listed(names: Collection[str]) -> str:
    """Names as an SQL list."""
    return ", ".join(map(quoted, names)) or "NULL"


def steps(about: Lookup, owners: Collection[str]) -> Json:
    """The times at which something changed for some owners: `as_of` when it was said, `known_at`
    when it was learnt; the newest of each, oldest first."""
    columns = {"as_of": "occurred_at", "known_at": "recorded_at"}
    about.load("revisions", f"owner_id IN ({listed(owners)})", columns=tuple(columns.values()))
    sql = "SELECT DISTINCT {} AS at FROM revisions ORDER BY 1 DESC LIMIT ?"
    return {
        name: [row["at"] for row in rows(about.db, sql.format(column), STEPS)][::-1]
        for name, column in columns.items()
    }


def _changes(
    about: Lookup, owners: Collection[str], events: Sequence[str], known: int
) -> dict[str, list[Json]]:
    """By turn: the revisions that rest on it, each at the newest turn that it names here."""
    about.load(
        "revisions",
        f"owner_id IN ({listed(owners)}) AND epoch_us(recorded_at) <= ? "
        f"AND entity_type NOT IN {NOT_TOLD} AND list_has_any(evidence_event_ids, ?)",
        known, events, columns=(*CHANGE, "owner_id", "seq", "after", "evidence_event_ids"),
    )  # fmt: skip
    columns = (*CHANGE, '"after"', "evidence_event_ids")
    sql = f"SELECT {', '.join(columns)} FROM revisions ORDER BY owner_id, seq"
    shown = set(events)
    changes = defaultdict[str, list[Json]](list)
    for row in rows(about.db, sql):
        cited, after = row.pop("evidence_event_ids"), row.pop("after")
        row["text"] = text_of(row["entity_type"], msgspec.json.decode(after) if after else None)
        changes[next(id for id in reversed(cited) if id in shown)].append(row)
    return changes


def _bonds(
    about: Lookup, session_id: str, owners: Collection[str], events: Sequence[str], known: int
) -> tuple[dict[str, Json], dict[str, list[str]]]:
    """By turn: what it replies to, and its threads."""
    whose = f"owner_id IN ({listed(owners)}) AND epoch_us(recorded_at) <= ?"
    here = "session_id IS NULL OR session_id = ?"
    about.load(
        "links", f"{whose} AND IF(provisional, owner_id = ?, {here})",
        known, session_id, session_id,
    )  # fmt: skip
    about.load("threads", f"{whose} AND ({here})", known, session_id)
    db = about.define("link_current", "thread_current")
    replies = rows(
        db,
        "SELECT from_event_id, to_event_id, provisional FROM link_current "
        f"WHERE label = 'reply_to' AND from_event_id IN ({listed(events)})",
    )
    threads = rows(
        db,
        "SELECT event_id, list_sort(list(DISTINCT thread_key)) AS threads FROM thread_current "
        f"WHERE event_id IN ({listed(events)}) GROUP BY 1",
    )
    return {
        row["from_event_id"]: {"event_id": row["to_event_id"], "provisional": row["provisional"]}
        for row in replies
    }, {row["event_id"]: row["threads"] for row in threads}


def then(
    root: Location,
    tenant: str,
    session_id: str,
    as_of: int,
    known_at: int | None,
    task_ids: Collection[str],
) -> tuple[Json, list[Json]]:
    """Its document as of a time, and the documents of those of these tasks that it had then."""
    rules = rules_of(find_tables(root))
    entity = refold(root, tenant, session_id, rules, as_of, known_at)
    document = reading.session_of_rows(entity, session_id, as_of, rules)
    latest = documents.latest_turn(entity, rules)
    tasks = [
        task.document(entity, rules, id, latest)
        for id in task_ids
        if entity.get(task.TASKS.key(id)) is not None
    ]
    return document, tasks


def tasks(root: Location, tenant: str, session_id: str, task_ids: Collection[str]) -> list[Json]:
    """The documents of some tasks of a session (schemas.task.TaskDocument), by time."""
    if not task_ids:
        return []
    with Lookup(root, tenant) as about:
        ids = listed(sorted(task_ids))
        about.load("tasks", f"session_id = ? AND task_id IN ({ids})", session_id)
        found = rows(about.define("task_current"), "SELECT doc FROM task_current ORDER BY task_id")
    return [msgspec.json.decode(row["doc"]) for row in found]
