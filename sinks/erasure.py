"""SQL conditions that select the rows of one person or one session, for erasure
(docs/guarantees.md). They use the tables of `sinks.erasure_scope`."""

from schemas.record_kinds import RECORD_TABLES, owned_by
from sinks.history import columns

ERASED_LAST = {"plans": 1, "sessions": 2, "signals": 3, "events": 4}
"""Table -> order: the scope is read from these tables, and must be found again after a kill."""

USER = "(SELECT user_id FROM person)"
WHOLE = "t.session_id IN (FROM whole_session)"
TASK = "(t.session_id, t.task_id) IN (SELECT (session_id, task_id) FROM erased_task)"
OF_SESSION = """(t.entity_type IN ('session', 'session_memory')
    OR (t.entity_type = 'link' AND t.plan_id IS NULL))"""
"""Revisions that belong to a session; links without plan are among them."""
DERIVED_FROM_USERS = {
    "revisions": f"t.owner_id IN (FROM heard) AND NOT {OF_SESSION}",
    "affects": "t.user_id IN (FROM heard)",
    "links": "t.owner_id IN (FROM heard) AND NOT coalesce(t.provisional, false)",
    "threads": "t.owner_id IN (FROM heard)",
    "profiles": "t.user_id IN (FROM heard)",
}
"""Table -> SQL of the rows derived from a user's records (`streams.files.rebuild_user`)."""

SESSION_OF = {
    "plans": "t.doc ->> '$.session_id'",
    "links": "CASE WHEN t.provisional THEN t.owner_id ELSE t.session_id END",
    "dead_letters": "payload_json ->> '$.session_id'",
}
"""Table -> SQL of the session of a row's event ids, where it is not the column `session_id`; NULL
if the row names no session."""


LETTER = "md5(concat_ws('|', hex(t.payload), t.key, CAST(t.headers AS VARCHAR), t.detail))"
"""SQL of the identity of a dead letter `t`: lines of stdin share their positions."""


def source_events(plan: str) -> str:
    """SQL of the list of events that a plan is derived from. Its links and threads do not count:
    they relate events, and contain none of their text."""
    return f"""flatten([
        {plan} ->> ['$.event_id', '$.event_affect.event_id'],
        {plan} ->> '$.extraction.event_ids[*]',
        {plan} ->> '$.*[*].evidence_event_ids[*]'])"""


def _erased(table: str, event: str) -> str:
    """SQL condition: the row's event is erased. Event ids are unique only within a session; in a
    row without session, an id that another user also uses does not match."""
    session = SESSION_OF.get(table, "t.session_id" if "session_id" in columns(table) else "NULL")
    return f"""CASE WHEN ({session}) IS NULL THEN {event} IN (FROM clear_event)
        ELSE ({session}, {event}) IN (SELECT (session_id, event_id) FROM erased_event) END"""


OWN_CONDITIONS = {
    "events": f"t.user_id = {USER} OR {WHOLE}",
    "sessions": f"t.user_id = {USER} OR {WHOLE} OR t.session_id IN (FROM shared_session)",
    "plans": f"t.user_id = {USER} OR (t.user_id, t.plan_id) IN (FROM erased_plan)",
    # a provisional link belongs to its session, even if the session's id equals the user's
    "links": f"""(t.owner_id = {USER} AND NOT coalesce(t.provisional, false))
        OR (coalesce(t.provisional, false) AND t.owner_id IN (FROM whole_session))
        OR {_erased("links", "t.from_event_id")}
        OR {_erased("links", "t.to_event_id")}""",
    "threads": f"t.owner_id = {USER} OR {_erased('threads', 't.event_id')}",
    "revisions": f"""
        (t.owner_id = {USER} AND NOT {OF_SESSION})
        OR (t.owner_id, t.plan_id) IN (FROM erased_plan)
        OR (t.owner_id IN (FROM whole_session) AND {OF_SESSION})
        OR (t.owner_id, t.entity_type, t.entity_id)
            IN (SELECT (owner_id, entity_type, entity_id) FROM touched)""",
    # `sinks.dead_letter_owners` finds letters that name the person
    "dead_letters": f"""{LETTER} IN (SELECT id FROM letter WHERE tenant = t.tenant AND goes)
    OR (t.src_topic, t.src_partition, t.src_offset) IN (FROM erased_letter)
    OR (payload_json IS NULL AND t.key IN (
        SELECT t.tenant || '/' || session_id FROM shared_session))""",
}
"""Conditions of the tables for which `_by_columns` is not enough."""


def _by_columns(table: str) -> str:
    """Condition by columns: a row is erased with its user or event, and with the session or task
    only if a session owns it. Raises ValueError for a table without such columns."""
    names = columns(table)
    tests = [f"t.user_id = {USER}"] if "user_id" in names else []
    if "session_id" in names and (of_session := _owned_by_sessions(table)) != "false":
        in_task = f" OR {TASK}" if "task_id" in names else ""
        tests.append(f"(({of_session}) AND ({WHOLE}{in_task}))")
    tests += [_erased(table, "t.event_id")] if "event_id" in names else []
    if not tests:
        raise ValueError(f"{table}: no column says whose its rows are (sinks/erasure.py)")
    return " OR ".join(tests)


def _owned_by_sessions(table: str) -> str:
    """SQL condition: the row `t` belongs to a session, as the kinds of records and of memory
    declare. A user's row may mention a session, but belongs to the user."""
    if table in RECORD_TABLES.values():
        return owned_by("session_id", table)
    return "false" if table in DERIVED_FROM_USERS else "true"


def session_conditions(table: str) -> str:
    """Condition for the rows `t` of a session, and for rows derived from its users' records: the
    caller rebuilds these from the remaining records."""
    return _with_derived(table, OF_SESSIONS.get(table) or conditions(table))


def person_conditions(table: str) -> str:
    """`session_conditions` for a person: the caller rebuilds the memory of users that is derived
    from the person's turns."""
    return _with_derived(table, OF_PERSONS.get(table) or conditions(table))


def turn_conditions(table: str) -> str:
    """`session_conditions` for a turn: the caller also rebuilds its session's memory."""
    return _with_derived(table, OF_TURNS.get(table) or conditions(table))


def _with_derived(table: str, condition: str) -> str:
    derived = DERIVED_FROM_USERS.get(table)
    return f"({condition}) OR ({derived})" if derived else condition


def session_plans() -> str:
    """Condition for the plans `t` of an erased session."""
    return f"({conditions('plans')}) OR {SESSION_OF['plans']} IN (FROM whole_session)"


def conditions(table: str) -> str:
    """Condition for the rows `t` of a person."""
    return with_payload(OWN_CONDITIONS.get(table) or _by_columns(table))


def with_payload(sql: str) -> str:
    """Replaces `payload_json` and `payload_text` in SQL over dead letters `t`."""
    text = "coalesce(TRY(decode(t.payload)), CAST(t.payload AS VARCHAR))"
    return sql.replace("payload_json", f"TRY_CAST({text} AS JSON)").replace("payload_text", text)


OF_SESSIONS = {
    "plans": session_plans(),
    "signals": WHOLE,
    "links": f"({SESSION_OF['links']}) IN (FROM whole_session)",
    "threads": "t.session_id IN (FROM whole_session)",
}
"""Conditions of a session that differ from a person's. A user's signal that mentions the session is
erased. Rows that a plan of another session has about its events stay, as in a history that
never had the session."""
OF_PERSONS = {
    "links": f"""CASE WHEN t.provisional THEN {OWN_CONDITIONS["links"]}
        ELSE t.owner_id = {USER} END""",
    "threads": f"t.owner_id = {USER}",
}
"""Conditions of a person with rebuilt memory: rows of remaining plans stay."""
OF_TURNS = {
    "events": "(t.session_id, t.event_id) IN (SELECT (session_id, event_id) FROM erased_event)",
    "signals": "t.session_id IN (FROM shared_session) AND t.signal_id IN (FROM erased_message) "
    "AND t.doc ->> '$.message' IS NOT NULL",
    "plans": "(t.user_id, t.plan_id) IN (FROM erased_plan)",
    "sessions": "t.session_id IN (FROM shared_session)",
    "tasks": "t.session_id IN (FROM shared_session)",
    "links": "t.provisional AND t.owner_id IN (FROM shared_session)",
    "threads": "false",
    "revisions": f"t.owner_id IN (FROM shared_session) AND {OF_SESSION}",
}
"""Conditions of a turn that differ from a person's: all memory derived from its session is
rebuilt."""
