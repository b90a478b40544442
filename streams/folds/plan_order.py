"""Order of a user's plans (docs/rules.md, "Order of plans").

Plans from extractors may arrive in any order and apply at their turn's time. Plans from clients
keep their order of arrival. States and preferences store their newest updates with their places,
so a late update is inserted at its place and later updates are applied again.
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import NamedTuple, Protocol, TypeVar

from schemas.events import WritePlan

RULES = "rules"
"""`extractor.name` of the built-in rules (`streams.extractors`), which the folds do not import."""
OF_RULES, OF_A_MODEL, SENT = 0, 1, 2
"""Ranks of places: plans of the rules, of a model, and of clients."""
MAX_UPDATES = 32
"""Stored updates of a state or preference; earlier ones can no longer be reordered."""


class Place(NamedTuple):
    """Position of a plan among its user's plans. Plans of clients are ordered by `number`."""

    at: int
    rank: int
    id: str = ""
    number: int = 0
    ordinal: int = 0  # of the update in its plan, where it matters


NEVER = -(2**63)
"""Before all times."""
FIRST = Place(NEVER, OF_RULES)


def place_of(plan: WritePlan, clock: int, number: int) -> Place:
    """Returns a plan's place. `clock` is the latest time of plans from clients, a lower bound for
    their next plan; `number` is the number of applied plans except the rules' plans."""
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


def is_of_rules(updates: Sequence[Placed], *, has_base: bool) -> bool:
    """Whether only plans of the rules, which read the user's message alone, have written a value.
    `has_base`: it has content that is older than the stored updates."""
    is_known = len(updates) == MAX_UPDATES or not has_base
    return is_known and {update.place.rank for update in updates} == {OF_RULES}


def inserted(updates: tuple[P, ...], update: P) -> tuple[P, ...]:
    """Inserts an update in order, after other updates of its plan."""
    if not updates or updates[-1].place <= update.place:
        return (*updates, update)
    at = bisect_right(updates, update.place, key=lambda placed: placed.place)
    return (*updates[:at], update, *updates[at:])


def sent_after(updates: Iterable[Placed], since: int) -> bool:
    """Whether an update is from a client's plan of a later time."""
    return any(update.at > since for update in updates if update.place.rank == SENT)
