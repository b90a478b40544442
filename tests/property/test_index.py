"""The order of a session's turns, against a sorted list; the ids seen, against a dictionary."""

from bisect import bisect_left
from random import Random
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streams.folds import seen_ids
from streams.pipeline.entity import Entity
from tests.property import strategies
from tests.property.world import Json, World, turn
from tests.tiers import examples

TIMES = st.integers(0, 400)
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.just(0)),
        st.tuples(st.just("insert"), TIMES),
        st.tuples(st.just("remove"), TIMES),
    ),
    max_size=60,
)


class Order:
    """The index, with the newest turns as their owner keeps them."""

    def __init__(self, client: str) -> None:
        self.rows = Entity("sessions", "default", "s", {})
        self.client = client
        self.newest = seen_ids.Newest()

    def insert(self, entry: seen_ids.Entry) -> seen_ids.Gap:
        before = self.newest.entries
        self.newest, found, left = seen_ids.insert_turn(self.rows, self.client, self.newest, entry)
        gone = {*before, entry} - set(self.newest.entries)
        late = gone == {entry} and not left  # among older ones
        assert late or set(left) == gone
        return found

    def remove(self, entry: seen_ids.Entry) -> seen_ids.Gap:
        self.newest, found = seen_ids.remove_turn(self.rows, self.client, self.newest, entry)
        return found


def gap(order: list[seen_ids.Entry], entry: seen_ids.Entry) -> seen_ids.Gap:
    at = bisect_left(order, entry)
    return (order[at - 1] if at else None), (order[at] if at < len(order) else None)


@settings(max_examples=300)
@given(st.integers(0, 300), STEPS, st.sampled_from(["", "=c"]))
def test_neighbours_are_those_of_a_sorted_list(
    begun: int, steps: list[tuple[str, int]], client: str
) -> None:
    ours = Order(client)
    order: list[seen_ids.Entry] = []
    todo = [("append", 0)] * begun + steps
    for number, (step, at) in enumerate(todo):
        if step == "remove":
            if order:
                entry = order.pop(at % len(order))
                assert ours.remove(entry) == gap(order, entry)
                assert ours.remove(entry) == (None, None)
            continue
        when = max((one[0] for one in order), default=0) + 1 if step == "append" else at
        entry = (when, f"e{number}", None, b"")
        assert ours.insert(entry) == gap(order, entry)
        order.insert(bisect_left(order, entry), entry)


@settings(max_examples=10)
@given(st.integers(0, 1000))
def test_thousands_of_turns_in_any_order(seed: int) -> None:
    ours = Order("")
    entries: list[seen_ids.Entry] = [(at, f"e{at}", None, b"") for at in range(1500)]
    Random(seed).shuffle(entries)
    order: list[seen_ids.Entry] = []
    for entry in entries:
        assert ours.insert(entry) == gap(order, entry)
        order.insert(bisect_left(order, entry), entry)
    blocks = [row for _, row in ours.rows.scan("b/")]
    assert all(len(block) <= 2 * seen_ids.BLOCK for block in blocks)
    for entry in entries[:1400]:
        order.remove(entry)
        assert ours.remove(entry) == gap(order, entry)


HASHES = st.lists(st.sampled_from([0, 1]), min_size=8, max_size=8).map(bytes)  # much alike
CHECKS = st.lists(st.sampled_from([0, 1]), min_size=4, max_size=4).map(bytes)


@settings(max_examples=300)
@given(st.lists(st.tuples(HASHES, CHECKS, st.sampled_from(["", "read", "raise"])), max_size=100))
def test_ids_are_remembered_as_by_a_dictionary(steps: list[tuple[bytes, bytes, str]]) -> None:
    rows, runs, known = Entity("sessions", "default", "s", {}), 0, dict[bytes, bytes]()
    for id_hash, check, then in steps:
        found, place = seen_ids.find_id(rows, runs, id_hash)
        assert found == known.get(id_hash)
        now = seen_ids.put_id(rows, runs, place, check)
        if then == "raise":
            rows.rollback()
            continue
        rows.keep()
        runs, known[id_hash] = now, check
        if then == "read":
            encoded = {name: bytes(run) for name, run in rows.scan("i/")}
            assert len(encoded) == runs
            rows = Entity("sessions", "default", "s", encoded)
    assert {one: seen_ids.find_id(rows, runs, one)[0] for one in known} == known


def test_a_turn_that_left_the_newest_twice_is_known_as_it_was_last(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(seen_ids, "BLOCK", 2)
    world = World()
    world.say(turn("x", 1, status="running"), *(turn(f"a{at}", at) for at in range(2, 6)))
    world.say(turn("x", 10), *(turn(f"b{at}", at) for at in range(11, 15)))
    assert len(list(world.rows_of("sessions", "s1").scan("i/"))) >= 4
    assert world.say(turn("x", 10), turn("x", 1, status="running")) == ["duplicate"] * 2
    assert world.say(turn("x", 12)) == ["dead"]


def _folded(records: list[Json]) -> tuple[Any, ...]:
    world = World()
    return world.say(*records), world.rows, world.warnings, world.documents()


@examples(20, 400, strategies.turns(most=30), st.randoms(use_true_random=False), under=settings())
def test_where_turns_leave_the_newest_shows_nowhere(records: list[Json], random: Random) -> None:
    """The same turns, some of them twice, with room for two or for all in the header."""
    records = [*records, *random.sample(records, len(records) // 2)]
    wide = _folded(records)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seen_ids, "BLOCK", 2)
        patch.setattr(seen_ids, "RUN", 2)
        assert _folded(records) == wide
