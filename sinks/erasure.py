"""Which rows of a history are one person's, or one session's: the SQL behind erasing them
(docs/guarantees.md). It speaks of the tables that `sinks.scope` makes."""

from schemas.record_kinds import RECORD_TABLES, owned_by
from sinks.history import columns

ERASED_LAST = {"plans": 1, "sessions": 2, "signals": 3, "events": 4}
"""The scope is read from these: a second call after a kill must still find it."""

THEIRS = "(SELECT user_id FROM person)"
WHOLE = "t.session_id IN (FROM whole_session)"
TASK = "(t.session_id, t.task_id) IN (SELECT (session_id, task_id) FROM erased_task)"
OF_SESSION = """(t.entity_type IN ('session', 'session_memory')
    OR (t.entity_type = 'link' AND t.plan_id IS NULL))"""
"""A session's own revisions: a link that no plan made is its, too."""
MADE_OF_USERS = {
    "revisions": f"t.owner_id IN (FROM heard) AND NOT {OF_SESSION}",
    "affects": "t.user_id IN (FROM heard)",
    "links": "t.owner_id IN (FROM heard) AND NOT coalesce(t.provisional, false)",
    "threads": "t.owner_id IN (FROM heard)",
    "profiles": "t.user_id IN (FROM heard)",
}
"""Table -> which rows folding a user's records makes (`streams.files.remaking`)."""

SESSION_OF = {
    "plans": "t.doc ->> '$.session_id'",
    "links": "CASE WHEN t.provisional THEN t.owner_id ELSE t.session_id END",
    "dead_letters": "payload_json ->> '$.session_id'",
}
"""Table -> SQL of the session that a row's event ids belong to, where it is not the column of that
name; NULL where the row does not say."""


LETTER = "md5(concat_ws('|', hex(t.payload), t.key, CAST(t.headers AS VARCHAR), t.detail))"
"""SQL of what tells a dead letter `t` from others: lines of stdin share their places."""


def made_of(plan: str) -> str:
    """SQL of the events that a plan is made of, a list. What its links and threads name is no part
    of it: they say where an event belongs, and not what it says."""
    return f"""flatten([
        {plan} ->> ['$.event_id', '$.event_affect.event_id'],
        {plan} ->> '$.extraction.event_ids[*]',
        {plan} ->> '$.*[*].evidence_event_ids[*]'])"""


def _erased(table: str, event: str) -> str:
    """SQL that is true where a row's event is one of those that go. Event ids are unique within a
    session only; where a row names none, an id that somebody else uses, too, does not count."""
    session = SESSION_OF.get(table, "t.session_id" if "session_id" in columns(table) else "NULL")
    return f"""CASE WHEN ({session}) IS NULL THEN {event} IN (FROM clear_event)
        ELSE ({session}, {event}) IN (SELECT (session_id, event_id) FROM erased_event) END"""


OWN_CONDITIONS = {
    "events": f"t.user_id = {THEIRS} OR {WHOLE}",
    "sessions": f"t.user_id = {THEIRS} OR {WHOLE} OR t.session_id IN (FROM shared_session)",
    "plans": f"t.user_id = {THEIRS} OR (t.user_id, t.plan_id) IN (FROM erased_plan)",
    # a provisional link is its session's, even where that is called as a user is
    "links": f"""(t.owner_id = {THEIRS} AND NOT coalesce(t.provisional, false))
        OR (coalesce(t.provisional, false) AND t.owner_id IN (FROM whole_session))
        OR {_erased("links", "t.from_event_id")}
        OR {_erased("links", "t.to_event_id")}""",
    "threads": f"t.owner_id = {THEIRS} OR {_erased('threads', 't.event_id')}",
    "revisions": f"""
        (t.owner_id = {THEIRS} AND NOT {OF_SESSION})
        OR (t.owner_id, t.plan_id) IN (FROM erased_plan)
        OR (t.owner_id IN (FROM whole_session) AND {OF_SESSION})
        OR (t.owner_id, t.entity_type, t.entity_id)
            IN (SELECT (owner_id, entity_type, entity_id) FROM touched)""",
    # what names the person is found by `sinks.letters`
    "dead_letters": f"""{LETTER} IN (SELECT id FROM letter WHERE tenant = t.tenant AND goes)
    OR (t.src_topic, t.src_partition, t.src_offset) IN (FROM erased_letter)
    OR (payload_json IS NULL AND t.key IN (
        SELECT t.tenant || '/' || session_id FROM shared_session))""",
}
"""Of the tables whose rows need more than `_by_columns`."""


def _by_columns(table: str) -> str:
    """A row goes with its user or the event; with the session or task only if a session owns it.
    Raises ValueError for a table without columns that name any of them."""
    names = columns(table)
    tests = [f"t.user_id = {THEIRS}"] if "user_id" in names else []
    if "session_id" in names and (of_session := _owned_by_sessions(table)) != "false":
        in_task = f" OR {TASK}" if "task_id" in names else ""
        tests.append(f"(({of_session}) AND ({WHOLE}{in_task}))")
    tests += [_erased(table, "t.event_id")] if "event_id" in names else []
    if not tests:
        raise ValueError(f"{table}: no column says whose its rows are (sinks/erasure.py)")
    return " OR ".join(tests)


def _owned_by_sessions(table: str) -> str:
    """SQL that is true for the rows `t` that belong to a session, as the kinds of records and of
    memory declare it. A user's row may mention a session; it belongs to the user."""
    if table in RECORD_TABLES.values():
        return owned_by("session_id", table)
    return "false" if table in MADE_OF_USERS else "true"


def session_conditions(table: str) -> str:
    """True for the rows `t` of a table that are the session's, and for those that memory made of
    the users whom it heard: these are to be made again from what is left."""
    return _with_what_was_made(table, OF_SESSIONS.get(table) or conditions(table))


def person_conditions(table: str) -> str:
    """The same for a person, where the memory of the others whom their turns told something of is
    made again."""
    return _with_what_was_made(table, OF_PERSONS.get(table) or conditions(table))


def turn_conditions(table: str) -> str:
    """The same for a turn. All that memory made of its session goes, too, and is made again."""
    return _with_what_was_made(table, OF_TURNS.get(table) or conditions(table))


def _with_what_was_made(table: str, theirs: str) -> str:
    made = MADE_OF_USERS.get(table)
    return f"({theirs}) OR ({made})" if made else theirs


def of_plans() -> str:
    """True for the plans `t` of a session that is erased."""
    return f"({conditions('plans')}) OR {SESSION_OF['plans']} IN (FROM whole_session)"


def conditions(table: str) -> str:
    """True for the rows `t` of a table that are the person's."""
    return with_payload(OWN_CONDITIONS.get(table) or _by_columns(table))


def with_payload(sql: str) -> str:
    """SQL of dead letters `t` with what `payload_json` and `payload_text` stand for."""
    text = "coalesce(TRY(decode(t.payload)), CAST(t.payload AS VARCHAR))"
    return sql.replace("payload_json", f"TRY_CAST({text} AS JSON)").replace("payload_text", text)


OF_SESSIONS = {
    "plans": of_plans(),
    "signals": WHOLE,
    "links": f"({SESSION_OF['links']}) IN (FROM whole_session)",
    "threads": "t.session_id IN (FROM whole_session)",
}
"""Of the tables in which a session has other rows than its people: a user's signal that mentions it
goes, and what a plan of another session said of this one's events stays, as in a history that never
had it."""
OF_PERSONS = {
    "links": f"""CASE WHEN t.provisional THEN {OWN_CONDITIONS["links"]}
        ELSE t.owner_id = {THEIRS} END""",
    "threads": f"t.owner_id = {THEIRS}",
}
"""The same of a person: what stays is of a plan that stays."""
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
"""Of the tables in which a turn has other rows than a person: what was made of its session is all
made again."""
