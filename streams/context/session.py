"""A session's memory in the pack of one of its users.

Every user with a turn in a session may read it. Statements of other users are attributed to them
(docs/context.md, "Content").
"""

from typing import Any

from streams.errors import UsageError
from streams.folds import session_memory
from streams.folds.constants import Rules
from streams.folds.effects import Rows
from streams.folds.session_state import HEADER, MAX_USERS, visible

Json = dict[str, Any]


def session_of(rows: Rows, rules: Rules, user_id: str) -> Json | None:
    """Returns the session's id and `session_memory`, each item with `said_by`, or None for an
    unknown session.

    `said_by` has the users of the turns that an item is based on (None for a turn without a user);
    it is empty if that is the given user alone. Raises UsageError for a session of other users.
    """
    base = rows.get(HEADER)
    if base is None:
        return None
    header = visible(rows, base, rules)
    speakers = header.users or ((header.user[2],) if header.user else ())
    if speakers and user_id not in speakers and len(speakers) < MAX_USERS:
        raise UsageError("session_id: the session is another user's")
    said_by = session_memory.speakers(rows, rules) if header.users else {}
    return {
        "session_id": rows.key,
        "session_memory": [
            {**item, "said_by": _speakers(said_by.get(item["id"], set()), user_id)}
            for item in session_memory.items(rows, rules)
        ],
    }


def _speakers(users: set[str | None], user_id: str) -> list[str | None]:
    """The users in order; empty if there is none but the given one."""
    if users <= {user_id}:
        return []
    return sorted(users, key=lambda user: (user is None, user or ""))
