"""All views. A new one is a module with a `VIEW`, and a line here."""

from streams.serving.inspector import (
    change,
    dead_letter,
    facts,
    forget,
    generations,
    person,
    pipeline,
    plan,
    session,
    start,
    state,
)
from streams.serving.inspector.view import View

VIEWS: tuple[View, ...] = (
    start.VIEW,
    person.VIEW,
    facts.VIEW,
    session.VIEW,
    state.VIEW,
    plan.VIEW,
    change.VIEW,
    forget.VIEW,
    forget.RECEIPT,
    generations.VIEW,
    generations.DIFFERENCE,
    generations.PROMOTE,
    pipeline.VIEW,
    dead_letter.VIEW,
)
MENU: tuple[View, ...] = tuple(view for view in VIEWS if view.menu)
