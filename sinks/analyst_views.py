"""The SQL of the views that questions of docs/analytics.md share (docs/tables.md).

As in `sinks.views`, filters on tenant and user reach the files; in `user_day` also those on `date`.
"""

USER_DAY = """
-- a turn counts once, when it has ended; a running one makes its user active all the same
SELECT tenant, user_id, date, count(*) FILTER (status <> 'running') AS turns,
    count(*) FILTER (status = 'error') AS failed_turns
FROM events WHERE user_id IS NOT NULL GROUP BY ALL
"""

USER_WEEKS = """
SELECT tenant, user_id, list_sort(list(DISTINCT date_trunc('week', date)::DATE)) AS weeks
FROM events WHERE user_id IS NOT NULL GROUP BY ALL
"""

TOOL_CALLS = """(since := NULL) AS TABLE
-- The calls of each recursion's current version, as in recursion_current. Results are assigned as
-- docs/rules.md, Tasks, defines: to the first call with the id, otherwise to the call at the index;
-- the latest result counts. Between versions of the same time the greater output wins, as reading
-- whole documents costs too much.
WITH standing AS (
    SELECT tenant, session_id, task_id, trace_id, date, occurred_at,
        output -> '$.tool_calls' AS calls
    FROM recursions WHERE date >= coalesce(CAST(since AS DATE), DATE '-infinity')
    QUALIFY row_number() OVER (
        PARTITION BY tenant, session_id, task_id, trace_id
        ORDER BY status = 'running', occurred_at DESC, output DESC
    ) = 1
), listed AS (
    SELECT * EXCLUDE (calls), unnest(calls::JSON[]) AS call,
        generate_subscripts(calls::JSON[], 1) - 1 AS call_index
    FROM standing WHERE json_type(calls) = 'ARRAY'
), named AS (
    SELECT * EXCLUDE (call), call ->> '$.id' AS tool_call_id,
        coalesce(call ->> '$.function.name', call ->> '$.name') AS name,
        TRY_CAST(call ->> '$.success' AS BOOLEAN) AS sent
    FROM listed
), result AS (
    SELECT tenant, session_id, task_id, trace_id, tool_call_id, call_index, success, occurred_at
    FROM tool_results WHERE date >= coalesce(CAST(since AS DATE), DATE '-infinity')
), given AS (
    SELECT n.tenant, n.session_id, n.task_id, n.trace_id, min(n.call_index) AS call_index,
        r.success, r.occurred_at
    FROM named n JOIN result r USING (tenant, session_id, task_id, trace_id, tool_call_id)
    GROUP BY ALL
    UNION ALL
    SELECT tenant, session_id, task_id, trace_id, call_index, success, occurred_at
    FROM result ANTI JOIN named USING (tenant, session_id, task_id, trace_id, tool_call_id)
    WHERE call_index IS NOT NULL
), answer AS (
    SELECT tenant, session_id, task_id, trace_id, call_index, max(occurred_at) AS answered_at,
        arg_max(success, occurred_at) AS success
    FROM given GROUP BY ALL
)
SELECT named.* EXCLUDE (sent), coalesce(answer.success, sent) AS success, answered_at
FROM named LEFT JOIN answer USING (tenant, session_id, task_id, trace_id, call_index)
"""

VIEWS: dict[str, str] = {"user_day": USER_DAY, "user_weeks": USER_WEEKS}
MACROS: dict[str, str] = {"tool_calls": TOOL_CALLS}
ABOUT: dict[str, str] = {
    "user_day": "Each day on which a user sent a turn. Turns without a user are left out.",
    "user_weeks": "The weeks in which a user sent a turn.",
    "tool_calls": "Tool calls of recursions, with whether they succeeded; with `since` those of "
    "that day (UTC) and later.",
}
