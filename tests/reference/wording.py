"""What the parts of a user's memory share: ids, equal words, evidence, refusal."""

import unicodedata
from typing import Any
from uuid import UUID, uuid5

from schemas.events import WritePlan

Document = dict[str, Any]
NAMESPACE = UUID("6f0d5f5e-3a55-5d6b-9b5c-0c9f0b7f3e21")


class Refused(Exception):  # noqa: N818  (an outcome, not a fault)
    """The plan is a dead letter."""


def made_id(*parts: str) -> str:
    """The same thing has the same id, whoever computes it."""
    return str(uuid5(NAMESPACE, "\x1f".join(parts)))


def normalised(text: str) -> str:
    """Two texts name one thing if they are equal in this form."""
    return " ".join(unicodedata.normalize("NFKC", text).casefold().split())


def first_given(*times: int | None) -> int:
    return next(time for time in times if time is not None)


def evidence(known: list[str], plan: WritePlan, named: list[str]) -> list[str]:
    """Event ids, oldest first, the 20 newest: those known, those an update names, then the plan's
    own. An id that is named again is new again."""
    fresh = dict.fromkeys([*named, *([plan.event_id] if plan.event_id else [])])
    return [*(one for one in known if one not in fresh), *fresh][-20:]
