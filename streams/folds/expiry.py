"""Expiry of sessions, computed on reading and never stored (docs/rules.md, Sessions).

Separate from the fold, so that readers of documents do not load it.
"""

from typing import Any

from streams.folds.constants import Rules


def expire(document: dict[str, Any], latest: int | None, at: int, rules: Rules) -> dict[str, Any]:
    """Returns the document as of `at`: a session is closed after `session_expiry_hours` (24 by
    default) without a turn.

    `latest` is the time of the session's latest turn, or None without turns.
    """
    if document["status"] != "closed" and latest is not None and at - latest > rules.session_expiry:
        return {**document, "status": "closed", "closed_reason": "expired"}
    return document
