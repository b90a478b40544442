"""One session, task or user out of a history, as it is or was: what the reading commands and, of
past times, the HTTP API answer with. `streams.listing` has what is a list of many.

Every function takes the history's root and a tenant and returns plain JSON-ready values.
`--as-of` sets the time that is asked about (when it was true), `known_at` what had been learnt.
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
from streams.folds.expiry import expire
from streams.folds.rules import Rules
from streams.task_status import tasks_then

if TYPE_CHECKING:  # a command that reads a history does not wait for pydantic
    from streams.folds.rows import Rows

FAR = 2**62
HELD = (
    "tenant", "owner_id", "entity_type", "entity_id", "seq", "occurred_at", "recorded_at", "after",
)  # fmt: skip
"""What a user's memory is made of."""
LISTED = {kind.view: kind.listed for kind in REVISED if kind.listed}
"""What `user` lists besides states, and out of which views."""


def parse_moment(text: str | None) -> int | None:
    """RFC 3339 text, or a bare date, which means its end (UTC) -> microseconds."""
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
    """The same, but a bare date means its start (UTC)."""
    moment = parse_moment(text)
    return moment if moment is None or len(text or "") != 10 else moment - DAY + 1


def rows(connection: DuckDBPyConnection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """A query's rows as objects; times are RFC 3339 text."""
    return read(connection, sql, *values).objects()


def the_one(found: list[dict[str, Any]], what: str) -> dict[str, Any]:
    """The first row. Raises DataRefused where there is none of `what`."""
    if not found:
        raise DataRefused(f"no {what} in this history (check --tenant and --history)")
    return found[0]


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
    """The session's document with its SessionContext; expiry as of the time asked about, under the
    generation's rules.

    As of a past time the session is folded again from its events up to then; with `known_at`
    without those that were recorded later.
    """
    rules = rules_of(find_tables(root))
    if as_of is not None:
        return _session_as_of(root, tenant, session_id, as_of, rules, known_at)
    with Lookup(root, tenant) as about:
        about.load("sessions", "session_id = ?", session_id)
        found = rows(about.define("session_current"), "SELECT doc FROM session_current")
        document = _document(the_one(found, f"session {session_id!r}"))
        if document["status"] == "closed":
            return document
        latest = _latest_turn(about, session_id, now - rules.session_expiry)
    if latest is None and document["conversation_count"]:
        latest = 0  # some time before `since`
    return expire(document, latest, now, rules)


def _latest_turn(about: Lookup, session_id: str, since: int) -> int | None:
    """The session's latest turn, if it is not older than the day of `since`.

    Only the files of those days are opened: a session may be asked for among years of others.
    """
    day = (EPOCH + timedelta(microseconds=since)).date()
    recent = f"session_id = ? AND date >= DATE '{day}'"
    columns = ["event_id", "status", "occurred_at"]
    about.load("events", recent, session_id, columns=columns)
    turns = "SELECT event_id, status = 'running', epoch_us(occurred_at) FROM events"
    found = about.db.execute(turns).fetchall()
    ended = {event_id for event_id, is_running, _ in found if not is_running}
    if any(is_running and event_id not in ended for event_id, is_running, _ in found):
        # a running turn that ended earlier than it began: nothing of it counts
        about.load("events", "session_id = ? AND status <> 'running'", session_id, columns=columns)
        ended = {event_id for event_id, *_ in about.db.execute(turns).fetchall()}
    standing = (at for event_id, is_running, at in found if not is_running or event_id not in ended)
    return max(standing, default=None)


def _session_as_of(
    root: Location, tenant: str, session_id: str, as_of: int, rules: Rules, known_at: int | None
) -> dict[str, Any]:
    from streams.files.refold import refold

    entity = refold(root, tenant, session_id, rules, as_of, known_at)
    return session_of_rows(entity, session_id, as_of, rules)


def session_of_rows(entity: "Rows", session_id: str, as_of: int, rules: Rules) -> dict[str, Any]:
    """The document of a session whose rows were folded up to a time. Raises DataRefused where it
    had not begun."""
    from streams.folds import documents
    from streams.folds.session_state import HEADER

    if entity.get(HEADER) is None:
        raise DataRefused(f"session {session_id!r} has no events by {format_time(as_of)}")
    latest = documents.latest_turn(entity, rules)
    return expire(documents.session(entity, rules), latest, as_of, rules)


def task(root: Location, tenant: str, task_id: str, session_id: str | None) -> dict[str, Any]:
    """The task's document."""
    with connect(root, tenant=tenant, views=["task_current"]) as db:
        sql = "SELECT session_id, doc FROM task_current WHERE tenant = ? AND task_id = ?"
        found = rows(db, sql, tenant, task_id)
    if session_id is not None:
        found = [row for row in found if row["session_id"] == session_id]
    if len(found) > 1:
        names = ", ".join(sorted(row["session_id"] for row in found))
        raise UsageError(f"task {task_id!r} is in several sessions ({names}); name the session")
    return _document(the_one(found, f"task {task_id!r}"))


# --- users ------------------------------------------------------------------------------------


def states(
    root: Location, tenant: str, owner: str | None, as_of: int, known_at: int | None
) -> list[dict[str, Any]]:
    """What was true at a time, of a user or of all, as known at another."""
    with Lookup(root, tenant) as about:
        if owner is not None:
            load_revisions(about, "owner_id = ? AND entity_type = 'state'", owner)
        return _states(about.define("state_as_of"), as_of, known_at)


def load_revisions(about: Lookup, where: str, *given: str) -> None:
    """Revisions of users. `before` is half of their text, and counts only of what is gone: it is
    read where there is such a one."""
    about.load("revisions", where, *given, columns=HELD)
    if about.db.execute('SELECT 1 FROM revisions WHERE "after" IS NULL LIMIT 1').fetchall():
        about.load("revisions", where, *given, columns=(*HELD, "before"))
    else:
        about.db.execute('ALTER TABLE revisions ADD COLUMN "before" VARCHAR')


def _states(db: DuckDBPyConnection, as_of: int, known_at: int | None) -> list[dict[str, Any]]:
    known = "NULL" if known_at is None else f"make_timestamptz({known_at})"
    sql = (
        f"SELECT * FROM state_as_of(make_timestamptz({as_of}), {known}) "
        "ORDER BY owner_id, kind, valid_from, state_id"
    )
    return tasks_then(db, [_state(row) for row in rows(db, sql)], as_of, known_at)


def _state(row: dict[str, Any]) -> dict[str, Any]:
    payload = row["payload"]
    return {**row, "payload": msgspec.json.decode(payload) if isinstance(payload, str) else payload}


def user(root: Location, tenant: str, user_id: str, as_of: int | None = None) -> dict[str, Any]:
    """Everything known of a user: profile, states, other lists of memory, mood. As of a past time
    they are folded again from the records up to then; of a user who came later, nothing is known.
    """
    at = time.time_ns() // 1000 if as_of is None else as_of
    with Lookup(root, tenant) as about:
        about.load("profiles", "user_id = ?", user_id)
        load_revisions(about, f"owner_id = ? AND entity_type IN {OF_USERS}", user_id)
        db = about.define("profile_current", *LISTED, "state_as_of")
        profile = [_document(row) for row in rows(db, "SELECT doc FROM profile_current")]
        lists = {listed.name: _list(db, view, listed) for view, listed in LISTED.items()}
        held = _states(db, at, None)
    if not profile and not any(lists.values()) and not held:
        raise DataRefused(f"no user {user_id!r} in this history (check --tenant and --history)")
    if as_of is not None:
        from streams.folds import learner

        entity = _folded(root, tenant, user_id, as_of, turns=True)
        then = learner.document(entity, rules_of(find_tables(root)), user_id)
        profile, lists = [then] if then else [], memory_lists(entity)
    moods = [one for one in held if one["kind"] == "long_mood_state"]
    return {
        "user_id": user_id,
        "profile": profile[0] if profile else None,
        "states": [one for one in held if one["kind"] != "long_mood_state"],
        **lists,
        "mood": mood(moods[0], at) if moods else None,
    }


def known_of(
    root: Location, tenant: str, user_id: str, at: int, known_at: int | None
) -> dict[str, Any]:
    """What stood of a user at a time, as known at another: `states` with the mood's among them, and
    the other lists of memory. Empty lists for an unknown user."""
    held = states(root, tenant, user_id, at, known_at)
    return {
        "states": held,
        **memory_lists(_folded(root, tenant, user_id, at, known_at, turns=False)),
    }


def _folded(
    root: Location,
    tenant: str,
    user_id: str,
    as_of: int,
    known_at: int | None = None,
    *,
    turns: bool,
) -> "Rows":
    """A user's rows as the records up to a time make them, without what was recorded later than
    `known_at`; without `turns` what plans alone make.

    What holds until something else is said has no times of its own, as a state has. The revisions
    up to a time would not do: one that was made for a late record shows what later ones had changed
    by then.
    """
    from streams.files.refold import refold_user

    rules = rules_of(find_tables(root))
    return refold_user(root, tenant, user_id, rules, as_of, known_at, turns=turns)


def memory_lists(rows: "Rows") -> dict[str, list[dict[str, Any]]]:
    """Out of a user's rows."""
    from streams.folds.revised_kinds import REVISED_KINDS

    return {
        listed.name: [_without(one, listed.left_out) for one in item.all(rows)]
        for item in REVISED_KINDS
        if (listed := item.kind.listed)
    }


def _without(document: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in document.items() if name not in names}


def _list(db: DuckDBPyConnection, view: str, listed: Listed) -> list[dict[str, Any]]:
    left_out = ", ".join(("tenant", "owner_id", *listed.left_out))
    sql = f"SELECT * EXCLUDE ({left_out}) FROM {view} ORDER BY {', '.join(listed.order)}"
    return rows(db, sql)


def mood(state: dict[str, Any], at: int) -> dict[str, Any]:
    """The mood at a time: the shock of the state's numbers has faded since."""
    from streams.folds import affect

    numbers = state["payload"]
    if numbers["last_at"] is None:
        return {"text": state["body_text"], "vad": {"v": 0.0, "a": 0.0, "d": 0.0}, **numbers}
    felt = affect.from_payload(numbers, parse_time(numbers["last_at"]))
    now = dict(zip("vad", (round(one, 6) for one in affect.mood_at(felt, at)), strict=True))
    return {"text": state["body_text"], "vad": now, "at": format_time(at), **numbers}
