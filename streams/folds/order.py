"""In which order a user's plans apply (docs/rules.md, "Order of plans").

What the product makes of turns may come in any order and applies at its turn's time. What others
send keeps its order. A state or preference keeps its newest updates with their places, so that an
update that comes late is put where it belongs and those after it are applied again.
"""

from bisect import bisect_right
from collections.abc import Iterable
from typing import NamedTuple, Protocol, TypeVar

from schemas.events import WritePlan

RULES = "rules"
"""`extractor.name` of the built-in rules (`streams.extractors`), which the folds do not import."""
OF_RULES, OF_A_MODEL, SENT = 0, 1, 2
"""The ranks of places: plans of the rules, of a model, and those that others send."""
MAX_UPDATES = 32
"""Updates that a state or preference keeps; those before them cannot be reordered any more."""


class Place(NamedTuple):
    """Where a plan stands among its user's. What others send stands by its `number`."""

    at: int
    rank: int
    id: str = ""
    number: int = 0
    ordinal: int = 0  # of the update in its plan, where it matters


NEVER = -(2**63)
"""Before all times."""
FIRST = Place(NEVER, OF_RULES)


def place_of(plan: WritePlan, clock: int, number: int) -> Place:
    """A plan's place. `clock`: the latest time of the plans that others have sent, which one that
    they send later does not go behind; `number`: how many plans but the rules' have applied."""
    if plan.extractor.name == RULES:
        return Place(plan.occurred_at, OF_RULES, f"{plan.event_id or ''}\x1f{plan.plan_id}")
    if plan.extraction is not None:
        return Place(plan.occurred_at, OF_A_MODEL, plan.plan_id)
    return Place(max(clock, plan.occurred_at), SENT, "", number)


class Placed(Protocol):
    """An update with its place. `at`: its plan's time."""

    @property
    def place(self) -> Place: ...
    @property
    def at(self) -> int: ...


P = TypeVar("P", bound=Placed)


def inserted(updates: tuple[P, ...], update: P) -> tuple[P, ...]:
    """The updates in order with one more, behind others of its plan."""
    if not updates or updates[-1].place <= update.place:
        return (*updates, update)
    at = bisect_right(updates, update.place, key=lambda one: one.place)
    return (*updates[:at], update, *updates[at:])


def sent_after(updates: Iterable[Placed], since: int) -> bool:
    """Whether one of them is of a plan that others sent, of a later time."""
    return any(update.at > since for update in updates if update.place.rank == SENT)
