"""SQL of the views and macros over the history tables (docs/tables.md).

Filters on tenant and owner, session or entity must reach the files, so every window is partitioned
by those columns. A macro's parameter replaces every unqualified column of its name, even in the
views that it reads: so `event_id`, `entity_id` and `thread_key` are qualified.
"""

import re
from collections.abc import Collection, Iterable

from schemas.memory_kinds import MEMORY_KINDS, REVISED
from sinks import analyst_views

SNAPSHOT_KEYS = {
    kind.view: (kind.table, ", ".join(kind.key)) for kind in MEMORY_KINDS if kind.table
}

STANDING_EVENT = """QUALIFY row_number() OVER (
    PARTITION BY e.tenant, e.session_id, e.event_id
    ORDER BY e.status = 'running', e.recorded_at, e.src_topic, e.src_partition, e.src_offset
) = 1"""

EVENT_CURRENT = f"""
-- one row an event: an ended turn beats a running one, then the first applied stands
SELECT * FROM events e {STANDING_EVENT}
"""

RECURSION_CURRENT = f"""
-- One row a recursion: ended beats running, then the latest, then the greater document.
-- `after_finish` follows streams.folds.task_machine: the task ends at the first of an ANSWER done,
-- an error said to be final, and the recursion at the limit. A CLARIFY at the limit is held: the
-- stop stands at it once a turn of the session is later, else at the next that ends.
WITH standing AS (
    SELECT *, TRY_CAST(doc ->> '$.max_iteration' AS BIGINT) AS own_limit
    FROM recursions
    QUALIFY row_number() OVER (
        PARTITION BY tenant, session_id, task_id, trace_id
        ORDER BY status = 'running', occurred_at DESC, doc DESC
    ) = 1
), counted AS (
    SELECT *,
        status <> 'running'
            AND count(*) FILTER (status <> 'running') OVER so_far
                >= coalesce(last_value(own_limit IGNORE NULLS) OVER so_far, $max_iteration)
            AS at_limit,
        status = 'done' AND action_type = 'CLARIFY' AS asks
    FROM standing
    WINDOW so_far AS (
        PARTITION BY tenant, session_id, task_id ORDER BY iteration_index, trace_id
        ROWS UNBOUNDED PRECEDING
    )
), held AS (
    SELECT *, at_limit AND asks AND count(*) FILTER (at_limit AND asks) OVER (
        PARTITION BY tenant, session_id, task_id ORDER BY iteration_index, trace_id
        ROWS UNBOUNDED PRECEDING
    ) = 1 AS is_held
    FROM counted
), turned AS (
    -- less the running turns that have ended: nothing of them counts
    SELECT tenant, session_id, max(occurred_at) AS latest
    FROM (SELECT e.* FROM events e {STANDING_EVENT}) GROUP BY ALL
), ended AS (
    SELECT held.*,
        (held.status = 'done' AND action_type = 'ANSWER')
            OR (held.status = 'error' AND coalesce(doc ->> '$.final', '') = 'true')
            OR (at_limit AND NOT is_held)
            OR (is_held AND coalesce(latest > occurred_at, false)) AS ends
    FROM held LEFT JOIN turned
        ON turned.tenant = held.tenant AND turned.session_id = held.session_id
)
SELECT * EXCLUDE (own_limit, at_limit, asks, is_held, ends),
    count(*) FILTER (ends) OVER (
        PARTITION BY tenant, session_id, task_id ORDER BY iteration_index, trace_id
        ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
    ) > 0 AS after_finish
FROM ended
"""

STATE_REVISION = """
-- every revision of a state, decoded; learnt_at: the running maximum of recorded_at
SELECT tenant, owner_id, entity_id AS state_id, seq, "after" IS NULL AS gone,
    max(recorded_at) OVER (
        PARTITION BY tenant, owner_id, entity_id ORDER BY seq ROWS UNBOUNDED PRECEDING
    ) AS learnt_at,
    from_json(coalesce("after", "before"), '{"kind": "VARCHAR", "body_text": "VARCHAR",
        "payload": "JSON", "confidence": "DOUBLE", "valid_from": "VARCHAR",
        "valid_to": "VARCHAR", "last_confirmed_at": "VARCHAR", "status": "VARCHAR",
        "evidence_event_ids": ["VARCHAR"], "updated_at": "VARCHAR"}') AS state
FROM revisions WHERE entity_type = 'state'
"""

STATE_COLUMNS = """tenant, owner_id, state_id, state.kind AS kind, state.body_text AS body_text,
    CAST(state.payload AS VARCHAR) AS payload, state.confidence AS confidence, valid_from,
    CAST(state.valid_to AS TIMESTAMPTZ) AS valid_to,
    CAST(state.last_confirmed_at AS TIMESTAMPTZ) AS last_confirmed_at, state.status AS status,
    state.evidence_event_ids AS evidence_event_ids,
    CAST(state.updated_at AS TIMESTAMPTZ) AS updated_at"""

VERSIONS = """
    -- a version is (state_id, valid_from); the last revision of it stands
    SELECT tenant, owner_id, state_id, seq, gone, learnt_at, state,
        CAST(state.valid_from AS TIMESTAMPTZ) AS valid_from
    FROM state_revision {known}
    QUALIFY row_number() OVER (
        PARTITION BY tenant, owner_id, state_id, valid_from ORDER BY seq DESC
    ) = 1
"""

STATE_CURRENT = f"""
-- the version with the greatest valid_from of each state, closed ones included
WITH version AS ({VERSIONS.format(known="")})
SELECT {STATE_COLUMNS} FROM version WHERE NOT gone
QUALIFY row_number() OVER (
    PARTITION BY tenant, owner_id, state_id ORDER BY version.valid_from DESC
) = 1
"""

STATE_AS_OF = f"""(valid_at := NULL, known_at := NULL) AS TABLE
-- what was true at valid_at as far as was known at known_at; NULL: now, and all that is known
WITH version AS ({
    VERSIONS.format(
        known="WHERE learnt_at <= coalesce(CAST(known_at AS TIMESTAMPTZ), 'infinity'::TIMESTAMPTZ)"
    )
}), bounded AS (
    SELECT *, lead(valid_from) OVER (
        PARTITION BY tenant, owner_id, state_id ORDER BY valid_from
    ) AS next_from
    FROM version WHERE NOT gone
)
SELECT {STATE_COLUMNS} FROM bounded
WHERE bounded.valid_from <= coalesce(CAST(valid_at AS TIMESTAMPTZ), now())
    AND coalesce(CAST(valid_at AS TIMESTAMPTZ), now()) < coalesce(
        least(CAST(state.valid_to AS TIMESTAMPTZ), next_from), 'infinity'::TIMESTAMPTZ)
"""

MOOD_CURRENT = """
-- the one long_mood_state of each user; its numbers decay when read (docs/rules.md, Affect)
SELECT * FROM state_current WHERE kind = 'long_mood_state'
"""

NEWEST_REVISION = """
WITH latest AS (
    SELECT tenant, owner_id, entity_id, "after" FROM revisions WHERE entity_type = '{kind}'
    QUALIFY row_number() OVER (PARTITION BY tenant, owner_id, entity_id ORDER BY seq DESC) = 1
), decoded AS (
    SELECT tenant, owner_id, entity_id, from_json("after", '$type({kind})') AS document
    FROM latest WHERE "after" IS NOT NULL
)
SELECT tenant, owner_id, entity_id AS {id}, $columns({kind}) FROM decoded
"""
"""View of a kind with its newest revision as its newest document; `sinks.history` expands
fields."""

AFFECT_CURRENT = """
-- Of several moments of one event a plan's stands, then the latest, then the greater. An event is
-- an id in a session; a plan without a session speaks of that id in all of its user's.
WITH said AS (
    SELECT *, bool_or(from_plan AND session_id IS NULL) OVER (
        PARTITION BY tenant, user_id, event_id
    ) AS everywhere FROM affects
)
SELECT * EXCLUDE (everywhere) FROM said
QUALIFY row_number() OVER (
    PARTITION BY tenant, user_id, event_id, CASE WHEN NOT everywhere THEN session_id END
    ORDER BY from_plan DESC, occurred_at DESC, v DESC, a DESC, d DESC, confidence DESC,
        text DESC, labels DESC, recorded_at DESC, src_topic DESC, src_partition DESC,
        src_offset DESC
) = 1
"""

FAR = "CASE WHEN e.session_id = m.session_id THEN 0 WHEN e.user_id = m.owner_id THEN 1 ELSE 2 END"
"""Distance of the event `e` from the mention `m` of its id: ids are unique only in a session."""


def nearest(mention: str) -> str:
    """QUALIFY condition that resolves a mention, by `far`: to the event in the session it names,
    otherwise of its owner, otherwise the only event with that id."""
    return f"""far = min(far) OVER (PARTITION BY {mention})
        AND (far < 2 OR count(*) OVER (PARTITION BY {mention}) = 1)"""


MEANT = f"""(
    SELECT m.tenant, m.owner_id, m.session_id AS named, m.event_id, e.session_id, {FAR} AS far
    FROM mention m JOIN (
        SELECT e.tenant, e.session_id, e.event_id, e.user_id FROM events e
        WHERE e.event_id IN (SELECT x.event_id FROM mention x) {STANDING_EVENT}
    ) e ON e.tenant = m.tenant AND e.event_id = m.event_id
    QUALIFY {nearest("m.tenant, m.owner_id, m.session_id, m.event_id")}
)"""
"""Sessions of the events that the rows of a CTE `mention` (tenant, owner_id, session_id, event_id)
refer to; `named` is the mention's session."""

NET_LINKS = """SELECT * REPLACE (
        CASE WHEN provisional THEN owner_id ELSE session_id END AS session_id
    ) FROM {links}
    QUALIFY row_number() OVER (
        PARTITION BY tenant, owner_id, session_id, from_event_id, to_event_id, label, provisional
        ORDER BY seq DESC, recorded_at DESC, src_offset DESC
    ) = 1"""
"""Links after puts and removes. `seq` counts per owner and fold; provisional links come from the
session's fold."""

NEWEST_GUESS = """
    SELECT * FROM (
        SELECT * REPLACE (owner_id AS session_id), max(seq) FILTER (op = 'remove') OVER (
            PARTITION BY tenant, owner_id, from_event_id, to_event_id, label
        ) AS removed FROM {links} WHERE provisional
    ) WHERE op = 'put' QUALIFY row_number() OVER (
        PARTITION BY tenant, owner_id, from_event_id, label
        ORDER BY seq DESC, recorded_at DESC, src_offset DESC
    ) = 1
"""
"""Last provisional link of each event; `STANDS` if it was not removed."""
STANDS = "(removed IS NULL OR removed < seq)"

LINK_CURRENT = f"""
-- a plan's reply_to stands over the provisional one of its event
WITH net AS ({NET_LINKS.format(links="links")}), planned AS (
    SELECT * FROM net WHERE op = 'put' AND NOT provisional
), last_put AS ({NEWEST_GUESS.format(links="links")}), newest AS (
    SELECT * EXCLUDE (removed) FROM last_put WHERE {STANDS}
), mention AS (
    SELECT DISTINCT tenant, owner_id, session_id, from_event_id AS event_id
    FROM planned WHERE label = 'reply_to'
), replied AS (
    SELECT tenant, session_id, event_id FROM {MEANT}
    UNION SELECT m.tenant, m.session_id, m.event_id FROM mention m
    WHERE m.session_id IS NOT NULL OR NOT EXISTS (
        FROM events e WHERE e.tenant = m.tenant AND e.event_id = m.event_id
    )
)
SELECT * EXCLUDE (op) FROM planned
UNION ALL
SELECT newest.* EXCLUDE (op) FROM newest ANTI JOIN replied
    ON newest.label = 'reply_to' AND replied.tenant = newest.tenant
    AND replied.event_id = newest.from_event_id
    AND (replied.session_id = newest.session_id OR replied.session_id IS NULL)
"""

THREAD_CURRENT = """
WITH net AS (
    SELECT * FROM threads t
    QUALIFY row_number() OVER (
        PARTITION BY t.tenant, t.owner_id, t.session_id, t.thread_key, t.event_id
        ORDER BY t.seq DESC, t.recorded_at DESC, t.src_offset DESC
    ) = 1
)
SELECT * EXCLUDE (op) FROM net WHERE op = 'put'
"""

WHY = f"""(entity_id) AS TABLE
-- an entity's revisions in order, one row for each event they rest on (one without, if none)
WITH revised AS (
    SELECT * FROM revisions r WHERE r.entity_id = entity_id
), planned AS (
    SELECT p.tenant, p.user_id, p.plan_id, any_value(p.doc ->> '$.session_id') AS session_id,
        any_value(p.extractor_name) AS extractor_name,
        any_value(p.extractor_version) AS extractor_version
    FROM plans p WHERE p.plan_id IN (SELECT r.plan_id FROM revised r)
    GROUP BY ALL
), revision AS (
    -- what a session's revisions rest on is in it; else a plan may say in which session
    SELECT r.*, CASE
        WHEN r.entity_type IN ('session', 'session_memory') THEN r.owner_id
        WHEN r.entity_type = 'link' AND r.plan_id IS NULL THEN r.owner_id
        WHEN r.entity_type = 'affect' THEN coalesce(r.kind, p.session_id)
        ELSE p.session_id END AS session_id, p.extractor_name, p.extractor_version
    FROM revised r LEFT JOIN planned p
        ON p.tenant = r.tenant AND p.user_id = r.owner_id AND p.plan_id = r.plan_id
), cited AS (
    SELECT tenant, revision_id, owner_id, session_id, unnest(evidence_event_ids) AS event_id,
        generate_subscripts(evidence_event_ids, 1) AS place
    FROM revision
), evidence AS (
    SELECT tenant, event_id, session_id, user_id, occurred_at, user_input, agent_answer
    FROM events e WHERE e.event_id IN (SELECT c.event_id FROM cited c) {STANDING_EVENT}
), found AS (
    SELECT m.tenant, m.revision_id, m.place, m.event_id AS evidence_event_id,
        e.session_id AS evidence_session_id, e.occurred_at AS evidence_occurred_at,
        e.user_input, e.agent_answer, {FAR} AS far
    FROM cited m JOIN evidence e ON e.tenant = m.tenant AND e.event_id = m.event_id
    QUALIFY {nearest("m.tenant, m.revision_id, m.place")}
)
SELECT r.tenant, r.owner_id, r.entity_type, r.entity_id, r.kind, r.op, r."before", r."after",
    r.reason, r.occurred_at, r.recorded_at, r.seq, r.revision_id, r.plan_id, r.extractor_name,
    r.extractor_version, c.event_id AS evidence_event_id, f.evidence_session_id,
    f.evidence_occurred_at, f.user_input, f.agent_answer
FROM revision r
LEFT JOIN cited c ON c.tenant = r.tenant AND c.revision_id = r.revision_id
LEFT JOIN found f ON f.tenant = c.tenant AND f.revision_id = c.revision_id AND f.place = c.place
ORDER BY r.tenant, r.entity_type, r.owner_id, r.seq, r.revision_id, c.place, f.evidence_session_id
"""

THREAD = f"""(thread_key) AS TABLE
-- the events of a thread, oldest first; threads of two users that have one key one after the other
WITH member AS (
    SELECT * FROM thread_current m WHERE m.thread_key = thread_key
), told AS (
    SELECT * FROM events e WHERE e.event_id IN (SELECT m.event_id FROM member m) {STANDING_EVENT}
), found AS (
    SELECT m.thread_key AS thread_key, m.confidence, e.*, m.owner_id, {FAR} AS far
    FROM member m JOIN told e ON e.tenant = m.tenant AND e.event_id = m.event_id
    QUALIFY {nearest("m.tenant, m.owner_id, m.session_id, m.event_id")}
)
SELECT * EXCLUDE (far) FROM found ORDER BY tenant, owner_id, occurred_at, event_id
"""

REPLY_CHAIN = f"""(event_id) AS TABLE
-- The event, what it replies to, and so on to the start, for each session that has such an event;
-- an event met again ends the chain. A chain leaves its session only by a plan's link, so few
-- links need be read.
WITH RECURSIVE said AS (
    SELECT * FROM links l WHERE l.label = 'reply_to' AND NOT l.provisional
), planned AS (
    SELECT * FROM ({NET_LINKS.format(links="said")}) WHERE op = 'put'
), mention AS (
    SELECT tenant, owner_id, session_id, l.from_event_id AS event_id FROM planned l
    UNION SELECT tenant, owner_id, session_id, l.to_event_id FROM planned l
), meant AS MATERIALIZED (FROM {MEANT}), planned_reply AS (
    SELECT DISTINCT l.tenant, f.session_id, l.from_event_id, t.session_id AS to_session,
        l.to_event_id
    FROM planned l
    JOIN meant f ON f.tenant = l.tenant AND f.owner_id = l.owner_id
        AND f.named IS NOT DISTINCT FROM l.session_id AND f.event_id = l.from_event_id
    JOIN meant t ON t.tenant = l.tenant AND t.owner_id = l.owner_id
        AND t.named IS NOT DISTINCT FROM l.session_id AND t.event_id = l.to_event_id
), near AS (
    SELECT DISTINCT e.tenant, e.session_id FROM events e WHERE e.event_id = event_id
    UNION SELECT p.tenant, p.to_session FROM planned_reply p
), guess AS (
    SELECT l.* FROM links l SEMI JOIN near
        ON near.tenant = l.tenant AND near.session_id = l.owner_id
    WHERE l.label = 'reply_to' AND l.provisional
), last_put AS ({NEWEST_GUESS.format(links="guess")}), newest AS (
    SELECT * FROM last_put WHERE {STANDS}
),
reply AS MATERIALIZED (
    FROM planned_reply
    UNION ALL
    SELECT n.tenant, n.session_id, n.from_event_id, n.session_id, n.to_event_id
    FROM newest n ANTI JOIN planned_reply p ON p.tenant = n.tenant
        AND p.session_id = n.session_id AND p.from_event_id = n.from_event_id
), chain USING KEY (tenant, start, session_id, id) AS (
    SELECT DISTINCT e.tenant, e.session_id AS start, e.session_id, e.event_id AS id, 0 AS depth
    FROM events e WHERE e.event_id = event_id
    UNION
    SELECT reply.tenant, chain.start, reply.to_session, reply.to_event_id, chain.depth + 1
    FROM chain JOIN reply ON reply.tenant = chain.tenant AND reply.session_id = chain.session_id
        AND reply.from_event_id = chain.id
    WHERE NOT EXISTS (
        FROM recurring.chain met WHERE met.tenant = reply.tenant AND met.start = chain.start
            AND met.session_id = reply.to_session AND met.id = reply.to_event_id
    )
), told AS (
    SELECT * FROM events e WHERE e.event_id IN (SELECT id FROM chain) {STANDING_EVENT}
)
SELECT chain.depth, e.*
FROM chain JOIN told e
    ON e.tenant = chain.tenant AND e.session_id = chain.session_id AND e.event_id = chain.id
ORDER BY e.tenant, chain.start, chain.depth
"""

_OWN = {
    "state_current": STATE_CURRENT,
    "mood_current": MOOD_CURRENT,
    "affect_current": AFFECT_CURRENT,
    "link_current": LINK_CURRENT,
    "thread_current": THREAD_CURRENT,
} | {kind.view: NEWEST_REVISION.format(kind=kind.name, id=kind.id) for kind in REVISED}
VIEWS: dict[str, str] = {
    "event_current": EVENT_CURRENT,
    "recursion_current": RECURSION_CURRENT,
    "state_revision": STATE_REVISION,
    **{kind.view: _OWN[kind.view] for kind in MEMORY_KINDS if kind.view and not kind.table},
    **analyst_views.VIEWS,
}
MACROS: dict[str, str] = {
    "state_as_of": STATE_AS_OF,
    "why": WHY,
    "thread": THREAD,
    "reply_chain": REPLY_CHAIN,
    **analyst_views.MACROS,
}
_ABOUT = {kind.view: kind.about for kind in MEMORY_KINDS if kind.view}
SNAPSHOTS = frozenset(table for table, _ in SNAPSHOT_KEYS.values())
ABOUT: dict[str, str] = {
    **{view: _ABOUT[view] for view in SNAPSHOT_KEYS},
    "event_current": "Each turn once, in its final form.",
    "recursion_current": "Each recursion once, in the version that counts.",
    "state_revision": "Each revision of a state, with its document as a struct.",
    **_ABOUT,
    **analyst_views.ABOUT,
    "state_as_of": "The states true at `valid_at`, as known at `known_at` (both TIMESTAMPTZ). Both "
    "can be omitted or NULL: then the states that are true now, as known now. A date without a "
    "time means its start here; in commands and URLs it means its end.",
    "why": "The revisions of a state, preference, session or item of session memory, in order, "
    "with a row for each of its evidence events.",
    "thread": "The turns of a thread, in order of time.",
    "reply_chain": "A turn, the turn it replies to, and so on to the first.",
}
"""Description of each view and macro."""
MEMORY_VIEWS = tuple(kind.view for kind in MEMORY_KINDS if kind.view)
"""The views that together show all memory."""


def needs(names: Iterable[str], tables: Collection[str]) -> list[str]:
    """Views with their dependencies, in order of definition."""
    relations: dict[str, None] = {}
    for name in names:
        relations |= dict.fromkeys(needs(_reads(name, tables), tables))
        relations[name] = None
    return list(relations)


def _reads(name: str, tables: Collection[str]) -> list[str]:
    text = VIEWS.get(name) or MACROS.get(name) or ""
    return [
        relation
        for relation in re.findall(r"(?:FROM|JOIN) (\w+)", text)
        if relation in VIEWS or relation in tables
    ]


ALL_VIEWS = (*SNAPSHOT_KEYS, *VIEWS, *MACROS)
