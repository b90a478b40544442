"""Recomputes the rules' states and preferences of a group's turns, which a model's plan replaces.

Rules see one turn alone, so this needs no history.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from schemas.base import format_time
from streams.extractors import rules
from streams.llm.debounce import Group, Turn
from streams.llm.prompted_memory import REPLACED, Remembered, Row, identity


@dataclass(slots=True)
class RuleTurn:
    """A turn as input of the rules. Affect is left out: plans do not replace it."""

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
    """Adds the rules' rows to `REPLACED` that the history lacks: it may lag, or be absent. States
    with another text in the history were corrected, and are not replaced."""
    replaced = remembered.get(REPLACED, [])
    identities = set(map(identity, replaced))
    texts = {identity(row): row["body_text"] for row in remembered.get("states", ())}
    missing = [
        row
        for turn in group.turns
        for row in _rows(turn)
        if (key := identity(row)) not in identities
        and texts.get(key) in (None, row.get("body_text"))
    ]
    return {**remembered, REPLACED: [*replaced, *missing]}


def _rows(turn: Turn) -> Iterator[Row]:
    """The states and preferences of the rules' plan for a turn."""
    rule_turn = RuleTurn(
        turn.tenant, turn.event_id, turn.session_id, turn.user_id, turn.source, turn.occurred_at,
        turn.user_input,
    )  # fmt: skip
    plan = rules.extract(rule_turn) or {}
    at = format_time(turn.occurred_at)
    for update in plan.get("state_updates", ()):
        yield {"entity": "state", "updated_at": at, **update}
    for update in plan.get("preference_updates", ()):
        if update["op"] == "confirm":
            yield {"entity": "preference", "updated_at": at, **update}
