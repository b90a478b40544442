"""The SQL of the views and macros over the history tables (design 03 and 04).

Filters on tenant and owner, session or entity must reach the files, so every window is
partitioned by those columns. A macro's parameter takes the place of every unqualified column of
its name, within the views it reads too: `event_id`, `entity_id` and `thread_key` are qualified.
"""

import re
from collections.abc import Collection, Iterable

SNAPSHOT_KEYS = {
    "task_current": ("tasks", "tenant, session_id, task_id"),
    "session_current": ("sessions", "tenant, session_id"),
    "profile_current": ("profiles", "tenant, user_id"),
}

STANDING_EVENT = """QUALIFY row_number() OVER (
    PARTITION BY e.tenant, e.session_id, e.event_id
    ORDER BY e.status = 'running', e.recorded_at, e.src_topic, e.src_partition, e.src_offset
) = 1"""

EVENT_CURRENT = f"""
-- one row an event: an ended turn beats a running one, then the first applied stands
SELECT * FROM events e {STANDING_EVENT}
"""

RECURSION_CURRENT = """
-- One row a recursion: ended beats running, then the latest, then the greater document.
-- `after_finish` follows streams.folds.machine: the task ends at the first of an ANSWER done, an
-- error said to be final, and the recursion at the limit. A CLARIFY at the limit is held: the
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
    SELECT tenant, session_id, max(occurred_at) AS latest FROM events GROUP BY ALL
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

STATE_AS_OF = f"""(valid_at, known_at) AS TABLE
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
-- the one long_mood_state of each user; its numbers decay when read (design 04, Affect)
SELECT * FROM state_current WHERE kind = 'long_mood_state'
"""

PREFERENCE_CURRENT = """
WITH latest AS (
    SELECT tenant, owner_id, entity_id, "after" FROM revisions WHERE entity_type = 'preference'
    QUALIFY row_number() OVER (PARTITION BY tenant, owner_id, entity_id ORDER BY seq DESC) = 1
), decoded AS (
    SELECT tenant, owner_id, entity_id, from_json("after", '{"domain": "VARCHAR",
        "polarity": "VARCHAR", "subject": "VARCHAR", "status": "VARCHAR",
        "confidence": "DOUBLE", "note": "VARCHAR", "evidence_event_ids": ["VARCHAR"],
        "updated_at": "VARCHAR"}') AS preference
    FROM latest WHERE "after" IS NOT NULL
)
SELECT tenant, owner_id, entity_id AS preference_id, preference.domain AS domain,
    preference.polarity AS polarity, preference.subject AS subject, preference.status AS status,
    preference.confidence AS confidence, preference.note AS note,
    preference.evidence_event_ids AS evidence_event_ids,
    CAST(preference.updated_at AS TIMESTAMPTZ) AS updated_at
FROM decoded
"""

AFFECT_CURRENT = """
-- of several moments of one event a plan's, then the latest, then the one that came last
SELECT * FROM affects
QUALIFY row_number() OVER (
    PARTITION BY tenant, event_id
    ORDER BY from_plan DESC, occurred_at DESC, recorded_at DESC,
        src_topic DESC, src_partition DESC, src_offset DESC
) = 1
"""

NET_LINKS = """
-- Puts less removes. `seq` counts within one owner and one fold, and the session's fold makes the
-- provisional links. Of those the newest of an event stands, unless a plan has put its reply_to.
WITH net AS (
    SELECT * FROM {links}
    QUALIFY row_number() OVER (
        PARTITION BY tenant, owner_id, from_event_id, to_event_id, label, provisional
        ORDER BY seq DESC, recorded_at DESC, src_offset DESC
    ) = 1
), planned AS (
    SELECT * FROM net WHERE op = 'put' AND NOT provisional
), newest AS (
    SELECT * FROM net WHERE op = 'put' AND provisional
    QUALIFY row_number() OVER (
        PARTITION BY tenant, owner_id, from_event_id, label
        ORDER BY seq DESC, recorded_at DESC, src_offset DESC
    ) = 1
), replied AS (
    SELECT DISTINCT tenant, from_event_id FROM planned WHERE label = 'reply_to'
)
SELECT * EXCLUDE (op) FROM planned
UNION ALL
SELECT newest.* EXCLUDE (op) FROM newest ANTI JOIN replied
    ON newest.label = 'reply_to' AND replied.tenant = newest.tenant
    AND replied.from_event_id = newest.from_event_id
"""

LINK_CURRENT = NET_LINKS.format(links="links")

THREAD_CURRENT = """
WITH net AS (
    SELECT * FROM threads t
    QUALIFY row_number() OVER (
        PARTITION BY t.tenant, t.owner_id, t.thread_key, t.event_id
        ORDER BY t.seq DESC, t.recorded_at DESC, t.src_offset DESC
    ) = 1
)
SELECT * EXCLUDE (op) FROM net WHERE op = 'put'
"""

WHY = f"""(entity_id) AS TABLE
-- an entity's revisions in order, one row for each event they rest on (one without, if none)
WITH revision AS (
    SELECT * FROM revisions r WHERE r.entity_id = entity_id
), cited AS (
    SELECT tenant, revision_id, unnest(evidence_event_ids) AS evidence_event_id,
        generate_subscripts(evidence_event_ids, 1) AS place
    FROM revision
), evidence AS (
    SELECT tenant, event_id, session_id, occurred_at, user_input, agent_answer
    FROM events e WHERE event_id IN (SELECT evidence_event_id FROM cited) {STANDING_EVENT}
)
SELECT r.tenant, r.owner_id, r.entity_type, r.entity_id, r.kind, r.op, r."before", r."after",
    r.reason, r.occurred_at, r.recorded_at, r.seq, r.revision_id, r.plan_id,
    c.evidence_event_id, e.session_id AS evidence_session_id,
    e.occurred_at AS evidence_occurred_at, e.user_input, e.agent_answer
FROM revision r
LEFT JOIN cited c ON c.tenant = r.tenant AND c.revision_id = r.revision_id
LEFT JOIN evidence e ON e.tenant = c.tenant AND e.event_id = c.evidence_event_id
ORDER BY r.tenant, r.entity_type, r.owner_id, r.seq, r.revision_id, c.place, e.session_id
"""

THREAD = f"""(thread_key) AS TABLE
-- the events of a thread, oldest first
WITH member AS (
    SELECT * FROM thread_current m WHERE m.thread_key = thread_key
), told AS (
    SELECT * FROM events e WHERE e.event_id IN (SELECT m.event_id FROM member m) {STANDING_EVENT}
)
SELECT m.thread_key AS thread_key, m.confidence, e.*
FROM member m JOIN told e ON e.tenant = m.tenant AND e.event_id = m.event_id
ORDER BY e.tenant, e.occurred_at, e.event_id
"""

REPLY_CHAIN = """(event_id) AS TABLE
-- The event, what it replies to, and so on to the start; an event met again ends the chain. A
-- chain leaves its session only by a plan's link, so few links need be read.
WITH RECURSIVE planned_reply AS (
    SELECT * FROM links l WHERE l.label = 'reply_to' AND NOT l.provisional
), near AS (
    SELECT DISTINCT e.tenant, e.session_id FROM events e WHERE e.event_id = event_id
        OR e.event_id IN (SELECT p.to_event_id FROM planned_reply p)
), near_link AS (
    FROM planned_reply UNION ALL
    SELECT l.* FROM links l SEMI JOIN near
        ON near.tenant = l.tenant AND near.session_id = l.owner_id
    WHERE l.label = 'reply_to' AND l.provisional
), reply AS MATERIALIZED (
    SELECT tenant, from_event_id, to_event_id FROM ({near_links})
), chain USING KEY (tenant, id) AS (
    SELECT DISTINCT e.tenant, e.event_id AS id, 0 AS depth FROM events e
    WHERE e.event_id = event_id
    UNION
    SELECT reply.tenant, reply.to_event_id, chain.depth + 1
    FROM chain JOIN reply ON reply.tenant = chain.tenant AND reply.from_event_id = chain.id
    WHERE NOT EXISTS (
        FROM recurring.chain met WHERE met.tenant = reply.tenant AND met.id = reply.to_event_id
    )
), told AS (
    SELECT * FROM events e WHERE e.event_id IN (SELECT id FROM chain) {standing_event}
)
SELECT chain.depth, e.*
FROM chain JOIN told e ON e.tenant = chain.tenant AND e.event_id = chain.id
ORDER BY e.tenant, chain.depth
""".format(near_links=NET_LINKS.format(links="near_link"), standing_event=STANDING_EVENT)

VIEWS: dict[str, str] = {
    "event_current": EVENT_CURRENT,
    "recursion_current": RECURSION_CURRENT,
    "state_revision": STATE_REVISION,
    "state_current": STATE_CURRENT,
    "mood_current": MOOD_CURRENT,
    "preference_current": PREFERENCE_CURRENT,
    "affect_current": AFFECT_CURRENT,
    "link_current": LINK_CURRENT,
    "thread_current": THREAD_CURRENT,
}
MACROS: dict[str, str] = {
    "state_as_of": STATE_AS_OF,
    "why": WHY,
    "thread": THREAD,
    "reply_chain": REPLY_CHAIN,
}
ABOUT: dict[str, str] = {
    "task_current": "The newest document of each task (`doc`: seed 002's).",
    "session_current": "The newest document of each session (`doc`: seed 000's), status as folded, "
    "without expiry.",
    "profile_current": "The newest learning profile of each user (`doc`: seed 004's).",
    "event_current": "Each turn once, as it ended.",
    "recursion_current": "One row per trace id: of its versions the one that stands. "
    "`after_finish`: it came when its task had ended.",
    "state_revision": "Each revision of a state, its document in columns.",
    "state_current": "Each state's latest version, closed ones too.",
    "mood_current": "Each user's mood as last folded: the state of kind `long_mood_state`.",
    "preference_current": "Each preference as it stands, revoked ones too.",
    "affect_current": "The moment of feeling that stands for each event; a plan's beats a turn's.",
    "link_current": "Links that were put and not removed; a plan's `reply_to` over the provisional "
    "one.",
    "thread_current": "Which events are in which thread.",
    "state_as_of": "What was held true at `valid_at`, as known at `known_at` (both TIMESTAMPTZ).",
    "why": "The revisions of a state, preference, session, task or item of session memory, in "
    "order, each with the text of the events it rests on.",
    "thread": "The events of a thread, in the order of time.",
    "reply_chain": "An event and, step by step, what it replies to.",
}
"""What each view or macro says, in a line."""


def needs(names: Iterable[str], tables: Collection[str]) -> list[str]:
    """These and what they read, each after what it reads."""
    found: dict[str, None] = {}
    for name in names:
        found |= dict.fromkeys(needs(_reads(name, tables), tables))
        found[name] = None
    return list(found)


def _reads(name: str, tables: Collection[str]) -> list[str]:
    text = VIEWS.get(name) or MACROS.get(name) or ""
    return [
        one for one in re.findall(r"(?:FROM|JOIN) (\w+)", text) if one in VIEWS or one in tables
    ]


ALL_VIEWS = (*SNAPSHOT_KEYS, *VIEWS, *MACROS)
