"""Expiry: a matter of when one asks, so no row knows of it (docs/rules.md, Sessions).

Imports nothing of the fold, so that who only reads a document need not load it.
"""

from typing import Any

from streams.folds.constants import CONSTANTS


def expire(document: dict[str, Any], latest: int | None, at: int) -> dict[str, Any]:
    """The document as somebody who asks at `at` sees it: a session closes that has no
    turn for so long (24 h, unless told otherwise).

    `latest`: when the session's latest turn was, or None if it has none.
    """
    if (
        document["status"] != "closed"
        and latest is not None
        and at - latest > CONSTANTS.session_expiry
    ):
        return {**document, "status": "closed", "closed_reason": "expired"}
    return document
