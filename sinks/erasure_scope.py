"""Scope of an erasure: the temporary tables of sessions, events and tasks that the conditions of
`sinks.erasure` use."""

from collections.abc import Collection, Iterable

import duckdb

from sinks.dead_letter_owners import GOES, STAYS, Letters
from sinks.erased_ids import EVENT, PLAN, SESSION, TASK, WHOLE, hash_sql
from sinks.erasure import (
    LETTER,
    OF_SESSION,
    SESSION_OF,
    session_plans,
    source_events,
    with_payload,
)
from sinks.history import quoted

DEFAULT_TENANT = "default"
LETTERS_AT_ONCE = 200
REMADE = "forget"
"""`src_topic` of documents that were folded again for an erasure."""

PERSON = """
CREATE TEMP TABLE person AS SELECT {user} AS user_id, {tenant} AS tenant;
CREATE TEMP TABLE erased_event AS
    SELECT DISTINCT event_id, session_id, task_id FROM events
    WHERE user_id = {user};
CREATE TEMP TABLE own_session AS
    SELECT session_id FROM erased_event
    UNION SELECT session_id FROM sessions WHERE user_id = {user}
    UNION SELECT session_id FROM signals WHERE user_id = {user} AND scope = 'session';
"""
NOTHING_LATE = """
CREATE TEMP TABLE late (session_id VARCHAR, kind VARCHAR, id VARCHAR);
"""
NAMED = f"""
    SELECT session_id, '{SESSION}' AS kind, session_id AS id
    FROM sessions WHERE src_topic <> '{REMADE}'
    UNION ALL SELECT session_id, '{TASK}', task_id FROM tasks WHERE src_topic <> '{REMADE}'
    UNION ALL SELECT session_id, '{TASK}', task_id FROM recursions
    UNION ALL SELECT session_id, '{TASK}', task_id FROM tool_results
    UNION ALL SELECT session_id, '{EVENT}', event_id FROM affects
    UNION ALL SELECT {SESSION_OF["plans"]}, '{EVENT}', event_id FROM plans t
    UNION ALL SELECT t.session_id, '{EVENT}', event_id FROM threads t
    UNION ALL SELECT {SESSION_OF["links"]}, '{EVENT}', unnest([from_event_id, to_event_id])
    FROM links t
    UNION ALL SELECT owner_id, '{EVENT}', unnest(evidence_event_ids) FROM revisions
    UNION ALL SELECT owner_id, '{SESSION}', NULL FROM revisions t WHERE {OF_SESSION}
    UNION ALL SELECT payload_json ->> '$.session_id', '{EVENT}', payload_json ->> '$.event_id'
    FROM dead_letters t
    UNION ALL SELECT payload_json ->> '$.session_id', '{TASK}',
        coalesce(payload_json ->> '$.task_id', payload_json ->> '$.event_id')
    FROM dead_letters t
    UNION ALL SELECT key[length(tenant) + 2:], '{SESSION}', key[length(tenant) + 2:]
    FROM dead_letters t WHERE payload_json IS NULL AND starts_with(key, tenant || '/')
"""
"""The ids in rows, each with its session. Rows that an erasure rebuilt contain no new ids."""
LATE = """
CREATE TEMP VIEW named AS {named};
CREATE TEMP TABLE noted_session AS
    SELECT session_id, {hash_of_session} IN (FROM noted) AS shared
    FROM (SELECT DISTINCT session_id FROM named)
    WHERE shared OR {hash_of_whole} IN (FROM noted);
CREATE TEMP TABLE late AS
    SELECT DISTINCT session_id, kind, id FROM named JOIN noted_session USING (session_id)
    WHERE (shared OR kind = 'event') AND {hash_of_id} IN (FROM noted)
    UNION SELECT session_id, 'session', session_id FROM noted_session
    WHERE session_id NOT IN (SELECT session_id FROM events) AND session_id NOT IN (
        SELECT session_id FROM signals WHERE scope = 'session' AND session_id IS NOT NULL
    );
DELETE FROM late WHERE kind = 'event' AND (session_id, id) IN (
    SELECT (session_id, event_id) FROM events WHERE user_id IS DISTINCT FROM {user}
);
"""
"""Rows that arrived after an erasure and belong to the person by its notes; all rows of sessions
without turns and signals. Ids that another user has used since belong to that user."""
SCOPE = """
CREATE TEMP TABLE their_session AS
    FROM own_session UNION SELECT session_id FROM late;
CREATE TEMP TABLE shared_session AS
    SELECT DISTINCT session_id FROM events
    WHERE session_id IN (FROM their_session) AND user_id <> {user}
    UNION SELECT session_id FROM signals
    WHERE session_id IN (FROM their_session) AND scope = 'session' AND user_id <> {user};
CREATE TEMP TABLE whole_session AS
    SELECT session_id FROM their_session WHERE session_id NOT IN (FROM shared_session);
INSERT INTO erased_event
    SELECT DISTINCT event_id, session_id, task_id FROM events
    WHERE session_id IN (FROM whole_session) AND user_id IS NULL;
"""
OF_BOTH = """
CREATE TEMP TABLE erased_task AS
    SELECT DISTINCT session_id, coalesce(task_id, event_id) AS task_id FROM erased_event
    UNION SELECT session_id, id FROM late WHERE kind = 'task';
INSERT INTO erased_event SELECT id, session_id, NULL FROM late WHERE kind = 'event';
CREATE TEMP TABLE clear_event AS
    SELECT DISTINCT event_id FROM erased_event WHERE event_id NOT IN (
        SELECT event_id FROM events ANTI JOIN erased_event USING (session_id, event_id)
    );
CREATE TEMP TABLE touched AS
    SELECT DISTINCT owner_id, entity_type, entity_id FROM revisions
    JOIN (SELECT session_id AS owner_id, list(event_id) AS gone FROM erased_event GROUP BY ALL)
    USING (owner_id)
    WHERE owner_id IN (FROM shared_session) AND list_has_any(evidence_event_ids, gone);
"""

_IS_ERASED = """CASE WHEN session_id IS NULL THEN event_id IN (FROM clear_event)
        ELSE (session_id, event_id) IN (SELECT (session_id, event_id) FROM erased_event) END"""
MADE_OF_THEM = with_payload(f"""
CREATE TEMP TABLE erased_plan AS
    SELECT DISTINCT user_id, plan_id FROM (
        SELECT t.user_id, t.plan_id, {SESSION_OF["plans"]} AS session_id,
            unnest(list_append({source_events("t.doc")}, t.event_id)) AS event_id
        FROM plans t
    ) WHERE {_IS_ERASED};
CREATE TEMP TABLE erased_letter AS
    SELECT DISTINCT src_topic, src_partition, src_offset FROM (
        SELECT t.src_topic, t.src_partition, t.src_offset,
            {SESSION_OF["dead_letters"]} AS session_id,
            unnest({source_events("(payload_json)")}) AS event_id
        FROM dead_letters t
    ) WHERE {_IS_ERASED};
""")
"""Plans, and dead letters of plans, that are derived from erased events, of any user."""
HEARD_OF = """
CREATE TEMP TABLE heard AS
    SELECT DISTINCT user_id FROM erased_plan WHERE user_id <> {user};
"""
"""Other users with memory that rests on the person's turns."""

SESSION_SCOPE = """
CREATE TEMP TABLE person AS SELECT NULL::VARCHAR AS user_id, {tenant} AS tenant;
CREATE TEMP TABLE erased_event AS
    SELECT DISTINCT event_id, session_id, task_id FROM events WHERE session_id = {session};
CREATE TEMP TABLE whole_session AS SELECT {session} AS session_id;
CREATE TEMP TABLE shared_session AS SELECT NULL::VARCHAR AS session_id WHERE false;
"""
TURN_SCOPE = """
CREATE TEMP TABLE person AS SELECT NULL::VARCHAR AS user_id, {tenant} AS tenant;
CREATE TEMP TABLE erased_event AS
    SELECT event_id, session_id, task_id FROM events
    WHERE session_id = {session} AND event_id = {event}
    UNION SELECT {event}, {session}, NULL;
CREATE TEMP TABLE whole_session AS SELECT NULL::VARCHAR AS session_id WHERE false;
CREATE TEMP TABLE shared_session AS SELECT {session} AS session_id;
CREATE TEMP TABLE erased_message AS
    WITH begun AS (
        SELECT event_id, min(occurred_at) AS since FROM events
        WHERE session_id = {session} GROUP BY ALL
    ), lasted AS (
        SELECT event_id, since, lead(since) OVER (ORDER BY since, event_id) AS until FROM begun
    )
    SELECT signal_id FROM signals WHERE session_id = {session} AND signal_id = {event}
    UNION SELECT s.signal_id FROM signals s JOIN lasted l ON l.event_id = {event}
    WHERE s.session_id = {session} AND s.occurred_at >= l.since
        AND (l.until IS NULL OR s.occurred_at < l.until)
        AND s.signal_id NOT IN (SELECT event_id FROM begun WHERE event_id <> {event});
"""
"""Scope of a turn in a session that stays. Its messages are those until the next turn, as messages
of an assistant do not name their turn."""
HEARD = """
CREATE TEMP TABLE heard AS
    SELECT user_id FROM (
        SELECT user_id FROM events WHERE session_id = {session}
        UNION SELECT user_id FROM signals WHERE session_id = {session}
        UNION SELECT user_id FROM plans t WHERE coalesce({plans}, false)
    ) WHERE user_id IS NOT NULL;
"""
ERASED_IDS = """
SELECT {event} FROM erased_event WHERE session_id IN (FROM their_session)
UNION SELECT {task} FROM erased_task WHERE session_id IN (FROM shared_session)
UNION SELECT {session} FROM shared_session
UNION SELECT {whole} FROM whole_session
UNION SELECT {plan} FROM erased_plan WHERE user_id IN (FROM heard)
"""
LATE_PLANS = """
INSERT INTO erased_plan
    SELECT DISTINCT owner_id, plan_id FROM revisions
    WHERE plan_id IS NOT NULL AND {plan} IN (FROM noted);
"""
"""Plans that an erasure has noted, if their revisions arrived after it."""


def scope(
    db: duckdb.DuckDBPyConnection, tenant: str, user_id: str, noted: Collection[str] = ()
) -> None:
    """Creates the tables that the conditions use, in a connection limited to the tenant; conditions
    of plans, revisions and dead letters also need `scope_made`. `noted`: hashes of the person's
    erased ids (`sinks.erased_ids`)."""
    user, late = quoted(user_id), NOTHING_LATE
    if noted:
        db.execute("CREATE TEMP TABLE noted AS SELECT unnest(?::VARCHAR[])", [list(noted)])
        hashes = {
            f"hash_of_{name}": hash_sql(kind, quoted(tenant), "session_id", column)
            for name, kind, column in (
                ("session", f"'{SESSION}'", "session_id"),
                ("whole", f"'{WHOLE}'", "session_id"),
                ("id", "kind", "id"),
            )
        }
        late = LATE.format(user=user, named=with_payload(NAMED), **hashes)
    begin, end = (part.format(user=user, tenant=quoted(tenant)) for part in (PERSON, SCOPE))
    db.execute(begin + late + end + OF_BOTH)


def scope_made(
    db: duckdb.DuckDBPyConnection,
    tenant: str,
    user_id: str,
    noted: Collection[str] = (),
    heard: Iterable[str] = (),
) -> None:
    """Creates the tables of plans and dead letters derived from the person's events, after `scope`:
    reads all plans and dead letters of the tenant. Also the table `heard`: users with memory that
    rests on the person's turns, and the users `heard`."""
    db.execute(MADE_OF_THEM)
    if noted:
        db.execute(LATE_PLANS.format(plan=_plan_hash(tenant, "owner_id")))
    db.execute(HEARD_OF.format(user=quoted(user_id)))
    _add_heard(db, heard)


def _plan_hash(tenant: str, owner: str) -> str:
    return hash_sql(f"'{PLAN}'", quoted(tenant), owner, "plan_id")


def scope_session(
    db: duckdb.DuckDBPyConnection,
    tenant: str,
    session_id: str,
    event_id: str | None = None,
    users: Iterable[str] = (),
) -> None:
    """`scope` and `scope_made` of one session, or of one turn of it. The table `heard` has the
    users with memory that rests on the session, and `users`."""
    names = {"session": quoted(session_id), "tenant": quoted(tenant)}
    if event_id is None:
        begin = SESSION_SCOPE.format(**names)
    else:
        begin = TURN_SCOPE.format(event=quoted(event_id), **names)
    db.execute(begin + NOTHING_LATE + OF_BOTH + MADE_OF_THEM)
    if event_id is not None:  # rows that name the turn as their task belong to it
        db.execute("INSERT INTO erased_task SELECT session_id, event_id FROM erased_event")
    db.execute(HEARD.format(session=quoted(session_id), plans=session_plans()))
    _add_heard(db, users)


def judge_letters(db: duckdb.DuckDBPyConnection, rows: str, tenant: str) -> None:
    """Creates the table `letter`, after a scope: the dead letters of the SQL `rows` that name the
    person or an erased session (`goes`), or may do so. An unreadable letter is stored under the
    default tenant, and names its tenant only in its text."""
    ((user_id,),) = db.execute("SELECT user_id FROM person").fetchall()
    sessions = [id for (id,) in db.execute("FROM whole_session").fetchall()]
    tasks = db.execute("FROM erased_task WHERE task_id IS NOT NULL").fetchall()
    letters = Letters(tenant, user_id, sessions, tasks)
    verdicts: list[tuple[str, str, bool]] = []
    cursor = db.execute(
        f"SELECT t.tenant, {LETTER}, t.payload, t.key, CAST(t.headers AS VARCHAR), t.detail "
        f"FROM ({rows}) t WHERE t.tenant IN ({quoted(tenant)}, {quoted(DEFAULT_TENANT)})"
    )
    while rows_read := cursor.fetchmany(LETTERS_AT_ONCE):
        for of_tenant, id, payload, key, headers, detail in rows_read:
            verdict = letters.verdict(payload, key, headers, detail)
            if of_tenant != tenant and verdict and not letters.is_of_tenant(payload):
                verdict = STAYS
            if verdict != STAYS:
                verdicts.append((of_tenant, id, verdict == GOES))
    db.execute("CREATE OR REPLACE TEMP TABLE letter (tenant VARCHAR, id VARCHAR, goes BOOLEAN)")
    columns = [[verdict[place] for verdict in verdicts] for place in range(3)]
    db.execute(
        "INSERT INTO letter SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), "
        "unnest(?::BOOLEAN[])", columns
    )  # fmt: skip


def unclear_letters(db: duckdb.DuckDBPyConnection, rows: str, erased: str) -> int:
    """Number of remaining letters that may name the person."""
    ((count,),) = db.execute(
        f"SELECT count(*) FROM ({rows}) t WHERE NOT {erased} AND t.settled_at IS NULL "
        f"AND (t.tenant, {LETTER}) IN (SELECT (tenant, id) FROM letter WHERE NOT goes)"
    ).fetchall()
    return int(count)


def _add_heard(db: duckdb.DuckDBPyConnection, users: Iterable[str]) -> None:
    db.execute("INSERT INTO heard SELECT unnest(?::VARCHAR[]) EXCEPT FROM heard", [list(users)])


def erased_ids(db: duckdb.DuckDBPyConnection, tenant: str) -> list[str]:
    """Hashes of the ids in a scope: events, which other users' plans may be derived from; shared
    sessions and their tasks; whole sessions; plans of other users."""
    hashes = {
        kind: hash_sql(f"'{kind}'", quoted(tenant), "session_id", column)
        for kind, column in (
            (EVENT, "event_id"),
            (TASK, "task_id"),
            (SESSION, "session_id"),
            (WHOLE, "session_id"),
        )
    }
    sql = ERASED_IDS.format(**hashes, plan=_plan_hash(tenant, "user_id"))
    return [column for (column,) in db.execute(sql).fetchall()]
