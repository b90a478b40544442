"""Retracted turns (the message was edited, answered again or deleted): an index shows them only as
of earlier times. A user's marks of them have the fold's format."""

from collections.abc import Iterable
from itertools import groupby

from schemas.events import WritePlan
from streams.folds import end_facts
from streams.pipeline.entity import Entity
from streams.search.document import FOREVER, Doc
from streams.search.store import Index

Plan = tuple[str, str]
"""A user, and a plan of theirs with `event_updates` as JSON."""


def is_any(index: Index) -> bool:
    """Whether any turn was ever retracted."""
    return index.db.execute("SELECT 1 FROM mark LIMIT 1").fetchone() is not None


def apply(index: Index, plans: Iterable[Plan]) -> None:
    """What some plans retract, restore or replace among the turns that are there."""
    for user, user_plans in groupby(sorted(plans), key=lambda plan: plan[0]):
        person = index.name("user", user)
        rows = Entity("users", "", user, index.marks(person))
        for _, text in user_plans:
            plan = WritePlan.model_validate_json(text)
            for ordinal, update in enumerate(plan.event_updates):
                end_facts.mark(rows, plan, ordinal, update)
        rows.keep()
        changed = dict(rows.changes())
        index.put_marks(person, changed)
        for event_id in {end_facts.marked_event(name) for name in changed} - {""}:
            _bound(index, person, rows, event_id)


def take_in(index: Index, docs: Iterable[Doc]) -> None:
    """Bounds turns that arrived, or ended, after their retraction."""
    for doc in docs:
        for person in index.marking(end_facts.mark_names(doc.key, doc.session)):
            _bound(index, person, Entity("users", "", "", index.marks(person)), doc.key)


def _bound(index: Index, person: int, rows: Entity, event_id: str) -> None:
    bounds = []
    for number, session in index.turns_of(person, event_id):
        end = end_facts.retraction(rows, [event_id], session)
        bounds.append((number, FOREVER if end is None else end.at, end is None))
    index.bound(bounds)
