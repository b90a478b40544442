"""A write plan as the history keeps it: who made it, out of which turn, and what it changed."""

from typing import Any

import msgspec

from sinks.locations import Location
from sinks.lookup import Lookup
from sinks.views import MEANT
from streams.chronicle import text_of
from streams.listing import IN_ORDER
from streams.reading import rows, the_one

Json = dict[str, Any]

PLAN = """SELECT plan_id, user_id, event_id, extractor_name, extractor_version, occurred_at,
    recorded_at, src_topic, src_partition, src_offset, doc FROM plans"""
EVENT = (
    "tenant", "session_id", "event_id", "user_id", "status", "recorded_at", "src_topic",
    "src_partition", "src_offset",
)  # fmt: skip
"""What tells which turn a plan was made from."""
CHANGE = ("entity_type", "entity_id", "kind", "op", "reason", "before", "after", "seq")


def plan(root: Location, tenant: str, user_id: str, plan_id: str) -> Json:
    """The record in `doc`, `session_id` of the turn that it was made from, and `changes` in order.
    Raises DataRefused for an unknown plan."""
    with Lookup(root, tenant) as about:
        about.load("plans", "user_id = ? AND plan_id = ?", user_id, plan_id)
        found = rows(about.db, f"{PLAN} ORDER BY {IN_ORDER} LIMIT 1")
        told = the_one(found, f"plan {plan_id!r} of user {user_id!r}")
        about.load("revisions", "owner_id = ? AND plan_id = ?", user_id, plan_id, columns=CHANGE)
        changes = rows(about.db, f"SELECT {', '.join(_quoted(CHANGE))} FROM revisions ORDER BY seq")
        return {
            **told,
            "doc": msgspec.json.decode(told["doc"]),
            "session_id": _session(about, told["event_id"]),
            "changes": list(map(_change, changes)),
        }


def _quoted(names: tuple[str, ...]) -> list[str]:
    return [f'"{name}"' for name in names]


def _session(about: Lookup, event_id: str | None) -> str | None:
    """The session of the turn that the plan means, if it is there."""
    if event_id is None:
        return None
    about.load("events", "event_id = ?", event_id, columns=EVENT)
    mention = (
        "SELECT tenant, user_id AS owner_id, doc ->> '$.session_id' AS session_id, event_id "
        "FROM plans LIMIT 1"
    )
    found = about.db.execute(f"WITH mention AS ({mention}) SELECT session_id FROM {MEANT}")
    session = found.fetchone()
    return None if session is None else session[0]


def _change(row: Json) -> Json:
    """A revision in a line: what it made, or of what is gone, what that was."""
    said = row["after"] or row["before"]
    document = None if said is None else msgspec.json.decode(said)
    named = ("entity_type", "entity_id", "kind", "op", "reason")
    return {
        **{name: row[name] for name in named},
        "gone": row["after"] is None,
        "text": text_of(row["entity_type"], document),
    }
