"""Reads one session, task or user from a history, now or at a past time, for the reading commands
and for past times in the HTTP API. `streams.history_lists` returns lists.

Functions take the history's root and a tenant, and return JSON-compatible values. `as_of` is the
time when facts were true, `known_at` the time by which they were recorded, in microseconds.
"""

import time
from collections.abc import Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.memory_kinds import OF_USERS, REVISED, Listed
from schemas.time import DAY, EPOCH, format_time, parse_time
from sinks.generation import find_tables
from sinks.history import connect, read
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.errors import DataRefused, UsageError
from streams.files.manifest import rules_of
from streams.folds.constants import Rules
from streams.folds.expiry import expire
from streams.tasks_as_of import with_task_status

if TYPE_CHECKING:  # a command that reads a history does not wait for pydantic
    from streams.folds.effects import Rows

FAR = 2**62
REVISION_COLUMNS = (
    "tenant", "owner_id", "entity_type", "entity_id", "seq", "occurred_at", "recorded_at", "after",
)  # fmt: skip
"""Columns of revisions from which a user's memory is derived."""
LISTED = {kind.view: kind.listed for kind in REVISED if kind.listed}
"""View -> list in `user`, besides states."""


def parse_moment(text: str | None) -> int | None:
    """Parses RFC 3339 text, or a bare date (end of day, UTC), into microseconds. Raises
    UsageError."""
    if text is None:
        return None
    try:
        if len(text) == 10:
            day = date.fromisoformat(text) - date(1970, 1, 1)
            return day // timedelta(microseconds=1) + DAY - 1
        return parse_time(text)
    except ValueError as error:
        raise UsageError(f"{text!r} is not a time: {error}") from None


def parse_start(text: str | None) -> int | None:
    """`parse_moment`, but a bare date means start of day (UTC)."""
    moment = parse_moment(text)
    return moment if moment is None or len(text or "") != 10 else moment - DAY + 1


def rows(connection: DuckDBPyConnection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """Rows of a query as dicts; times are RFC 3339 text."""
    return read(connection, sql, *values).objects()


def first_record(records: list[dict[str, Any]], name: str) -> dict[str, Any]:
    """The first record. Raises DataRefused if there is none; `name` describes it."""
    if not records:
        raise DataRefused(f"no {name} in this history (check --tenant and --history)")
    return records[0]


def _document(row: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(row["doc"])
    return document


# --- sessions ---------------------------------------------------------------------------------


def session(
    root: Location,
    tenant: str,
    session_id: str,
    as_of: int | None,
    now: int,
    known_at: int | None = None,
) -> Any:
    """Document of a session with its SessionContext; expired as of the requested time, under the
    generation's rules.

    With `as_of`, the session is folded again from its events up to that time, with `known_at` only
    from those recorded by then. Raises DataRefused for an unknown session.
    """
    rules = rules_of(find_tables(root))
    if as_of is not None:
        return _session_as_of(root, tenant, session_id, as_of, rules, known_at)
    with Lookup(root, tenant) as lookup:
        lookup.load("sessions", "session_id = ?", session_id)
        documents = rows(lookup.define("session_current"), "SELECT doc FROM session_current")
        document = _document(first_record(documents, f"session {session_id!r}"))
        if document["status"] == "closed":
            return document
        latest = _latest_turn(lookup, session_id, now - rules.session_expiry)
    if latest is None and document["conversation_count"]:
        latest = 0  # some time before `since`
    return expire(document, latest, now, rules)


def _latest_turn(lookup: Lookup, session_id: str, since: int) -> int | None:
    """Time of the session's latest turn, if it is not before the day of `since`.

    Opens only the files of these days: a history may have years.
    """
    day = (EPOCH + timedelta(microseconds=since)).date()
    recent = f"session_id = ? AND date >= DATE '{day}'"
    columns = ["event_id", "status", "occurred_at"]
    lookup.load("events", recent, session_id, columns=columns)
    turns = "SELECT event_id, status = 'running', epoch_us(occurred_at) FROM events"
    turns_found = lookup.db.execute(turns).fetchall()
    ended = {event_id for event_id, is_running, _ in turns_found if not is_running}
    if any(is_running and event_id not in ended for event_id, is_running, _ in turns_found):
        # a running turn that ended with an earlier time does not count
        lookup.load("events", "session_id = ? AND status <> 'running'", session_id, columns=columns)
        ended = {event_id for event_id, *_ in lookup.db.execute(turns).fetchall()}
    times = (
        occurred_at
        for event_id, is_running, occurred_at in turns_found
        if not is_running or event_id not in ended
    )
    return max(times, default=None)


def _session_as_of(
    root: Location, tenant: str, session_id: str, as_of: int, rules: Rules, known_at: int | None
) -> dict[str, Any]:
    from streams.files.refold import refold

    entity = refold(root, tenant, session_id, rules, as_of, known_at)
    return session_of_rows(entity, session_id, as_of, rules)


def session_of_rows(entity: "Rows", session_id: str, as_of: int, rules: Rules) -> dict[str, Any]:
    """Document of a session from its rows, folded up to a time. Raises DataRefused if it had no
    events."""
    from streams.folds import documents
    from streams.folds.session_state import HEADER

    if entity.get(HEADER) is None:
        raise DataRefused(f"session {session_id!r} has no events by {format_time(as_of)}")
    latest = documents.latest_turn(entity, rules)
    return expire(documents.session(entity, rules), latest, as_of, rules)


def task(root: Location, tenant: str, task_id: str, session_id: str | None) -> dict[str, Any]:
    """Document of a task. Raises DataRefused for an unknown task, UsageError if several sessions
    have it."""
    with connect(root, tenant=tenant, views=["task_current"]) as db:
        sql = "SELECT session_id, doc FROM task_current WHERE tenant = ? AND task_id = ?"
        tasks = rows(db, sql, tenant, task_id)
    if session_id is not None:
        tasks = [row for row in tasks if row["session_id"] == session_id]
    if len(tasks) > 1:
        names = ", ".join(sorted(row["session_id"] for row in tasks))
        raise UsageError(f"task {task_id!r} is in several sessions ({names}); name the session")
    return _document(first_record(tasks, f"task {task_id!r}"))


# --- users ------------------------------------------------------------------------------------


def states(
    root: Location, tenant: str, owner: str | None, as_of: int, known_at: int | None
) -> list[dict[str, Any]]:
    """States of a user or of all users that were true at a time, as known at another."""
    with Lookup(root, tenant) as lookup:
        if owner is not None:
            load_revisions(lookup, "owner_id = ? AND entity_type = 'state'", owner)
        return _states(lookup.define("state_as_of"), as_of, known_at)


def load_revisions(
    lookup: Lookup, condition: str, *parameters: str, more: Sequence[str] = ()
) -> None:
    """Loads revisions of users, with `more` columns. `before` is half of their text and only needed
    for deletions: it is only read if there is one."""
    columns = (*REVISION_COLUMNS, *more)
    lookup.load("revisions", condition, *parameters, columns=columns)
    if lookup.db.execute('SELECT 1 FROM revisions WHERE "after" IS NULL LIMIT 1').fetchall():
        lookup.load("revisions", condition, *parameters, columns=(*columns, "before"))
    else:
        lookup.db.execute('ALTER TABLE revisions ADD COLUMN "before" VARCHAR')


def _states(db: DuckDBPyConnection, as_of: int, known_at: int | None) -> list[dict[str, Any]]:
    known_sql = "NULL" if known_at is None else f"make_timestamptz({known_at})"
    sql = (
        f"SELECT * FROM state_as_of(make_timestamptz({as_of}), {known_sql}) "
        "ORDER BY owner_id, kind, valid_from, state_id"
    )
    return with_task_status(db, [_state(row) for row in rows(db, sql)], as_of, known_at)


def _state(row: dict[str, Any]) -> dict[str, Any]:
    payload = row["payload"]
    return {**row, "payload": msgspec.json.decode(payload) if isinstance(payload, str) else payload}


def user(root: Location, tenant: str, user_id: str, as_of: int | None = None) -> dict[str, Any]:
    """All memory of a user: profile, states, other lists, mood. As of a past time it is folded
    again from the records up to then, empty before the first. Raises DataRefused for an unknown
    user."""
    moment = time.time_ns() // 1000 if as_of is None else as_of
    with Lookup(root, tenant) as lookup:
        lookup.load("profiles", "user_id = ?", user_id)
        load_revisions(lookup, f"owner_id = ? AND entity_type IN {OF_USERS}", user_id)
        db = lookup.define("profile_current", *LISTED, "state_as_of")
        profile = [_document(row) for row in rows(db, "SELECT doc FROM profile_current")]
        lists = {listed.name: _list(db, view, listed) for view, listed in LISTED.items()}
        in_force = _states(db, moment, None)
    if not profile and not any(lists.values()) and not in_force:
        raise DataRefused(f"no user {user_id!r} in this history (check --tenant and --history)")
    if as_of is not None:
        from streams.folds import learner

        entity = _folded_user(root, tenant, user_id, as_of, turns=True)
        learner_profile = learner.document(entity, rules_of(find_tables(root)), user_id)
        profile, lists = [learner_profile] if learner_profile else [], memory_lists(entity)
    moods = [state for state in in_force if state["kind"] == "long_mood_state"]
    return {
        "user_id": user_id,
        "profile": profile[0] if profile else None,
        "states": [state for state in in_force if state["kind"] != "long_mood_state"],
        **lists,
        "mood": mood(moods[0], moment) if moods else None,
    }


def memory_as_of(
    root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None
) -> dict[str, Any]:
    """Memory of a user at a time, as known at another: `states` including the mood, and the other
    lists. Empty lists for an unknown user. `of_rules`: ids of the states and preferences that only
    the rules have written."""
    in_force = states(root, tenant, user_id, as_of, known_at)
    rows = _folded_user(root, tenant, user_id, as_of, known_at, turns=False)
    return {
        "states": in_force,
        **memory_lists(rows),
        "of_rules": of_rules(rows),
    }


def _folded_user(
    root: Location,
    tenant: str,
    user_id: str,
    as_of: int,
    known_at: int | None = None,
    *,
    turns: bool,
) -> "Rows":
    """Folds a user's records up to a time, recorded by `known_at`; without `turns` only plans.

    Memory other than states has no validity interval. Its revisions up to a time are not enough:
    the revision of a late record includes changes of later records.
    """
    from streams.files.refold import refold_user

    rules = rules_of(find_tables(root))
    return refold_user(root, tenant, user_id, rules, as_of, known_at, turns=turns)


def of_rules(rows: "Rows") -> frozenset[str]:
    """Ids of the states and preferences in a user's rows that only the rules have written."""
    from streams.folds import preferences, states

    return frozenset((*states.of_rules(rows), *preferences.of_rules(rows)))


def memory_lists(rows: "Rows") -> dict[str, list[dict[str, Any]]]:
    """The memory lists in a user's rows."""
    from streams.folds.revised_kinds import REVISED_KINDS

    return {
        listed.name: [_without(document, listed.left_out) for document in item.all(rows)]
        for item in REVISED_KINDS
        if (listed := item.kind.listed)
    }


def _without(document: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def _list(db: DuckDBPyConnection, view: str, listed: Listed) -> list[dict[str, Any]]:
    left_out = ", ".join(("tenant", "owner_id", *listed.left_out))
    sql = f"SELECT * EXCLUDE ({left_out}) FROM {view} ORDER BY {', '.join(listed.order)}"
    return rows(db, sql)


def mood(state: dict[str, Any], moment: int) -> dict[str, Any]:
    """The mood at a time: decays the numbers of the state."""
    from streams.folds import affect

    numbers = state["payload"]
    if numbers["last_at"] is None:
        return {"text": state["body_text"], "vad": {"v": 0.0, "a": 0.0, "d": 0.0}, **numbers}
    affect_now = affect.from_payload(numbers, parse_time(numbers["last_at"]))
    now = dict(
        zip("vad", (round(number, 6) for number in affect.mood_at(affect_now, moment)), strict=True)
    )
    return {"text": state["body_text"], "vad": now, "at": format_time(moment), **numbers}
