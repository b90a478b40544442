"""Expiry: a matter of when one asks, so no row knows of it (design 04, Session).

Imports nothing of the fold, so that who only reads a document need not load it.
"""

from typing import Any

from schemas.time import HOUR

EXPIRY = 24 * HOUR


def expire(document: dict[str, Any], latest: int | None, at: int) -> dict[str, Any]:
    """The document as somebody who asks at `at` sees it: no turn for 24 h closes a session.

    `latest`: when the session's latest turn was, or None if it has none.
    """
    if document["status"] != "closed" and latest is not None and at - latest > EXPIRY:
        return {**document, "status": "closed", "closed_reason": "expired"}
    return document
