"""SQL of the records that a generation retracts, and of the plans that rest on them.

`docs/backfill.md`, "Retract", has the rules. Turns that match, with their tasks, fall; so do tasks
that called the tool; their turns keep the user's words. Plans fall with any event that they rest
on, except that `OWN_WORDS` may rest on those words. `streams.files.retraction_guard` does the same
for single records.
"""

from collections.abc import Callable, Iterable
from typing import NamedTuple

import duckdb
import pyarrow as pa

from sinks.erased_ids import EVENT, TASK, hash_sql
from sinks.erasure import SESSION_OF, source_events, with_payload
from sinks.history import columns, quoted
from streams.extractors.registry import OWN_WORDS
from streams.files.retraction import MESSAGE, OF_USER, WORDS, Retraction

OWN_FIELDS = {
    "source": {"events": "source = {value}"},
    "client": {"events": "client_id = {value}"},
    "extractor": {
        "plans": "{value} IN (extractor_name, extractor_name || '@' || extractor_version)"
    },
    "tool": {
        "recursions": "list_contains(list_concat(output ->> '$.tool_calls[*].name', "
        "output ->> '$.tool_calls[*].function.name'), {value})"
    },
    "session": {
        "plans": "(doc ->> '$.session_id') = {value}",
        "dead_letters": "(payload_json ->> '$.session_id') = {value}",
    } | dict.fromkeys(("events", "recursions", "tool_results", "signals"), "session_id = {value}"),
}  # fmt: skip
"""Filter -> table -> SQL condition of the rows that match by their own fields."""
SCOPE = """
CREATE TEMP TABLE tool_task AS
    SELECT tenant, session_id, task_id FROM every_recursions WHERE {called}
    UNION SELECT tenant, session_id, task_id FROM (
        SELECT tenant, session_id, task_id FROM every_recursions
        UNION SELECT tenant, session_id, task_id FROM every_tool_results
        UNION SELECT tenant, session_id, coalesce(task_id, event_id) FROM every_events
    ) WHERE {noted_tool};
CREATE TEMP TABLE affected AS
    SELECT DISTINCT tenant, session_id, event_id, user_id,
        coalesce(task_id, event_id) AS task_id, false AS words
    FROM every_events WHERE {turns} OR {noted_event};
INSERT INTO affected
    SELECT DISTINCT tenant, session_id, event_id, user_id,
        coalesce(e.task_id, event_id) AS task_id, true
    FROM every_events e ANTI JOIN affected USING (tenant, session_id, event_id)
    WHERE (tenant, session_id, coalesce(e.task_id, event_id)) IN (
        SELECT (tenant, session_id, task_id) FROM tool_task);
CREATE TEMP TABLE fallen_task AS
    FROM tool_task UNION SELECT tenant, session_id, task_id FROM affected WHERE NOT words;
CREATE TEMP TABLE fallen_message AS
    WITH begun AS (
        SELECT tenant, session_id, event_id, min(occurred_at) AS since
        FROM every_events SEMI JOIN affected USING (tenant, session_id) GROUP BY ALL
    ), lasted AS (
        SELECT *, lead(since) OVER (
            PARTITION BY tenant, session_id ORDER BY since, event_id
        ) AS until FROM begun
    )
    SELECT DISTINCT s.tenant, s.session_id, signal_id
    FROM every_signals s JOIN lasted USING (tenant, session_id)
    JOIN affected USING (tenant, session_id, event_id)
    WHERE scope = 'session' AND (s.doc ->> '$.message') IS NOT NULL AND s.occurred_at >= since
        AND (until IS NULL OR s.occurred_at < until) AND NOT (words AND coalesce(
            TRY_CAST((s.doc ->> '$.message') AS JSON) ->> '$.role', '') = 'user');
CREATE TEMP TABLE fallen_plan AS
    WITH resting AS (
        SELECT tenant, user_id, plan_id, extractor_name, {session} AS session_id,
            epoch_us(TRY_CAST((doc ->> '$.extraction.made_at') AS TIMESTAMPTZ)) AS made_at,
            unnest({events}) AS event_id
        FROM every_plans t
    )
    SELECT tenant, user_id, plan_id FROM every_plans WHERE {plans}
    UNION SELECT p.tenant, p.user_id, p.plan_id
    FROM resting p JOIN affected a ON p.tenant = a.tenant AND p.event_id = a.event_id
        AND CASE WHEN p.session_id IS NULL THEN p.user_id = a.user_id
            ELSE p.session_id = a.session_id END
    WHERE NOT words
        OR NOT (extractor_name IN {own_words} OR coalesce(made_at > {rebuilt_at}, false));
"""
MARKED = f"""
WITH fresh AS (SELECT mark, bool_and(words) AS words FROM (
SELECT {hash_sql(f"'{EVENT}'", "tenant", "session_id", "event_id")} AS mark, words FROM affected
UNION SELECT {hash_sql(f"'{OF_USER}'", "tenant", "coalesce(user_id, '')", "event_id")}, words
FROM affected
UNION SELECT {hash_sql(f"'{TASK}'", "tenant", "session_id", "task_id")},
    (tenant, session_id, task_id) IN (SELECT (tenant, session_id, task_id) FROM tool_task)
FROM fallen_task
UNION SELECT {hash_sql(f"'{MESSAGE}'", "tenant", "session_id", "signal_id")}, false
FROM fallen_message
) GROUP BY mark) FROM fresh UNION ALL FROM noted ANTI JOIN fresh USING (mark)
"""
"""Marks of the store (`streams.files.retraction.MARKS`)."""
FIELD = """CASE WHEN json_exists(doc, '$.{0}') THEN '"{0}":' || (doc -> '$.{0}')::VARCHAR END"""
WORDS_DOC = f"'{{' || concat_ws(',', {', '.join(map(FIELD.format, WORDS))}) || '}}'"
KEPT_COLUMNS = {*WORDS, "image_summaries", "recorded_at", "date", "src_topic", "src_partition",
                "src_offset"}  # fmt: skip
FALLEN_LETTER = """
    (t.tenant, payload_json ->> '$.session_id', coalesce(
        payload_json ->> '$.task_id', payload_json ->> '$.event_id'
    )) IN (SELECT (tenant, session_id, task_id) FROM fallen_task)
    OR (t.tenant, payload_json ->> '$.session_id', payload_json ->> '$.event_id') IN (
        SELECT (tenant, session_id, event_id) FROM affected)
"""
COUNTS = {
    "turns": "SELECT count(*) FROM (SELECT DISTINCT tenant, session_id, event_id FROM affected "
    "WHERE NOT words)",
    "turns_cut": "SELECT count(*) FROM (SELECT DISTINCT tenant, session_id, "
    "event_id FROM affected WHERE words)",
    "plans": "SELECT count(*) FROM fallen_plan",
}
"""Name in reports -> SQL of its number."""


class Origin(NamedTuple):
    """A source that retracts some of the same records: its marks, and the time (microseconds) since
    which models read its turns without the agent's part, or None if it retracts fewer."""

    marks: dict[str, bool]
    rebuilt_at: int | None


def matching(retractions: Iterable[Retraction], table: str) -> str:
    """SQL condition of a table's rows that match a filter by their own fields."""
    tests = []
    for retraction in retractions:
        test = OWN_FIELDS[retraction.by].get(table)
        if test is not None:
            tests.append(" AND ".join([
                test.format(value=quoted(retraction.value)),
                *([f"tenant = {quoted(retraction.tenant)}"] if retraction.tenant else []),
                *([f"date >= DATE '{retraction.first}'"] if retraction.first else []),
                *([f"date <= DATE '{retraction.last}'"] if retraction.last else []),
            ]))  # fmt: skip
    return f"coalesce({' OR '.join(f'({test})' for test in tests)}, false)" if tests else "false"


def define(
    db: duckdb.DuckDBPyConnection,
    retractions: tuple[Retraction, ...],
    rows: Callable[[str], str],
    origin: Origin | None = None,
) -> None:
    """Creates the scope's tables. `rows`: SQL of all rows of a table of the source; `origin`: of a
    source that has retracted records itself."""
    noted = origin.marks if origin else {}
    for name in ("events", "recursions", "tool_results", "signals", "plans"):
        db.execute(f"CREATE OR REPLACE TEMP VIEW every_{name} AS {rows(name)}")
    marks = pa.table({"mark": pa.array(list(noted), pa.string()),
                      "words": pa.array(list(noted.values()), pa.bool_())})  # fmt: skip
    db.register("given_marks", marks)
    db.execute("CREATE TEMP TABLE noted AS FROM given_marks")
    db.execute(SCOPE.format(
        called=matching([each for each in retractions if each.by == "tool"], "recursions"),
        turns=matching(retractions, "events"), plans=matching(retractions, "plans"),
        noted_tool=_noted(TASK, "task_id", words=True) if noted else "false",
        noted_event=_noted(EVENT, "event_id", words=False) if noted else "false",
        session=SESSION_OF["plans"], events=source_events("t.doc"), own_words=OWN_WORDS,
        rebuilt_at=origin.rebuilt_at if origin and origin.rebuilt_at else "NULL",
    ))  # fmt: skip


def _noted(kind: str, column: str, *, words: bool) -> str:
    mark = hash_sql(f"'{kind}'", "tenant", "session_id", column)
    return f"{mark} IN (SELECT mark FROM noted WHERE words = {words})"


def remaining(retractions: tuple[Retraction, ...], table: str, rows: str) -> str:
    """SQL of the rows of input records that remain; the column `altered` is whether only the user's
    words of a turn do."""
    matches = matching(retractions, table)
    if table == "events":
        lost = [name for name in columns(table) if name not in KEPT_COLUMNS]
        values = ", ".join(
            f"CASE WHEN words THEN {_lost_value(name)} ELSE {name} END AS {name}" for name in lost
        )
        return f"""SELECT * EXCLUDE (words) REPLACE ({values}),
                CASE WHEN words THEN doc <> {WORDS_DOC} ELSE false END AS altered
            FROM ({rows}) LEFT JOIN (
                SELECT DISTINCT tenant, session_id, event_id, words FROM affected
            ) USING (tenant, session_id, event_id) WHERE words IS DISTINCT FROM false"""
    if table == "signals":
        return f"""SELECT *, false AS altered FROM ({rows}) ANTI JOIN fallen_message
            USING (tenant, session_id, signal_id) WHERE NOT {matches}"""
    return f"""SELECT *, false AS altered FROM ({rows}) ANTI JOIN fallen_task
        USING (tenant, session_id, task_id) WHERE NOT {matches}"""


def _lost_value(column: str) -> str:
    return {"agent_answer": "''", "doc": WORDS_DOC}.get(column, "NULL")


def fallen_letter(retractions: tuple[Retraction, ...]) -> str:
    """SQL condition of dead letters `t` that name a retracted record."""
    matches = matching(retractions, "dead_letters")
    return with_payload(f"coalesce({FALLEN_LETTER} OR {matches}, false)")


def counts(db: duckdb.DuckDBPyConnection, retractions: tuple[Retraction, ...]) -> dict[str, int]:
    """Numbers of retracted records, after `define`."""
    steps = {
        table: f"SELECT count(*) FROM every_{table} WHERE {matching(retractions, table)} OR "
        "(tenant, session_id, task_id) IN (SELECT (tenant, session_id, task_id) FROM fallen_task)"
        for table in ("recursions", "tool_results")
    } | {
        "signals": f"SELECT count(*) FROM every_signals WHERE {matching(retractions, 'signals')} "
        "OR (tenant, session_id, signal_id) IN ("
        "SELECT (tenant, session_id, signal_id) FROM fallen_message)"
    }  # fmt: skip
    return {name: db.execute(sql).fetchall()[0][0] for name, sql in (COUNTS | steps).items()}
