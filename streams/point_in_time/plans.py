"""A stored write plan: its extractor, its turn, and its changes."""

from typing import Any

import msgspec

from sinks.locations import Location
from sinks.lookup import Lookup
from sinks.views import MEANT
from streams.history_documents import first_record, rows
from streams.history_lists import IN_ORDER
from streams.point_in_time import text_of

Json = dict[str, Any]

PLAN = """SELECT plan_id, user_id, event_id, extractor_name, extractor_version, occurred_at,
    recorded_at, src_topic, src_partition, src_offset, doc FROM plans"""
EVENT = (
    "tenant", "session_id", "event_id", "user_id", "status", "recorded_at", "src_topic",
    "src_partition", "src_offset",
)  # fmt: skip
"""Columns that determine the turn of a plan."""
CHANGE = ("entity_type", "entity_id", "kind", "op", "reason", "before", "after", "seq")


def plan(root: Location, tenant: str, user_id: str, plan_id: str) -> Json:
    """A plan with its record in `doc`, the `session_id` of its turn, and its `changes` in order.
    Raises DataRefused for an unknown plan."""
    with Lookup(root, tenant) as lookup:
        lookup.load("plans", "user_id = ? AND plan_id = ?", user_id, plan_id)
        plans = rows(lookup.db, f"{PLAN} ORDER BY {IN_ORDER} LIMIT 1")
        record = first_record(plans, f"plan {plan_id!r} of user {user_id!r}")
        lookup.load("revisions", "owner_id = ? AND plan_id = ?", user_id, plan_id, columns=CHANGE)
        changes = rows(
            lookup.db, f"SELECT {', '.join(_quoted(CHANGE))} FROM revisions ORDER BY seq"
        )
        return {
            **record,
            "doc": msgspec.json.decode(record["doc"]),
            "session_id": _session(lookup, record["event_id"]),
            "changes": list(map(_change, changes)),
        }


def _quoted(names: tuple[str, ...]) -> list[str]:
    return [f'"{name}"' for name in names]


def _session(lookup: Lookup, event_id: str | None) -> str | None:
    """The session of the plan's turn, if the history has it."""
    if event_id is None:
        return None
    lookup.load("events", "event_id = ?", event_id, columns=EVENT)
    mention = (
        "SELECT tenant, user_id AS owner_id, doc ->> '$.session_id' AS session_id, event_id "
        "FROM plans LIMIT 1"
    )
    cursor = lookup.db.execute(f"WITH mention AS ({mention}) SELECT session_id FROM {MEANT}")
    session = cursor.fetchone()
    return None if session is None else session[0]


def _change(row: Json) -> Json:
    """A revision with the text of its new document, or of the deleted one."""
    text = row["after"] or row["before"]
    document = None if text is None else msgspec.json.decode(text)
    fields = ("entity_type", "entity_id", "kind", "op", "reason")
    return {
        **{name: row[name] for name in fields},
        "gone": row["after"] is None,
        "text": text_of(row["entity_type"], document),
    }
