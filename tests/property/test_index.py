"""The order of a session's turns, against a sorted list."""

from bisect import bisect_left
from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from streams.folds import index
from streams.runtime.store import Entity

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
        self.newest = index.Newest()

    def insert(self, entry: index.Entry) -> index.Gap:
        before = self.newest.entries
        self.newest, found, left = index.insert_turn(self.rows, self.client, self.newest, entry)
        gone = {*before, entry} - set(self.newest.entries)
        late = gone == {entry} and not left  # among older ones
        assert late or set(left) == gone
        return found

    def remove(self, entry: index.Entry) -> index.Gap:
        self.newest, found = index.remove_turn(self.rows, self.client, self.newest, entry)
        return found


def gap(order: list[index.Entry], entry: index.Entry) -> index.Gap:
    at = bisect_left(order, entry)
    return (order[at - 1] if at else None), (order[at] if at < len(order) else None)


@settings(max_examples=300)
@given(st.integers(0, 300), STEPS, st.sampled_from(["", "=c"]))
def test_neighbours_are_those_of_a_sorted_list(
    begun: int, steps: list[tuple[str, int]], client: str
) -> None:
    ours = Order(client)
    order: list[index.Entry] = []
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
    entries: list[index.Entry] = [(at, f"e{at}", None, b"") for at in range(1500)]
    Random(seed).shuffle(entries)
    order: list[index.Entry] = []
    for entry in entries:
        assert ours.insert(entry) == gap(order, entry)
        order.insert(bisect_left(order, entry), entry)
    blocks = [row for _, row in ours.rows.scan("b/")]
    assert all(len(block) <= 2 * index.BLOCK for block in blocks)
    for entry in entries[:1400]:
        order.remove(entry)
        assert ours.remove(entry) == gap(order, entry)
