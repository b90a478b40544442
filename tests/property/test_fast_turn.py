"""A plain turn that comes last is folded a shorter way: it does what the long way does."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.folds import fast_turn
from streams.pipeline import fast_decode
from tests.property import strategies
from tests.property.world import Json, World, turn

pytestmark = pytest.mark.nightly

NESTED = ("subject", "object", "artifacts_metadata", "summary", "session_memory_delta",
          "observations", "affect")  # fmt: skip


@st.composite
def mostly_plain(draw: st.DrawFn) -> list[Json]:
    """Records in the order of time, now and then late; most turns with nothing nested in them."""
    records = [*draw(strategies.turns(most=30)), *draw(strategies.events())]
    records = list({repr(one): one for one in records}.values())
    if draw(st.integers(0, 3)):
        records.sort(key=lambda one: str(one["occurred_at"]))
    nested = draw(st.sets(st.integers(0, len(records) - 1), max_size=2))
    for number, record in enumerate(records):
        if number not in nested:
            for name in NESTED:
                record.pop(name, None)
        if isinstance(record.get("intent"), list):
            record["intent"] = "quiz"
    return records


def _folded(records: list[Json]) -> tuple[Any, ...]:
    world = World()
    outcomes = world.say(*records)
    kept = {where: entity._rows for where, entity in world.store.entities.items()}
    return outcomes, world.rows, kept, world.warnings, world.documents()


@settings(max_examples=200)
@given(mostly_plain())
def test_the_short_way_does_what_the_long_way_does(records: list[Json]) -> None:
    short = _folded(records)
    for module, name, never in (
        (fast_turn, "comes_last", lambda *_: False),  # none is appended
        (fast_decode, "read", lambda _: None),  # none is plain: every turn goes through the model
    ):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(module, name, never)
            long = _folded(records)
        assert short[1:] == long[1:]
        assert short[0] == long[0]


def test_the_short_way_is_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    taken = []
    append = fast_turn.append

    def watched(*given: Any) -> Any:
        taken.append(given[2].event_id)
        return append(*given)

    monkeypatch.setattr(fast_turn, "append", watched)
    World().say(
        turn("a", 0, topic="tea"), turn("b", 1), turn("late", 0.5), turn("at once", 1),
        turn("nested", 2, summary={"content": "tea"}), turn("open", 3, status="running"),
        turn("beside it", 4),
    )  # fmt: skip
    assert taken == ["a", "b"]
