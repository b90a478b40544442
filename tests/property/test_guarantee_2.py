"""Memory is a function of the set of events, whatever their order and number of copies."""

from collections.abc import Iterable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from streams.folds.session_state import HEADER
from tests.property.strategies import events, shuffled
from tests.property.world import World, world
from tests.tiers import examples

SLOW = settings(
    max_examples=200, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


Where = tuple[str, str, str]  # table, tenant, key


def final(memory: World, entities: Iterable[Where] = ()) -> dict[str, Any]:
    """Every document that stands at the end, and the net of the provisional links."""
    standing: dict[str, Any] = {"links": memory.replies("s1") | memory.replies("s2")}
    for table, _, key in list(entities or memory.store.entities):
        rows = memory.rows_of(table, key)
        if table == "users":
            standing[f"user {key}"] = memory.profile(key), memory.mood(key)
        elif rows.get(HEADER) is not None:
            standing[f"session {key}"] = memory.session(key)
            for _, task in rows.scan("t/"):
                standing[f"task {key} {task.task_id}"] = memory.task(task.task_id, key)
    return standing


@examples(60, 400, st.data(), under=SLOW)
def test_guarantee_2_neither_order_nor_copies_change_what_stands(data: st.DataObject) -> None:
    records = data.draw(events())
    other = data.draw(shuffled(records))
    assert final(world(*other)) == final(world(*records))
