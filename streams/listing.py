"""Lists out of a history: a key's turns, an entity's revisions with their evidence, dead letters.

Every function takes the history's root and a tenant and returns plain JSON-ready values.
"""

from typing import Any, NamedTuple

import msgspec
from _duckdb import DuckDBPyConnection

from schemas.citation import DIGITS, Citation
from schemas.time import format_time, parse_time
from sinks.history import connect, quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.errors import DataRefused, UsageError
from streams.reading import FAR, rows, the_one

CHOSEN = (
    "(? IS NULL OR reason = ?) AND (? IS NULL OR src_topic = ?) AND epoch_us(recorded_at) >= ? "
    "AND (? OR settled_at IS NULL)"
)
"""SQL of the dead letters that are asked for."""
TOLD = (
    "tenant", "event_id", "session_id", "user_id", "occurred_at", "user_input",
    "agent_answer", "status", "recorded_at", "src_topic", "src_partition", "src_offset",
)  # fmt: skip
"""What `why` says of an event, and what tells which of its rows stands."""
PLANNED = ("tenant", "user_id", "plan_id", "extractor_name", "extractor_version", "doc")
"""What it says of the plan behind a revision: who made it, and the session that it names."""
SPOKEN = (*TOLD, "source", "error", "intent", "topic")
"""What `timeline` says of it."""
IN_ORDER = "recorded_at, src_topic, src_partition, src_offset"
"""SQL of the order in which records came."""
PLACE = "src_topic || ':' || src_partition || ':' || src_offset"
"""SQL of where a record stood: topic, partition and offset; of a file its path, 0 and the line."""


class ChangedNothing(DataRefused):
    """The turn that is cited is there, and changed nothing in memory."""


# --- turns ------------------------------------------------------------------------------------


OF_USERS = (("events", "status <> 'running'"), ("plans", "true"), ("signals", "scope = 'user'"))
"""What memory of a user is made of, and of which rows."""


def knows_user(root: Location, tenant: str, user_id: str, known_at: int | None) -> bool:
    """Whether something was known of a user by then."""
    known = "user_id = ? AND epoch_us(recorded_at) <= ? LIMIT 1"
    given = user_id, FAR if known_at is None else known_at
    with Lookup(root, tenant) as about:
        return any(about.rows(table, ("1",), f"{of} AND {known}", *given) for table, of in OF_USERS)


def timeline(
    root: Location,
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
    return [{**row, **_about(row)} for row in found]


def _about(row: dict[str, Any]) -> dict[str, str | None]:
    """The first date that a turn's user names."""
    from streams.dates import resolve  # its tables, which no other question needs

    named = resolve(row["user_input"] or "", parse_time(row["occurred_at"]))[:1]
    start, end = map(format_time, named[0][:2]) if named else (None, None)
    return {"about_start": start, "about_end": end}


def _load_turns(about: Lookup, key: str, of_users: bool) -> None:
    """A key's events, with all rows of each, so that the one that stands is among them."""
    if not of_users:  # which row of an event stands is told session by session
        about.load("events", "session_id = ?", key, columns=SPOKEN)
        return
    about.load("events", "session_id = ? OR user_id = ?", key, key, columns=["event_id"])
    # a join, not a list as in `why`: of many thousands of ids a list takes ten times as long
    about.load("events", "event_id IN (SELECT event_id FROM events)", columns=SPOKEN)


# --- messages ---------------------------------------------------------------------------------


Came = tuple[int, str, int, int]
"""When a record came, in microseconds, and its topic, partition and offset."""


class Message(NamedTuple):
    """A message as it was sent (schemas.messages.StoredMessage), and its place among all."""

    came: Came
    document: dict[str, Any]


class Messages(NamedTuple):
    """A session's messages that are kept as they were sent, and how many signals say so: each kept
    one or took one back."""

    messages: list[Message]
    signals: int


class _Signal(msgspec.Struct):
    """What a signal says of messages."""

    message: str | None = None
    takes_back: str | None = None


def messages(root: Location, tenant: str, session_id: str) -> Messages:
    """In the order in which they came."""
    sql = (
        "SELECT signal_id AS id, occurred_at AS at, user_id, doc, "
        "[epoch_us(recorded_at)::VARCHAR, src_topic, src_partition::VARCHAR, src_offset::VARCHAR] "
        "AS came FROM signals "
        f"QUALIFY row_number() OVER (PARTITION BY signal_id ORDER BY {IN_ORDER}) = 1 "
        f"ORDER BY {IN_ORDER}"
    )
    with Lookup(root, tenant) as about:
        about.load("signals", "session_id = ? AND scope = 'session'", session_id)
        found = rows(about.db, sql)
    said = [(row, msgspec.json.decode(row.pop("doc"), type=_Signal)) for row in found]
    said = [one for one in said if one[1].message is not None or one[1].takes_back is not None]
    gone = {signal.takes_back for _, signal in said}
    kept = [
        Message(_came(*row.pop("came")), {**row, "original": signal.message})
        for row, signal in said
        if signal.message is not None and row["id"] not in gone
    ]
    return Messages(kept, len(said))


def _came(recorded_at: str, topic: str, partition: str, offset: str) -> Came:
    return int(recorded_at), topic, int(partition), int(offset)


# --- revisions --------------------------------------------------------------------------------


def _listed(db: DuckDBPyConnection, sql: str) -> str:
    """Ids as an SQL list: for one, not for a subquery, DuckDB asks the files' Bloom filters."""
    return ", ".join(quoted(one) for (one,) in db.execute(sql).fetchall()) or "NULL"


def why(root: Location, tenant: str, entity_id: str) -> list[dict[str, Any]]:
    """The revisions of an entity with the text of their evidence.

    A citation of a context pack stands for the id it was made of; that of a turn for all that the
    turn changed. Raises ChangedNothing where that is nothing.
    """
    citation = Citation.read(entity_id)
    with Lookup(root, tenant) as about:
        if citation is None:
            about.load("revisions", "entity_id = ?", entity_id)
        elif citation.kind == "event":
            entity_id = _event_cited(about, citation)
            about.load("revisions", "list_contains(evidence_event_ids, ?)", entity_id)
        else:
            entity_id = _entity_cited(about, citation)
        found = _revisions(about)
    if citation and citation.kind == "event":
        found = [row for row in found if row["evidence_event_id"] == entity_id]
        if not found:
            raise ChangedNothing(f"turn {entity_id!r} changed nothing in memory")
    if not found:
        raise DataRefused(
            f"{entity_id!r} has no revision in this history: no state, preference, session or "
            "item of session memory of that id was ever changed; `turnfold user` and `session` "
            "show ids"
        )
    return found


def revisions(root: Location, tenant: str, entity_id: str) -> list[dict[str, Any]]:
    """The same; none of a cited turn that changed nothing."""
    try:
        return why(root, tenant, entity_id)
    except ChangedNothing:
        return []


def owner_of(root: Location, tenant: str, kind: str, id: str) -> str:
    """Whose something of a kind of revisions is, by its id or its citation. Raises DataRefused
    where no revision tells of it, UsageError where a citation is that of several."""
    citation = Citation.read(id)
    with Lookup(root, tenant) as about:
        about.load("revisions", f"entity_id = ? AND entity_type = {quoted(kind)}", id)
        row = about.db.execute("SELECT owner_id FROM revisions LIMIT 1").fetchone()
        if row is None and citation is not None and citation.kind == kind:
            cited = _entity_cited(about, citation)
            about.load("revisions", f"entity_id = ? AND entity_type = {quoted(kind)}", cited)
            row = about.db.execute("SELECT owner_id FROM revisions LIMIT 1").fetchone()
    if row is None:
        raise DataRefused(f"{id!r} is no {kind} in this history")
    (owner_id,) = row
    return str(owner_id)


def _revisions(about: Lookup) -> list[dict[str, Any]]:
    """The revisions that are loaded, of each entity in order, with their evidence."""
    cited = _listed(about.db, "SELECT DISTINCT unnest(evidence_event_ids) FROM revisions")
    about.load("events", f"event_id IN ({cited})", columns=TOLD)
    planned = _listed(about.db, "SELECT DISTINCT plan_id FROM revisions WHERE plan_id IS NOT NULL")
    about.load("plans", f"plan_id IN ({planned})", columns=PLANNED)
    entities = about.db.execute("SELECT DISTINCT entity_id FROM revisions ORDER BY 1").fetchall()
    db = about.define("why")
    found = [row for (id,) in entities for row in rows(db, "SELECT * FROM why(?)", id)]
    for row in found:
        for name in ("before", "after"):
            if isinstance(row.get(name), str):
                row[name] = msgspec.json.decode(row[name])
    return found


def _entity_cited(about: Lookup, citation: Citation) -> str:
    """The id of what is cited, its revisions loaded."""
    about.load(
        "revisions", f"entity_type = ? AND {_BEGINS.format('entity_id')}",
        citation.kind, citation.digits,
    )  # fmt: skip
    return _only(about.db, "SELECT DISTINCT entity_id FROM revisions ORDER BY 1", citation)


def _event_cited(about: Lookup, citation: Citation) -> str:
    about.load("events", _BEGINS.format("event_id"), citation.digits, columns=("event_id",))
    return _only(about.db, "SELECT DISTINCT event_id FROM events ORDER BY 1", citation)


_BEGINS = f"left(sha256({{}}), {DIGITS}) = ?"


def _only(db: DuckDBPyConnection, sql: str, citation: Citation) -> str:
    found = [id for (id,) in db.execute(sql).fetchall()]
    if not found:
        raise DataRefused(f"nothing in this history has the citation {citation}")
    if len(found) > 1:
        ids = ", ".join(map(repr, found))
        raise UsageError(f"the citation {citation} is that of several ids: {ids}; give one of them")
    return str(found[0])


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
    """The dead letters, oldest first; `id` is what `dlq show` and `dlq replay` take.

    `topic`: only those that were read from it. `since`: only those recorded from that time on
    (microseconds). `settled`: also letters that are settled, each with `settled_at`. `after`: only
    those behind that (recorded_at, id). `limit`: at most so many.
    """
    at, place = after
    behind, partition, offset = place.rsplit(":", 2) if place else ("", -1, -1)
    names = f"{PLACE} AS id, reason, detail, key, octet_length(payload) AS bytes, recorded_at"
    if settled:
        names += ", settled_at"
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        sql = (
            f"SELECT {names} FROM dead_letters "
            f"WHERE {CHOSEN} "
            "AND (epoch_us(recorded_at), src_topic, src_partition, src_offset) > (?, ?, ?, ?) "
            "ORDER BY recorded_at, src_topic, src_partition, src_offset LIMIT ?"
        )
        chosen = (reason, reason, topic, topic, since, settled)
        return rows(db, sql, *chosen, at, behind, int(partition), int(offset), limit)


def count_dead_letters(
    root: Location,
    tenant: str | None,
    reason: str | None,
    topic: str | None,
    since: int,
    settled: bool,
) -> int:
    """How many `dead_letters` there are without a limit."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        sql = f"SELECT count(*) AS letters FROM dead_letters WHERE {CHOSEN}"
        chosen = (reason, reason, topic, topic, since, settled)
        count: int = rows(db, sql, *chosen)[0]["letters"]
        return count


def reasons(root: Location, tenant: str | None) -> list[dict[str, Any]]:
    """How many unsettled dead letters there are of each `reason`, the most frequent first:
    `letters`, and `last`, when the newest was recorded."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        return rows(
            db,
            "SELECT reason, count(*) AS letters, max(recorded_at) AS last FROM dead_letters "
            "WHERE settled_at IS NULL GROUP BY reason ORDER BY letters DESC, reason",
        )


def dead_letter(root: Location, tenant: str | None, letter: str) -> dict[str, Any]:
    """One dead letter with its original bytes. `others`: how many more stand under this id, for a
    file that was written again has its lines twice."""
    with connect(root, tenant=tenant, views=["dead_letters"]) as db:
        found = rows(db, f"SELECT * FROM dead_letters WHERE {PLACE} = ?", letter)
        return {**the_one(found, f"dead letter {letter!r}"), "others": len(found) - 1}
