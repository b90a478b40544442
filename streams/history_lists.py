"""Lists from a history: turns of a key, revisions of an entity with their evidence, dead letters.

Functions take the history's root and a tenant, and return JSON-compatible values.
"""

from collections.abc import Collection
from typing import Any, NamedTuple

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.citation import DIGITS, Citation
from schemas.time import format_time, parse_time
from sinks.history import connect, quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.errors import DataRefused, UsageError
from streams.history_documents import FAR, first_record, rows

SELECTED = (
    "(? IS NULL OR reason = ?) AND (? IS NULL OR src_topic = ?) AND epoch_us(recorded_at) >= ? "
    "AND (? OR settled_at IS NULL)"
)
"""SQL condition of the dead letters to return."""
WHY_COLUMNS = (
    "tenant", "event_id", "session_id", "user_id", "occurred_at", "user_input",
    "agent_answer", "status", "recorded_at", "src_topic", "src_partition", "src_offset",
)  # fmt: skip
"""Columns of an event in `why`, and columns that decide which of its rows counts."""
PLAN_COLUMNS = ("tenant", "user_id", "plan_id", "extractor_name", "extractor_version", "doc")
"""Columns of a revision's plan in `why`."""
TIMELINE_COLUMNS = (*WHY_COLUMNS, "source", "error", "intent", "topic")
"""Columns of an event in `timeline`."""
IN_ORDER = "recorded_at, src_topic, src_partition, src_offset"
"""SQL of the order in which records arrived."""
PLACE = "src_topic || ':' || src_partition || ':' || src_offset"
"""SQL of a record's position: topic, partition and offset; for a file its path, 0 and the line."""


class ChangedNothing(DataRefused):
    """The cited turn exists, and did not change memory."""


# --- turns ------------------------------------------------------------------------------------


OF_USERS = (("events", "status <> 'running'"), ("plans", "true"), ("signals", "scope = 'user'"))
"""Tables from which a user's memory is derived -> condition of their rows."""


def knows_user(root: Location, tenant: str, user_id: str, known_at: int | None) -> bool:
    """Whether the history had records of a user at a time."""
    condition = "user_id = ? AND epoch_us(recorded_at) <= ? LIMIT 1"
    parameters = user_id, FAR if known_at is None else known_at
    with Lookup(root, tenant) as lookup:
        return any(
            lookup.rows(table, ("1",), f"{filter_sql} AND {condition}", *parameters)
            for table, filter_sql in OF_USERS
        )


def speakers(root: Location, tenant: str, session_id: str, event_id: str) -> set[str]:
    """The user of a session's turn; none where it names none."""
    turn = "session_id = ? AND event_id = ? AND user_id IS NOT NULL"
    with Lookup(root, tenant) as lookup:
        return {user for (user,) in lookup.rows("events", ("user_id",), turn, session_id, event_id)}


def timeline(
    root: Location,
    tenant: str,
    key: str,
    *,
    of_users: bool = True,
    after: tuple[int, str] = (-FAR, ""),
    limit: int = FAR,
) -> list[dict[str, Any]]:
    """Turns of a session, or with `of_users` also of a user, in order.

    `after`: only turns after this (occurred_at, event_id), at most `limit`. Raises DataRefused for
    an unknown key.
    """
    clauses = (
        "FROM event_current e {} WHERE (e.session_id = ? OR e.user_id = ?) "
        "AND (epoch_us(e.occurred_at), e.event_id) > (?, ?) {} "
        "ORDER BY e.occurred_at, e.event_id LIMIT ?"
    )
    sql = (
        "SELECT e.occurred_at, e.event_id, e.session_id, e.user_id, e.source, e.status, "
        "e.user_input, e.agent_answer, e.error, e.intent, e.topic, a.v, a.a, a.d "
    ) + clauses.format(
        "LEFT JOIN affect_current a ON a.tenant = e.tenant AND a.event_id = e.event_id "
        "AND coalesce(a.session_id = e.session_id, a.user_id = e.user_id)",
        "QUALIFY row_number() OVER (PARTITION BY e.session_id, e.event_id "  # the turn's user
        "ORDER BY a.user_id = e.user_id DESC NULLS LAST, a.user_id, a.session_id) = 1",
    )
    parameters = (key, key if of_users else None, *after, limit)
    with Lookup(root, tenant) as lookup:
        _load_turns(lookup, key, of_users)
        # first the ids of the page: sorting all texts and moods would cost too much
        page = f"CREATE TABLE page AS SELECT e.event_id {clauses.format('', '')}"
        lookup.define("event_current").execute(page, parameters)
        lookup.db.execute("DELETE FROM events WHERE event_id NOT IN (FROM page)")
        lookup.load("affects", "event_id IN (FROM page)")
        turns = rows(lookup.define("event_current", "affect_current"), sql, *parameters)
    if not turns and after == (-FAR, ""):  # after a cursor, a page may be empty
        raise DataRefused(f"no session or user {key!r} in this history")
    return [{**row, **_about(row)} for row in turns]


def _about(row: dict[str, Any]) -> dict[str, str | None]:
    """The first date in a turn's user input."""
    from streams.dates import resolve  # loads tables that no other query needs

    dates = resolve(row["user_input"] or "", parse_time(row["occurred_at"]))[:1]
    start, end = map(format_time, dates[0][:2]) if dates else (None, None)
    return {"about_start": start, "about_end": end}


def _load_turns(lookup: Lookup, key: str, of_users: bool) -> None:
    """Loads a key's events with all their rows, as a view selects the current one."""
    if not of_users:  # the current row of an event is selected per session
        lookup.load("events", "session_id = ?", key, columns=TIMELINE_COLUMNS)
        return
    lookup.load("events", "session_id = ? OR user_id = ?", key, key, columns=["event_id"])
    # a join, not a list as in `why`: a list of many thousands of ids takes ten times as long
    lookup.load("events", "event_id IN (SELECT event_id FROM events)", columns=TIMELINE_COLUMNS)


# --- messages ---------------------------------------------------------------------------------


Arrival = tuple[int, str, int, int]
"""Arrival of a record: time in microseconds, topic, partition and offset."""


class Message(NamedTuple):
    """An original message (schemas.messages.StoredMessage), and its arrival."""

    came: Arrival
    document: dict[str, Any]


class Messages(NamedTuple):
    """Original messages of a session, and the number of signals that stored or removed one."""

    messages: list[Message]
    signals: int


class _Signal(msgspec.Struct):
    """The fields of a signal about messages."""

    message: str | None = None
    takes_back: str | None = None


def messages(root: Location, tenant: str, session_id: str) -> Messages:
    """Original messages of a session in order of arrival."""
    sql = (
        "SELECT signal_id AS id, occurred_at AS at, user_id, doc, "
        "[epoch_us(recorded_at)::VARCHAR, src_topic, src_partition::VARCHAR, src_offset::VARCHAR] "
        "AS came FROM signals "
        f"QUALIFY row_number() OVER (PARTITION BY signal_id ORDER BY {IN_ORDER}) = 1 "
        f"ORDER BY {IN_ORDER}"
    )
    with Lookup(root, tenant) as lookup:
        lookup.load("signals", "session_id = ? AND scope = 'session'", session_id)
        records = rows(lookup.db, sql)
    signals = [(row, msgspec.json.decode(row.pop("doc"), type=_Signal)) for row in records]
    signals = [
        entry
        for entry in signals
        if entry[1].message is not None or entry[1].takes_back is not None
    ]
    removed = {signal.takes_back for _, signal in signals}
    remaining = [
        Message(_arrival(*row.pop("came")), {**row, "original": signal.message})
        for row, signal in signals
        if signal.message is not None and row["id"] not in removed
    ]
    return Messages(remaining, len(signals))


def _arrival(recorded_at: str, topic: str, partition: str, offset: str) -> Arrival:
    return int(recorded_at), topic, int(partition), int(offset)


# --- revisions --------------------------------------------------------------------------------


def _id_list(db: DuckDBPyConnection, sql: str) -> str:
    """Ids as an SQL list: unlike a subquery, it lets DuckDB use the files' Bloom filters."""
    return ", ".join(quoted(id) for (id,) in db.execute(sql).fetchall()) or "NULL"


def why(root: Location, tenant: str, entity_id: str) -> list[dict[str, Any]]:
    """Revisions of an entity with the text of their evidence.

    `entity_id` may be a citation of a context pack; a turn's citation selects all revisions that
    rest on the turn. Raises DataRefused without a revision, ChangedNothing for such a turn.
    """
    citation = Citation.read(entity_id)
    with Lookup(root, tenant) as lookup:
        if citation is None:
            lookup.load("revisions", "entity_id = ?", entity_id)
        elif citation.kind == "event":
            entity_id = _event_cited(lookup, citation)
            lookup.load("revisions", "list_contains(evidence_event_ids, ?)", entity_id)
        else:
            entity_id = _entity_cited(lookup, citation)
        changes = _revisions(lookup)
    if citation and citation.kind == "event":
        changes = [row for row in changes if row["evidence_event_id"] == entity_id]
        if not changes:
            raise ChangedNothing(f"turn {entity_id!r} changed nothing in memory")
    if not changes:
        raise DataRefused(
            f"{entity_id!r} has no revision in this history: no state, preference, session or "
            "item of session memory of that id was ever changed; `turnfold show user` and "
            "`turnfold show session` print ids"
        )
    return changes


def revisions(root: Location, tenant: str, entity_id: str) -> list[dict[str, Any]]:
    """`why`, but empty for a cited turn that did not change memory."""
    try:
        return why(root, tenant, entity_id)
    except ChangedNothing:
        return []


def tools_behind(root: Location, tenant: str, evidence: Collection[tuple[str, str]]) -> list[str]:
    """Names of the tools that the tasks of these turns (session and event ids) have called."""
    with Lookup(root, tenant) as lookup:
        sessions = ", ".join(quoted(session) for session, _ in evidence) or "NULL"
        for table in ("events", "recursions", "tool_results"):
            lookup.load(table, f"session_id IN ({sessions})")
        pairs = ", ".join(f"({quoted(session)}, {quoted(event)})" for session, event in evidence)
        sql = f"""SELECT DISTINCT name FROM tool_calls() c JOIN events e
            ON e.session_id = c.session_id AND coalesce(e.task_id, e.event_id) = c.task_id
            WHERE name IS NOT NULL AND (e.session_id, e.event_id) IN ({pairs or "(NULL, NULL)"})
            ORDER BY name"""
        return [name for (name,) in lookup.define("tool_calls").execute(sql).fetchall()]


def owner_of(root: Location, tenant: str, kind: str, id: str) -> str:
    """Owner of an entity of a kind, by its id or citation. Raises DataRefused if it has no
    revision, UsageError if a citation is ambiguous, or several users have this id."""
    citation = Citation.read(id)
    with Lookup(root, tenant) as lookup:

        def owners(entity_id: str) -> list[str]:
            of_kind = f"entity_id = ? AND entity_type = {quoted(kind)}"
            lookup.load("revisions", of_kind, entity_id, columns=("owner_id",))
            sql = "SELECT DISTINCT owner_id FROM revisions LIMIT 2"
            return [owner for (owner,) in lookup.db.execute(sql).fetchall()]

        owner_ids = owners(id)
        if not owner_ids and citation is not None and citation.kind == kind:
            owner_ids = owners(_entity_cited(lookup, citation))
    if not owner_ids:
        raise DataRefused(f"{id!r} is no {kind} in this history")
    if len(owner_ids) > 1:
        raise UsageError(f"user_id: several users have a {kind} {id!r}; name one of them")
    return owner_ids[0]


def _revisions(lookup: Lookup) -> list[dict[str, Any]]:
    """The loaded revisions with their evidence, in order per entity."""
    cited = _id_list(lookup.db, "SELECT DISTINCT unnest(evidence_event_ids) FROM revisions")
    lookup.load("events", f"event_id IN ({cited})", columns=WHY_COLUMNS)
    planned = _id_list(
        lookup.db, "SELECT DISTINCT plan_id FROM revisions WHERE plan_id IS NOT NULL"
    )
    lookup.load("plans", f"plan_id IN ({planned})", columns=PLAN_COLUMNS)
    entities = lookup.db.execute("SELECT DISTINCT entity_id FROM revisions ORDER BY 1").fetchall()
    db = lookup.define("why")
    changes = [row for (id,) in entities for row in rows(db, "SELECT * FROM why(?)", id)]
    for row in changes:
        for name in ("before", "after"):
            if isinstance(row.get(name), str):
                row[name] = msgspec.json.decode(row[name])
    return changes


def _entity_cited(lookup: Lookup, citation: Citation) -> str:
    """Resolves a citation to an entity's id, and loads its revisions."""
    lookup.load(
        "revisions", f"entity_type = ? AND {_BEGINS.format('entity_id')}",
        citation.kind, citation.digits,
    )  # fmt: skip
    return _resolve(lookup.db, "SELECT DISTINCT entity_id FROM revisions ORDER BY 1", citation)


def _event_cited(lookup: Lookup, citation: Citation) -> str:
    lookup.load("events", _BEGINS.format("event_id"), citation.digits, columns=("event_id",))
    return _resolve(lookup.db, "SELECT DISTINCT event_id FROM events ORDER BY 1", citation)


_BEGINS = f"left(sha256({{}}), {DIGITS}) = ?"


def _resolve(db: DuckDBPyConnection, sql: str, citation: Citation) -> str:
    matches = [id for (id,) in db.execute(sql).fetchall()]
    if not matches:
        raise DataRefused(f"nothing in this history has the citation {citation}")
    if len(matches) > 1:
        ids = ", ".join(map(repr, matches))
        raise UsageError(f"the citation {citation} is that of several ids: {ids}; give one of them")
    return str(matches[0])


# --- dead letters -----------------------------------------------------------------------------


def dead_letters(
    root: Location,
    tenant: str | None,
    reason: str | None,
    *,
    topic: str | None = None,
    since: int = -FAR,
    settled: bool = False,
    after: tuple[int, str] = (-FAR, ""),
    limit: int | None = None,
) -> list[dict[str, Any]]:
    """Dead letters, oldest first; `id` is the argument of `admin dlq show` and `admin dlq replay`.

    `topic`: only letters from this topic. `since`: only letters recorded from this time on
    (microseconds). `settled`: include settled letters, each with `settled_at`. `after`: only
    letters after this (recorded_at, id). `limit`: maximum number.
    """
    recorded_at, place = after
    source_topic, partition, offset = place.rsplit(":", 2) if place else ("", -1, -1)
    names = f"{PLACE} AS id, reason, detail, key, octet_length(payload) AS bytes, recorded_at"
    if settled:
        names += ", settled_at"
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        sql = (
            f"SELECT {names} FROM dead_letters "
            f"WHERE {SELECTED} "
            "AND (epoch_us(recorded_at), src_topic, src_partition, src_offset) > (?, ?, ?, ?) "
            "ORDER BY recorded_at, src_topic, src_partition, src_offset LIMIT ?"
        )
        parameters = (reason, reason, topic, topic, since, settled)
        return rows(
            db, sql, *parameters, recorded_at, source_topic, int(partition), int(offset), limit
        )


def count_dead_letters(
    root: Location,
    tenant: str | None,
    reason: str | None,
    topic: str | None,
    since: int,
    settled: bool,
) -> int:
    """Number of `dead_letters` without a limit."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        sql = f"SELECT count(*) AS letters FROM dead_letters WHERE {SELECTED}"
        parameters = (reason, reason, topic, topic, since, settled)
        count: int = rows(db, sql, *parameters)[0]["letters"]
        return count


def reasons(root: Location, tenant: str | None) -> list[dict[str, Any]]:
    """Unsettled dead letters per `reason`, the most frequent first: number of `letters`, and time
    of the `last`."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        return rows(
            db,
            "SELECT reason, count(*) AS letters, max(recorded_at) AS last FROM dead_letters "
            "WHERE settled_at IS NULL GROUP BY reason ORDER BY letters DESC, reason",
        )


def dead_letter(root: Location, tenant: str | None, letter: str) -> dict[str, Any]:
    """One dead letter with its original bytes. `others`: number of further letters with this id, as
    a rewritten file has its lines twice."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        letters = rows(db, f"SELECT * FROM dead_letters WHERE {PLACE} = ?", letter)
        return {**first_record(letters, f"dead letter {letter!r}"), "others": len(letters) - 1}
