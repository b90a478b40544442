"""Messages that no longer hold: edited, answered again, or deleted. The turn that such a message
opened is retracted in the memory of whoever spoke in its session (docs/rules.md, "Long-term
memory"); the history keeps it."""

from collections.abc import Collection, Iterator

from schemas.base import JsonObject
from schemas.events import SCHEMA_VERSION
from streams.folds.ids import make_id
from streams.folds.index import find_id, find_turn, turn_hash
from streams.folds.rows import Rows
from streams.folds.session_state import HEADER

EXTRACTOR = "messages"
"""`extractor.name` of the plans made here."""
EDITED, DELETED = "the message was edited or answered again", "the message was deleted"


def is_turn(rows: Rows, message_id: str) -> bool:
    """Whether a message of the session opened a turn."""
    header = rows.get(HEADER)
    return header is not None and (
        find_turn(header.newest, message_id) is not None
        or find_id(rows, header.runs, turn_hash(message_id))[0] is not None
    )


def plans(
    session_id: str,
    users: Collection[str],
    message_id: str,
    at: str,
    reason: str,
    successor: str | None = None,
) -> Iterator[JsonObject]:
    """Write plans that retract a turn for each user. `successor`: the message in its place."""
    evidence = {} if successor is None else {"evidence_event_ids": [successor]}
    update = {"op": "retract", "event_id": message_id, "reason": reason, **evidence}
    for user_id in sorted(users):
        yield {
            "type": "write_plan",
            "schema_version": SCHEMA_VERSION,
            "plan_id": make_id("retract", session_id, message_id, user_id, successor or at),
            "user_id": user_id,
            "session_id": session_id,
            "occurred_at": at,
            "extractor": {"name": EXTRACTOR},
            "event_updates": [update],
        }
