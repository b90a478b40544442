"""A session's memory as a pack of one of its users shows it.

A session belongs to whoever spoke in it. What others said there is never shown as the user's own:
an item that rests on turns of others says whose (docs/context.md, "Sessions of several users").
"""

from typing import Any

from streams.errors import UsageError
from streams.folds import session_memory
from streams.folds.rows import Rows
from streams.folds.rules import Rules
from streams.folds.session_state import HEADER, MAX_USERS, visible

Json = dict[str, Any]


def session_of(rows: Rows, rules: Rules, user_id: str) -> Json | None:
    """The session's id and `session_memory`, each item with `said_by`; None where there is none.

    `said_by` has the ids of those on whose turns an item rests, None for a turn that names nobody;
    it is empty where that is the user alone, or nobody else has spoken in the session. Raises
    UsageError where others spoke, and the user did not.
    """
    base = rows.get(HEADER)
    if base is None:
        return None
    header = visible(rows, base, rules)
    spoke = header.users or ((header.user[2],) if header.user else ())
    if spoke and user_id not in spoke and len(spoke) < MAX_USERS:
        raise UsageError("session_id: the session is another user's")
    said_by = session_memory.speakers(rows, rules) if header.users else {}
    return {
        "session_id": rows.key,
        "session_memory": [
            {**item, "said_by": _others(said_by.get(item["id"], set()), user_id)}
            for item in session_memory.items(rows, rules)
        ],
    }


def _others(said_by: set[str | None], user_id: str) -> list[str | None]:
    """All who said it, if anybody else than the user is among them."""
    if said_by <= {user_id}:
        return []
    return sorted(said_by, key=lambda one: (one is None, one or ""))
