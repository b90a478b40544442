"""The rules' states and preferences of a group's turns, which a model's plan replaces."""

from collections.abc import Iterator
from types import SimpleNamespace

from schemas.base import JsonObject
from streams.extractors import rules
from streams.llm.debounce import Group
from streams.llm.prompted_memory import REPLACED, Remembered, Row, identity


def with_rules(remembered: Remembered, group: Group) -> Remembered:
    """Adds the rules' rows to `REPLACED` that the history lacks: it may lag, or be absent. Rules
    see one turn alone, so their plans are recomputed. States with another text in the history were
    corrected, and are not replaced."""
    replaced = remembered.get(REPLACED, [])
    identities = set(map(identity, replaced))
    texts = {identity(row): row["body_text"] for row in remembered.get("states", ())}
    missing = [
        row
        for turn in group.turns
        if (plan := rules.extract(SimpleNamespace(**turn._asdict(), status="done", affect=None)))
        for row in replaced_rows(plan)
        if (key := identity(row)) not in identities
        and texts.get(key) in (None, row.get("body_text"))
    ]
    return {**remembered, REPLACED: [*replaced, *missing]}


def replaced_rows(plan: JsonObject) -> Iterator[Row]:
    """The states and preferences of a rules' plan."""
    at = plan["occurred_at"]
    for update in plan.get("state_updates", ()):
        yield {"entity": "state", "updated_at": at, **update}
    for update in plan.get("preference_updates", ()):
        if update["op"] == "confirm":
            yield {"entity": "preference", "updated_at": at, **update}
