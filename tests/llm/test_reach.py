"""What a group commits: never past a turn that is not settled, and nothing settled is forgotten."""

from hypothesis import given
from hypothesis import strategies as st

from streams.llm.reach import LARGEST, Reach, of_commit


@given(st.integers(0, 10**12), st.sets(st.integers(0, 60), min_size=1), st.data())
def test_from_a_commit_exactly_what_is_not_settled_is_read_again(
    start: int, places: set[int], data: st.DataObject
) -> None:
    """Offsets have gaps: markers of transactions, and what compaction took."""
    offsets = [start + place for place in sorted(places)]
    reach = Reach(start)
    assert all(reach.read(offset) for offset in offsets)
    settled = data.draw(st.sets(st.sampled_from(offsets)))
    for offset in data.draw(st.permutations(sorted(settled))):
        reach.settle([offset])
    left = [offset for offset in offsets if offset not in settled]
    assert reach.waiting == len(left)
    assert reach.committed == (left[0] if left else offsets[-1] + 1)

    again = of_commit(reach.committed, reach.metadata())
    assert [one for one in offsets if one >= reach.committed and again.read(one)] == left
    again.settle(left)
    assert (again.committed, again.metadata()) == (offsets[-1] + 1, "")


def test_it_says_when_a_commit_can_say_no_more() -> None:
    reach = Reach(0)
    for offset in range(4000):
        reach.read(offset)
        if offset % 2:
            reach.settle([offset])
    assert reach.is_full and reach.committed == 0
    assert LARGEST - 10 < len(reach.metadata()) <= LARGEST
    assert not of_commit(0, reach.metadata()).read(1)
    reach.settle(range(0, 4000, 2))
    assert not reach.is_full and reach.committed == 4000


def test_what_another_tool_wrote_beside_an_offset_says_nothing() -> None:
    assert of_commit(7, "reset by hand").read(7)
    assert of_commit(7, "").committed == 7
