"""What a group commits: never past a turn that is not settled, and nothing settled is forgotten."""

from collections.abc import Iterable
from types import SimpleNamespace

import pytest
from aiokafka.structs import OffsetAndMetadata, TopicPartition
from hypothesis import given
from hypothesis import strategies as st

from streams.llm.partition import ROOM, Part, part_of
from streams.llm.settings import LlmSettings

AT = TopicPartition("turns", 0)
SETTINGS = LlmSettings.load(base_url="http://x/v1", model="m")
LARGEST = 4096
"""Characters of metadata that brokers take by default."""


def read(part: Part, offsets: Iterable[int]) -> list[int]:
    """The offsets that are read, and not settled."""
    part.ahead.extend(SimpleNamespace(offset=offset) for offset in offsets)
    return [record.offset for record in part.read(None)]


def restarted(offset: int, metadata: str) -> Part:
    return part_of(AT, OffsetAndMetadata(offset, metadata), 0, 0, SETTINGS)


@given(st.integers(0, 10**12), st.sets(st.integers(0, 60), min_size=1), st.data())
def test_from_a_commit_exactly_what_is_not_settled_is_read_again(
    start: int, places: set[int], data: st.DataObject
) -> None:
    """Offsets have gaps: markers of transactions, and what compaction took."""
    offsets = [start + place for place in sorted(places)]
    part = Part(AT, start, SETTINGS)
    assert read(part, offsets) == offsets
    settled = data.draw(st.sets(st.sampled_from(offsets)))
    part.settle(data.draw(st.permutations(sorted(settled))))
    left = [offset for offset in offsets if offset not in settled]
    committed, metadata = part.position()
    assert committed == (left[0] if left else offsets[-1] + 1)

    again = restarted(committed, metadata)
    assert read(again, [one for one in offsets if one >= committed]) == left
    again.settle(left)
    assert again.position() == (offsets[-1] + 1 if left else committed, "")


@pytest.mark.parametrize("step", [1, 2, 3, 10_000])
def test_it_reads_no_more_than_a_commit_can_say(step: int) -> None:
    part, start = Part(AT, 10**9, SETTINGS), 10**9
    opened = read(part, range(start, start + 40_000, step))
    assert part.is_full and opened[-1] < start + ROOM
    settled = opened[1::2]
    part.settle(settled)
    committed, metadata = part.position()
    assert committed == start and len(metadata) <= LARGEST
    again = restarted(committed, metadata)
    left = [one for one in opened if one not in set(settled)]
    assert read(again, opened) == left
    part.settle(left)
    assert not part.is_full and read(part, [])[0] > opened[-1]


def test_what_lies_far_behind_is_read_where_no_turn_waits() -> None:
    part = Part(AT, 0, SETTINGS)
    assert read(part, [0, 10 * ROOM]) == [0]
    part.settle([0])
    assert read(part, []) == [10 * ROOM]


@pytest.mark.parametrize("metadata", ["", "reset by hand", "bits:reset"])
def test_what_another_tool_wrote_beside_an_offset_says_nothing(metadata: str) -> None:
    assert read(restarted(7, metadata), [7, 8]) == [7, 8]
