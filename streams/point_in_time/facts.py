"""A user's facts as of any time: versions of states and preferences, with their extractors."""

from typing import Any

from schemas.memory_kinds import OF_USERS
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.history_documents import FAR, load_revisions, rows
from streams.point_in_time.session import steps

Json = dict[str, Any]

PLAN_COLUMNS = ("tenant", "user_id", "plan_id", "extractor_name")
FACTS = """
WITH version AS (
    SELECT *, CAST(state.valid_from AS TIMESTAMPTZ) AS begins,
        CAST(state.valid_to AS TIMESTAMPTZ) AS ends
    FROM state_revision WHERE epoch_us(learnt_at) <= $2
    QUALIFY row_number() OVER (PARTITION BY state_id, state.valid_from ORDER BY seq DESC) = 1
), bounded AS (
    SELECT *, lead(begins) OVER (PARTITION BY state_id ORDER BY begins) AS next_begins
    FROM version WHERE NOT gone
), preference AS (
    SELECT *, "after" ->> '$.status' AS status,
        min(occurred_at) OVER (PARTITION BY entity_id) AS began
    FROM revisions
    WHERE entity_type = 'preference' AND epoch_us(recorded_at) <= $2
        AND epoch_us(occurred_at) <= $1
    QUALIFY row_number() OVER (PARTITION BY entity_id ORDER BY seq DESC) = 1
), fact AS (
    SELECT state_id AS entity_id, seq, state.kind AS kind, state.body_text AS text,
        NULL AS polarity, begins AS valid_from, least(ends, next_begins) AS ended_at,
        coalesce(next_begins <= coalesce(ends, next_begins), false) AS followed
    FROM bounded WHERE state.kind <> 'long_mood_state' AND epoch_us(begins) <= $1
    UNION ALL
    SELECT entity_id, seq, 'preference', "after" ->> '$.subject', "after" ->> '$.polarity', began,
        CASE WHEN status = 'revoked' THEN occurred_at END, false
    FROM preference WHERE "after" IS NOT NULL
)
SELECT fact.entity_id, kind, text, polarity, valid_from, plan_id,
    CASE WHEN epoch_us(ended_at) <= $1 THEN ended_at END AS ended_at,
    followed AND epoch_us(ended_at) <= $1 AS followed
FROM fact JOIN revisions USING (entity_id, seq)
ORDER BY valid_from DESC, entity_id"""
"""A version of a state ends at the latest when the next one starts."""


def facts(root: Location, tenant: str, user_id: str, as_of: int, known_at: int | None) -> Json:
    """Facts that had started by `as_of`, the latest first, with their `extractor`, and the times of
    changes in `steps`."""
    with Lookup(root, tenant) as lookup:
        facts = load_facts(lookup, user_id, as_of, FAR if known_at is None else known_at)
        lookup.load("plans", "user_id = ?", user_id, columns=PLAN_COLUMNS)
        plans = lookup.db.execute("SELECT plan_id, extractor_name FROM plans").fetchall()
        extractors: dict[str, str] = dict(plans)
        return {
            "facts": [{**fact, "extractor": extractors.get(fact["plan_id"])} for fact in facts],
            "steps": steps(lookup, [user_id]),
        }


def load_facts(lookup: Lookup, user_id: str, as_of: int, known_at: int) -> list[Json]:
    """The facts from an open history; both times in microseconds. `followed`: a version ended
    because another version of the same state started."""
    of_user = f"owner_id = ? AND entity_type IN {OF_USERS}"
    load_revisions(lookup, of_user, user_id, more=["plan_id"])
    return rows(lookup.define("state_revision"), FACTS, as_of, known_at)
