"""What rules found in a group's turns, found again: a plan that takes its place has to name it.

Rules see one turn and nothing else, so what they found needs no history to be known.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schemas.base import format_time
from streams.extractors import rules
from streams.llm.groups import Group, Turn
from streams.llm.known import REPLACED, Remembered, Row, identity


@dataclass(slots=True)
class Said:
    """A turn as rules read it. Its feeling is of no account here: no plan takes its place."""

    tenant: str
    event_id: str
    session_id: str
    user_id: str | None
    source: str
    occurred_at: int
    user_input: str
    status: str = "done"
    affect: Any = None


def with_rules(remembered: Remembered, group: Group) -> Remembered:
    """The same, and under `REPLACED` what rules found that the history does not tell yet: it may be
    behind, or not be there. A state that it shows with another text was corrected, and is left."""
    replaced = remembered.get(REPLACED, [])
    known = set(map(identity, replaced))
    texts = {identity(row): row["body_text"] for row in remembered.get("states", ())}
    found = [
        row
        for turn in group.turns
        for row in _found(turn)
        if (name := identity(row)) not in known and texts.get(name) in (None, row.get("body_text"))
    ]
    return {**remembered, REPLACED: [*replaced, *found]}


def _found(turn: Turn) -> Iterator[Row]:
    """The states and preferences of the rules' plan, as documents that it made."""
    said = Said(
        turn.tenant, turn.event_id, turn.session_id, turn.user_id, turn.source, turn.occurred_at,
        turn.user_input,
    )  # fmt: skip
    plan = rules.extract(said) or {}
    at = format_time(turn.occurred_at)
    for update in plan.get("state_updates", ()):
        yield {"entity": "state", "updated_at": at, **update}
    for update in plan.get("preference_updates", ()):
        if update["op"] == "confirm":
            yield {"entity": "preference", "updated_at": at, **update}
