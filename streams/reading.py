"""One thing out of a history: what the reading commands (and later the HTTP API) answer with.

Every function takes the history's root and a tenant and returns plain JSON-ready values.
`--as-of` sets the time that is asked about (when it was true), `known_at` what had been learnt.
"""

from datetime import date, timedelta
from pathlib import Path
from typing import Any

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.memory_kinds import OF_USERS, REVISED, Listed
from schemas.time import DAY, EPOCH, format_time, parse_time
from sinks.generation import find_tables
from sinks.history import connect, quoted, read
from sinks.lookup import Lookup
from streams.errors import DataRefused, UsageError
from streams.files.manifest import rules_of
from streams.folds.expiry import expire
from streams.folds.rules import Rules

LIMIT = 1000
FAR = 2**62
TOLD = (
    "tenant", "event_id", "session_id", "user_id", "occurred_at", "user_input",
    "agent_answer", "status", "recorded_at", "src_topic", "src_partition", "src_offset",
)  # fmt: skip
"""What `why` says of an event, and what tells which of its rows stands."""
PLANNED = ("tenant", "user_id", "plan_id", "doc")
"""What it says of the plan behind a revision: the session that it names."""
SPOKEN = (*TOLD, "source", "error", "intent", "topic")
"""What `timeline` says of it."""
HELD = ("tenant", "owner_id", "entity_type", "entity_id", "seq", "recorded_at", "after")
"""What a user's memory is made of."""
LISTED = {kind.view: kind.listed for kind in REVISED if kind.listed}
"""What `user` lists besides states, and out of which views."""
PLACE = "src_topic || ':' || src_partition || ':' || src_offset"
"""SQL of where a record stood: topic, partition and offset; of a file its path, 0 and the line."""


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


def rows(connection: DuckDBPyConnection, sql: str, *values: Any) -> list[dict[str, Any]]:
    """A query's rows as objects; times are RFC 3339 text."""
    return read(connection, sql, *values).objects()


def _one(found: list[dict[str, Any]], what: str) -> dict[str, Any]:
    if not found:
        raise DataRefused(f"no {what} in this history (check --tenant and --history)")
    return found[0]


def _document(row: dict[str, Any]) -> dict[str, Any]:
    document: dict[str, Any] = msgspec.json.decode(row["doc"])
    return document


# --- sessions ---------------------------------------------------------------------------------


def session(root: Path, tenant: str, session_id: str, as_of: int | None, now: int) -> Any:
    """The session's document with its SessionContext; expiry as of the time asked about, under the
    generation's rules.

    As of a past time the session is folded again from its events up to then.
    """
    rules = rules_of(find_tables(root))
    if as_of is not None:
        return _session_as_of(root, tenant, session_id, as_of, rules)
    with Lookup(root, tenant) as about:
        about.load("sessions", "session_id = ?", session_id)
        found = rows(about.define("session_current"), "SELECT doc FROM session_current")
        document = _document(_one(found, f"session {session_id!r}"))
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
    about.load("events", recent, session_id, columns=["occurred_at"])
    ((latest,),) = about.db.execute("SELECT max(epoch_us(occurred_at)) FROM events").fetchall()
    return None if latest is None else int(latest)


def _session_as_of(
    root: Path, tenant: str, session_id: str, as_of: int, rules: Rules
) -> dict[str, Any]:
    from streams.files.refold import refold
    from streams.folds import documents

    entity = refold(root, tenant, session_id, rules, as_of)
    if entity.get("h") is None:
        raise DataRefused(f"session {session_id!r} has no events by {format_time(as_of)}")
    latest = documents.latest_turn(entity, rules)
    return expire(documents.session(entity, rules), latest, as_of, rules)


def timeline(
    root: Path,
    tenant: str,
    key: str,
    *,
    of_users: bool = True,
    after: tuple[int, str] = (-FAR, ""),
    limit: int = FAR,
) -> list[dict[str, Any]]:
    """The turns of a session, or with `of_users` of a user, in order.

    `after`: only those behind that (occurred_at, event_id), at most `limit`.
    """
    theirs = (
        "FROM event_current e {} WHERE (e.session_id = ? OR e.user_id = ?) "
        "AND (epoch_us(e.occurred_at), e.event_id) > (?, ?) {} "
        "ORDER BY e.occurred_at, e.event_id LIMIT ?"
    )
    sql = (
        "SELECT e.occurred_at, e.event_id, e.session_id, e.user_id, e.source, e.status, "
        "e.user_input, e.agent_answer, e.error, e.intent, e.topic, a.v, a.a, a.d "
    ) + theirs.format(
        "LEFT JOIN affect_current a ON a.tenant = e.tenant AND a.event_id = e.event_id "
        "AND coalesce(a.session_id = e.session_id, a.user_id = e.user_id)",
        "QUALIFY row_number() OVER (PARTITION BY e.session_id, e.event_id "  # whose turn it is
        "ORDER BY a.user_id = e.user_id DESC NULLS LAST, a.user_id, a.session_id) = 1",
    )
    given = (key, key if of_users else None, *after, limit)
    with Lookup(root, tenant) as about:
        _load_turns(about, key, of_users)
        # first which turns: sorting their texts and moods too would make each page pay for all
        page = f"CREATE TABLE page AS SELECT e.event_id {theirs.format('', '')}"
        about.define("event_current").execute(page, given)
        about.db.execute("DELETE FROM events WHERE event_id NOT IN (FROM page)")
        about.load("affects", "event_id IN (FROM page)")
        found = rows(about.define("event_current", "affect_current"), sql, *given)
    if not found:
        raise DataRefused(f"no session or user {key!r} in this history")
    return found


def _load_turns(about: Lookup, key: str, of_users: bool) -> None:
    """A key's events, with all rows of each, so that the one that stands is among them."""
    if not of_users:  # which row of an event stands is told session by session
        about.load("events", "session_id = ?", key, columns=SPOKEN)
        return
    about.load("events", "session_id = ? OR user_id = ?", key, key, columns=["event_id"])
    # a join, not a list as in `why`: of many thousands of ids a list takes ten times as long
    about.load("events", "event_id IN (SELECT event_id FROM events)", columns=SPOKEN)


def task(root: Path, tenant: str, task_id: str, session_id: str | None) -> dict[str, Any]:
    """The task's document."""
    with connect(root, tenant=tenant, views=["task_current"]) as db:
        sql = "SELECT session_id, doc FROM task_current WHERE tenant = ? AND task_id = ?"
        found = rows(db, sql, tenant, task_id)
    if session_id is not None:
        found = [row for row in found if row["session_id"] == session_id]
    if len(found) > 1:
        names = ", ".join(sorted(row["session_id"] for row in found))
        raise UsageError(f"task {task_id!r} is in several sessions ({names}); name the session")
    return _document(_one(found, f"task {task_id!r}"))


# --- users ------------------------------------------------------------------------------------


def states(
    root: Path, tenant: str, owner: str | None, as_of: int, known_at: int | None
) -> list[dict[str, Any]]:
    """What was true at a time, of a user or of all, as known at another."""
    with Lookup(root, tenant) as about:
        if owner is not None:
            _load_revisions(about, "owner_id = ? AND entity_type = 'state'", owner)
        return _states(about.define("state_as_of"), as_of, known_at)


def _load_revisions(about: Lookup, where: str, owner: str) -> None:
    """A user's revisions. `before` is half of their text, and counts only of what is gone: it is
    read where there is such a one."""
    about.load("revisions", where, owner, columns=HELD)
    if about.db.execute('SELECT 1 FROM revisions WHERE "after" IS NULL LIMIT 1').fetchall():
        about.load("revisions", where, owner, columns=(*HELD, "before"))
    else:
        about.db.execute('ALTER TABLE revisions ADD COLUMN "before" VARCHAR')


def _states(db: DuckDBPyConnection, as_of: int, known_at: int | None) -> list[dict[str, Any]]:
    known = "NULL" if known_at is None else f"make_timestamptz({known_at})"
    sql = (
        f"SELECT * FROM state_as_of(make_timestamptz({as_of}), {known}) "
        "ORDER BY owner_id, kind, valid_from"
    )
    return [_state(row) for row in rows(db, sql)]


def _state(row: dict[str, Any]) -> dict[str, Any]:
    payload = row["payload"]
    return {**row, "payload": msgspec.json.decode(payload) if isinstance(payload, str) else payload}


def user(root: Path, tenant: str, user_id: str, at: int) -> dict[str, Any]:
    """Everything known of a user at a time: profile, states, other lists of memory, mood."""
    with Lookup(root, tenant) as about:
        about.load("profiles", "user_id = ?", user_id)
        _load_revisions(about, f"owner_id = ? AND entity_type IN {OF_USERS}", user_id)
        db = about.define("profile_current", *LISTED, "state_as_of")
        profile = [_document(row) for row in rows(db, "SELECT doc FROM profile_current")]
        lists = {listed.name: _list(db, view, listed) for view, listed in LISTED.items()}
        held = _states(db, at, None)
    moods = [one for one in held if one["kind"] == "long_mood_state"]
    if not profile and not any(lists.values()) and not held:
        raise DataRefused(f"no user {user_id!r} in this history (check --tenant and --history)")
    return {
        "user_id": user_id,
        "profile": profile[0] if profile else None,
        "states": [one for one in held if one["kind"] != "long_mood_state"],
        **lists,
        "mood": mood(moods[0], at) if moods else None,
    }


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


def _listed(db: DuckDBPyConnection, sql: str) -> str:
    """Ids as an SQL list: for one, not for a subquery, DuckDB asks the files' Bloom filters."""
    return ", ".join(quoted(one) for (one,) in db.execute(sql).fetchall()) or "NULL"


def why(root: Path, tenant: str, entity_id: str) -> list[dict[str, Any]]:
    """The revisions of an entity with the text of their evidence."""
    with Lookup(root, tenant) as about:
        about.load("revisions", "entity_id = ?", entity_id)
        cited = _listed(about.db, "SELECT DISTINCT unnest(evidence_event_ids) FROM revisions")
        about.load("events", f"event_id IN ({cited})", columns=TOLD)
        planned = _listed(
            about.db, "SELECT DISTINCT plan_id FROM revisions WHERE plan_id IS NOT NULL"
        )
        about.load("plans", f"plan_id IN ({planned})", columns=PLANNED)
        found = rows(about.define("why"), "SELECT * FROM why(?)", entity_id)
    if not found:
        raise DataRefused(
            f"{entity_id!r} has no revision in this history: no state, preference, session or "
            "item of session memory of that id was ever changed; `turnfold user` and `session` "
            "show ids"
        )
    for row in found:
        for name in ("before", "after"):
            if isinstance(row.get(name), str):
                row[name] = msgspec.json.decode(row[name])
    return found


# --- dead letters -----------------------------------------------------------------------------


def dead_letters(
    root: Path,
    tenant: str | None,
    reason: str | None,
    *,
    after: tuple[int, str] = (-FAR, ""),
    limit: int = LIMIT,
) -> list[dict[str, Any]]:
    """The dead letters, oldest first; `id` is what `dlq show` and `dlq replay` take.

    `after`: only those behind that (recorded_at, id).
    """
    at, place = after
    topic, partition, offset = place.rsplit(":", 2) if place else ("", -1, -1)
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        sql = (
            f"SELECT {PLACE} AS id, reason, detail, key, "
            "octet_length(payload) AS bytes, recorded_at FROM dead_letters "
            "WHERE (? IS NULL OR reason = ?) "
            "AND (epoch_us(recorded_at), src_topic, src_partition, src_offset) > (?, ?, ?, ?) "
            "ORDER BY recorded_at, src_topic, src_partition, src_offset LIMIT ?"
        )
        given = (reason, reason, at, topic, int(partition), int(offset), limit)
        return rows(db, sql, *given)


def dead_letter(root: Path, tenant: str | None, letter: str) -> dict[str, Any]:
    """One dead letter with its original bytes. `others`: how many more stand under this id, for a
    file that was written anew has its lines twice."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        found = rows(db, f"SELECT * FROM dead_letters WHERE {PLACE} = ?", letter)
        return {**_one(found, f"dead letter {letter!r}"), "others": len(found) - 1}
