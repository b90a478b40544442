"""Which rows of a history are one person's: the SQL behind `forget` (design 02, law 8)."""

import duckdb

from sinks.history import quoted

ERASED_LAST = {"sessions": 1, "events": 2}
"""The scope is read from these: a second call after a kill must still find it."""

SCOPE = """
CREATE TEMP TABLE person AS SELECT {user} AS user_id, {tenant} AS tenant;
CREATE TEMP TABLE erased_event AS
    SELECT DISTINCT event_id, session_id, task_id FROM events
    WHERE user_id = {user};
CREATE TEMP TABLE their_session AS
    SELECT session_id FROM erased_event
    UNION SELECT session_id FROM sessions WHERE user_id = {user};
CREATE TEMP TABLE shared_session AS
    SELECT DISTINCT session_id FROM events
    WHERE session_id IN (FROM their_session) AND user_id <> {user};
CREATE TEMP TABLE whole_session AS
    SELECT session_id FROM their_session WHERE session_id NOT IN (FROM shared_session);
INSERT INTO erased_event
    SELECT DISTINCT event_id, session_id, task_id FROM events
    WHERE session_id IN (FROM whole_session) AND user_id IS NULL;
CREATE TEMP TABLE erased_task AS
    SELECT DISTINCT session_id, coalesce(task_id, event_id) AS task_id FROM erased_event;
CREATE TEMP TABLE touched AS
    SELECT DISTINCT owner_id, entity_type, entity_id FROM revisions
    WHERE owner_id IN (FROM shared_session)
        AND list_has_any(
            evidence_event_ids, (SELECT coalesce(list(event_id), []) FROM erased_event)
        );
"""

THEIRS = "(SELECT user_id FROM person)"
WHOLE = "t.session_id IN (FROM whole_session)"
TASK = f"({WHOLE} OR (t.session_id, t.task_id) IN (SELECT (session_id, task_id) FROM erased_task))"
EVENT = "t.event_id IN (SELECT event_id FROM erased_event)"
OWNER = f"(t.owner_id = {THEIRS} OR t.owner_id IN (FROM whole_session))"
SESSION_TYPES = "('session', 'session_memory', 'link', 'thread')"

CONDITIONS = {
    "events": f"t.user_id = {THEIRS} OR {WHOLE}",
    "recursions": TASK,
    "tool_results": TASK,
    "tasks": TASK,
    "signals": f"t.user_id = {THEIRS} OR {WHOLE}",
    "sessions": f"t.user_id = {THEIRS} OR {WHOLE} OR t.session_id IN (FROM shared_session)",
    "profiles": f"t.user_id = {THEIRS}",
    "affects": f"t.user_id = {THEIRS} OR {WHOLE} OR {EVENT}",
    "plans": f"t.user_id = {THEIRS} OR {EVENT}",
    "links": f"""{OWNER} OR t.from_event_id IN (SELECT event_id FROM erased_event)
        OR t.to_event_id IN (SELECT event_id FROM erased_event)""",
    "threads": f"{OWNER} OR {EVENT}",
    "revisions": f"""
        (t.owner_id = {THEIRS} AND t.entity_type NOT IN ('session', 'session_memory'))
        OR (t.owner_id IN (FROM whole_session) AND t.entity_type IN {SESSION_TYPES})
        OR (t.owner_id, t.entity_type, t.entity_id)
            IN (SELECT (owner_id, entity_type, entity_id) FROM touched)""",
    # a payload may be no JSON at all: then the id in its text is enough
    "dead_letters": f"""t.key = (SELECT tenant || '/' || user_id FROM person)
    OR t.key IN (SELECT t.tenant || '/' || session_id FROM whole_session)
    OR payload_json ->> '$.user_id' = {THEIRS}
    OR payload_json ->> '$.session_id' IN (FROM whole_session)
    OR payload_json ->> '$.event_id' IN (SELECT event_id FROM erased_event)
    OR (payload_json ->> '$.session_id', payload_json ->> '$.task_id')
        IN (SELECT (session_id, task_id) FROM erased_task)
    OR (payload_json IS NULL AND (
        contains(payload_text, {THEIRS})
        OR t.key IN (SELECT t.tenant || '/' || session_id FROM shared_session)
    ))""",
}


def scope(db: duckdb.DuckDBPyConnection, tenant: str, user_id: str) -> None:
    """Makes the tables the conditions speak of, from a connection limited to the tenant."""
    db.execute(SCOPE.format(user=quoted(user_id), tenant=quoted(tenant)))


def conditions(table: str) -> str:
    """True for the rows `t` of a table that are the person's."""
    text = "coalesce(TRY(decode(t.payload)), CAST(t.payload AS VARCHAR))"
    condition = CONDITIONS[table].replace("payload_json", f"TRY_CAST({text} AS JSON)")
    return condition.replace("payload_text", text)
