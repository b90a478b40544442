"""Plans that retract turns after a message was edited, answered again, or deleted
(docs/rules.md, "Long-term memory"). The session and the history keep the turn."""

from typing import Any

from schemas.base import JsonObject, format_time
from schemas.events import SCHEMA_VERSION, Turn
from streams.extractors.registry import MESSAGES
from streams.folds.effects import Rows
from streams.folds.ids import make_id
from streams.folds.seen_ids import find_id, find_turn, turn_hash
from streams.folds.session_state import HEADER

REPLACED, DELETED = "the message was edited or answered again", "the message was deleted"


def of_turn(turn: Turn) -> JsonObject | None:
    """Returns the plan that retracts the turn that `turn` replaces, or None if it replaces none,
    has not ended or has no user."""
    if turn.replaces is None or turn.status == "running" or turn.user_id is None:
        return None
    return plan(
        turn.tenant, turn.session_id, turn.user_id, turn.replaces, format_time(turn.occurred_at),
        REPLACED, turn.event_id,
    )  # fmt: skip


def plan(
    tenant: str,
    session_id: str,
    user_id: str,
    event_id: str,
    at: str,
    reason: str,
    successor: str | None = None,
) -> JsonObject:
    """Returns a write plan that retracts a turn for a user. `successor`: the replacing turn."""
    update: dict[str, Any] = {"op": "retract", "event_id": event_id, "reason": reason}
    if successor is not None:
        update |= {"op": "replace", "evidence_event_ids": [successor]}
    return {
        "type": "write_plan",
        "tenant": tenant,
        "schema_version": SCHEMA_VERSION,
        "plan_id": make_id("retract", session_id, event_id, user_id, successor or at),
        "user_id": user_id,
        "session_id": session_id,
        "occurred_at": at,
        "extractor": {"name": MESSAGES},
        "event_updates": [update],
    }


def is_turn(rows: Rows, event_id: str) -> bool:
    """Whether a session has a turn with that id."""
    header = rows.get(HEADER)
    return header is not None and (
        find_turn(header.newest, event_id) is not None
        or find_id(rows, header.runs, turn_hash(event_id))[0] is not None
    )
