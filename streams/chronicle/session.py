"""A session as of any time: turns in chunks, what each changed, and tasks."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Collection, Iterable
from functools import lru_cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec

from schemas.time import format_time
from sinks.history import quoted
from sinks.kept import Source, kept
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.chronicle import bonds, revisions
from streams.chronicle.bonds import BONDS
from streams.chronicle.revisions import REVISIONS, Revision, Revisions
from streams.chronicle.series import CLOCKS_KEPT
from streams.chronicle.text import text_of
from streams.errors import DataRefused
from streams.files.manifest import rules_of
from streams.files.refold import SNAPSHOT_BYTES, Refolding, Stored, of_a_session
from streams.files.stored_records import OF_SESSIONS
from streams.folds import documents, task
from streams.folds.expiry import expire
from streams.folds.session_state import HEADER
from streams.reading import FAR, rows

Json = dict[str, Any]


class _Turn(NamedTuple):
    occurred_at: int
    event_id: str
    recorded_at: int
    src_topic: str
    src_partition: int
    src_offset: int
    user_id: str | None
    task_id: str | None
    source: str | None
    status: str
    user_input: str | None
    agent_answer: str | None
    error: str | None
    intent: str | None
    topic: str | None

    @property
    def standing(self) -> tuple[Any, ...]:
        """The least of an event's stands, as in the view `event_current`."""
        return self.status == "running", self.recorded_at, *self[3:6]


TOLD = (
    "event_id", "occurred_at", "recorded_at", "user_id", "task_id", "source", "status",
    "user_input", "agent_answer", "error", "intent", "topic",
)  # fmt: skip


class Turns:
    """A session's turns."""

    def __init__(self, every: Iterable[_Turn]) -> None:
        by_event = defaultdict[str, list[_Turn]](list)
        for one in every:
            by_event[one.event_id].append(one)
        self._once = sorted(some[0] for some in by_event.values() if len(some) == 1)
        self._again = [some for some in by_event.values() if len(some) > 1]
        self._known = lru_cache(CLOCKS_KEPT)(self._known_by)

    def _known_by(self, known_at: int) -> list[_Turn]:
        return [one for one in self._once if one.recorded_at <= known_at]

    def then(self, as_of: int, known_at: int) -> list[_Turn]:
        """The turns by then, in order, each as it was known."""
        once = self._known(known_at)
        found = once[: bisect_right(once, as_of, key=attrgetter("occurred_at"))]
        for some in self._again:
            told = [one for one in some if one.occurred_at <= as_of and one.recorded_at <= known_at]
            if told:
                found.append(min(told, key=attrgetter("standing")))
        return sorted(found, key=lambda one: one[:2]) if self._again else found


def _said(about: Lookup, owner: str) -> list[_Turn]:
    times = "epoch_us(occurred_at)", "event_id", "epoch_us(recorded_at)"
    found = about.rows("events", (*times, *_Turn._fields[3:]), "session_id = ?", owner)
    return list(map(_Turn._make, found))


def _refolding(owner: str, about: Lookup, records: list[Stored]) -> Refolding:
    return Refolding(("sessions", about.tenant, owner), rules_of(about.folder), records)


TURNS: Source[Turns] = Source("turns", ("events",), _said, lambda _owner, _about, all: Turns(all))
RECORDS: Source[Refolding] = Source(
    "records", tuple(OF_SESSIONS), of_a_session, _refolding, grows=False, weight=SNAPSHOT_BYTES
)


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
    with Lookup(root, tenant) as about:
        every = kept(about, TURNS, session_id).then(FAR if as_of is None else as_of, known)
        if not every:
            raise DataRefused(f"no session {session_id!r} in this history")
        number = min(_chunk_of(every, turn, size, chunk or 0), (len(every) - 1) // size)
        shown = every[number * size : (number + 1) * size]
        names = sorted({session_id, *(one.user_id for one in shown if one.user_id)})
        owners = [kept(about, REVISIONS, name) for name in names]
        linked = [kept(about, BONDS, name) for name in names]
    events = [one.event_id for one in shown]
    changes = _changes(owners, events, known)
    held = [one for some in linked for one in bonds.known(some, events, known)]
    replied, threads = bonds.replies(session_id, held), bonds.threads(session_id, held)
    turns = [
        {
            **_told(one),
            "changes": changes.get(one.event_id, []),
            "replies_to": replied.get(one.event_id),
            "threads": threads.get(one.event_id, []),
        }
        for one in shown
    ]
    return {
        "turn_count": len(every), "size": size, "chunk": number, "turns": turns,
        "steps": revisions.steps(owners),
    }  # fmt: skip


def _chunk_of(every: list[_Turn], turn: str | None, size: int, otherwise: int) -> int:
    found = () if turn is None else (at for at, one in enumerate(every) if one.event_id == turn)
    place = next(iter(found), None)
    return otherwise if place is None else place // size


def _told(one: _Turn) -> Json:
    times = {name: format_time(getattr(one, name)) for name in ("occurred_at", "recorded_at")}
    return {name: getattr(one, name) for name in TOLD} | times


def _changes(owners: Iterable[Revisions], events: list[str], known: int) -> dict[str, list[Json]]:
    """By turn: the revisions that rest on it, each at the newest turn that it names here."""
    wanted, found = set(events), defaultdict[str, list[Json]](list)
    for owner in owners:
        cited = {id(one): one for name in events for one in owner.citing.get(name, ())}
        for one in sorted(cited.values(), key=lambda one: one.seq):
            if one.recorded_at <= known:
                last = next(name for name in reversed(one.cites) if name in wanted)
                found[last].append(_change(one))
    return found


def _change(one: Revision) -> Json:
    after = None if one.gone or one.document is None else msgspec.json.decode(one.document)
    named = ("entity_type", "entity_id", "kind", "op", "reason", "plan_id")
    return {name: getattr(one, name) for name in named} | {"text": text_of(one.entity_type, after)}


def then(
    root: Location,
    tenant: str,
    session_id: str,
    as_of: int,
    known_at: int | None,
    task_ids: Collection[str],
) -> tuple[Json, list[Json]]:
    """Its document as of a time, and the documents of those of these tasks that it had then."""
    with Lookup(root, tenant) as about:
        rules = rules_of(about.folder)
        entity = kept(about, RECORDS, session_id).rows(as_of, known_at)
    if entity.get(HEADER) is None:
        raise DataRefused(f"session {session_id!r} has no events by {format_time(as_of)}")
    latest = documents.latest_turn(entity, rules)
    tasks = [
        task.document(entity, rules, one, latest)
        for one in task_ids
        if entity.get(task.TASKS.key(one)) is not None
    ]
    return expire(documents.session(entity, rules), latest, as_of, rules), tasks


def tasks(root: Location, tenant: str, session_id: str, task_ids: Collection[str]) -> list[Json]:
    """The documents of some tasks of a session (schemas.task.TaskDocument), by time."""
    if not task_ids:
        return []
    with Lookup(root, tenant) as about:
        listed = ", ".join(map(quoted, sorted(task_ids)))
        about.load("tasks", f"session_id = ? AND task_id IN ({listed})", session_id)
        found = rows(about.define("task_current"), "SELECT doc FROM task_current ORDER BY task_id")
    return [msgspec.json.decode(one["doc"]) for one in found]
