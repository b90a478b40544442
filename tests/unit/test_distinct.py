"""Counting different things in little room gives what a set gives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.pipeline import distinct_count
from streams.pipeline.distinct_count import Distinct

THINGS = st.lists(st.lists(st.tuples(st.text(max_size=2), st.integers(0, 40)), max_size=20))


@given(THINGS, st.integers(0, 10))
def test_it_counts_what_a_set_counts(batches: list[list[tuple[str, int]]], some: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(distinct_count, "SOME", some)
        seen = Distinct()
        expected: set[object] = set()
        for batch in batches:
            seen.add(("alone", len(batch)))
            seen.update(batch)
            seen.pack()
            expected |= {("alone", len(batch)), *batch}
            assert len(seen) == len({hash(one) for one in expected})


def test_nothing_is_none() -> None:
    assert len(Distinct()) == 0
