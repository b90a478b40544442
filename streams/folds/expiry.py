"""Expiry: a matter of when one asks, so no row knows of it (docs/rules.md, Sessions).

Imports nothing of the fold, so that who only reads a document need not load it.
"""

from typing import Any

from streams.folds.rules import Rules


def expire(document: dict[str, Any], latest: int | None, at: int, rules: Rules) -> dict[str, Any]:
    """The document as somebody who asks at `at` sees it: a session closes that has no
    turn for so long (`session_expiry_hours`, 24 by default).

    `latest`: when the session's latest turn was, or None if it has none.
    """
    if document["status"] != "closed" and latest is not None and at - latest > rules.session_expiry:
        return {**document, "status": "closed", "closed_reason": "expired"}
    return document
