"""What a group commits: never past a turn that is not settled, and nothing settled is forgotten."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streams.llm.offset_tracker import LARGEST, OffsetTracker, from_commit


@given(st.integers(0, 10**12), st.sets(st.integers(0, 60), min_size=1), st.data())
def test_from_a_commit_exactly_what_is_not_settled_is_read_again(
    start: int, places: set[int], data: st.DataObject
) -> None:
    """Offsets have gaps: markers of transactions, and what compaction took."""
    offsets = [start + place for place in sorted(places)]
    reach = OffsetTracker(start)
    assert all(reach.read(offset) for offset in offsets)
    settled = data.draw(st.sets(st.sampled_from(offsets)))
    for offset in data.draw(st.permutations(sorted(settled))):
        reach.settle([offset])
    left = [offset for offset in offsets if offset not in settled]
    assert reach.committed == (left[0] if left else offsets[-1] + 1)

    again = from_commit(reach.committed, reach.metadata())
    assert [one for one in offsets if one >= reach.committed and again.read(one)] == left
    again.settle(left)
    assert (again.committed, again.metadata()) == (offsets[-1] + 1, "")


@pytest.mark.parametrize("which", ["each second", "each third", "drawn"])
def test_it_reads_no_more_than_a_commit_can_say(which: str) -> None:
    reach, opened, random = OffsetTracker(10**9), set[int](), Random(7)
    while not reach.is_full and reach.next < 10**9 + 40_000:
        offset = reach.next
        reach.read(offset)
        opened.add(offset)
        beside = {
            "each second": offset % 2,
            "each third": offset % 3,
            "drawn": random.random() > 0.3,
        }
        if beside[which] and offset > 10**9:
            reach.settle([offset])
            opened.remove(offset)
    assert reach.is_full and reach.committed == 10**9
    assert len(reach.metadata()) <= LARGEST
    again = from_commit(reach.committed, reach.metadata())
    assert {one for one in range(10**9, reach.next) if again.read(one)} == opened
    reach.settle(opened)
    assert not reach.is_full and reach.committed == reach.next


def test_many_turns_that_gather_hold_up_nothing() -> None:
    """They wait for their group, and each request is paid for."""
    reach = OffsetTracker(0)
    assert all(reach.read(offset) for offset in range(20_000))
    reach.settle(range(1, 20_000, 2))
    assert not reach.is_full
    assert len(reach.metadata()) <= LARGEST
    again = from_commit(0, reach.metadata())
    assert [one for one in range(20_000) if again.read(one)] == list(range(0, 20_000, 2))


def test_few_turns_that_wait_hold_up_nothing() -> None:
    reach = OffsetTracker(0)
    for offset in range(100_000):
        reach.read(offset)
        if offset % 1000:
            reach.settle([offset])
    assert not reach.is_full
    assert len(reach.metadata()) <= LARGEST


def test_what_was_settled_before_does_not_stop_the_reading() -> None:
    """The one turn that held the rest is settled: what lies beyond is read over, however much it
    is."""
    before = OffsetTracker(0)
    assert all(before.read(offset) for offset in range(30_000))
    before.settle(range(1, 30_000, 2))
    reach = from_commit(0, before.metadata())
    assert reach.read(0) and not reach.read(1) and reach.read(2)
    reach.settle((0, 2))
    for offset in range(3, 30_000):
        if reach.read(offset):
            reach.settle([offset])
    assert not reach.is_full and reach.committed == 30_000


def test_what_another_tool_wrote_beside_an_offset_says_nothing() -> None:
    assert from_commit(7, "reset by hand").read(7)
    assert from_commit(7, "bits:reset").read(7)
    assert from_commit(7, "").committed == 7
