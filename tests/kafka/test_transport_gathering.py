"""The queue of a lane: what a transaction takes, and where it says it ends."""

from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from streams.kafka.transport.batch_buffer import Chunk, ChunkQueue


class Fetched(NamedTuple):
    """As much of a record as the queue looks at."""

    topic: str
    offset: int
    serialized_value_size: int


def _chunks(sizes: list[tuple[str, list[int]]]) -> list[Chunk]:
    """Chunks of consecutive offsets, each with one control record at its end."""
    chunks, position = [], {"one": 0, "other": 0}
    for topic, them in sizes:
        start = position[topic]
        records = [Fetched(topic, start + at, size) for at, size in enumerate(them)]
        position[topic] = start + len(them) + 1
        chunks.append(Chunk(topic, 0, records, start, position[topic], 1))
    return chunks


SIZES = st.lists(
    st.tuples(
        st.sampled_from(["one", "other"]),
        st.lists(st.integers(min_value=-1, max_value=120), min_size=1, max_size=12),
    ),
    max_size=12,
)


@given(SIZES, st.integers(1, 9), st.integers(1, 200))
def test_batches_hold_every_record_once_in_order_and_within_the_limits(
    sizes: list[tuple[str, list[int]]], max_records: int, max_bytes: int
) -> None:
    gathering, chunks = ChunkQueue(max_records, max_bytes), _chunks(sizes)
    for chunk in chunks:
        gathering.put(chunk)
    taken: list[Fetched] = []
    offsets = {"one": 0, "other": 0}
    while gathering:
        before = offsets
        records, offsets = gathering.take(before)
        assert records, "a batch without records would never end"
        assert len(records) <= max_records
        assert len(records) == 1 or sum(one.serialized_value_size for one in records) <= max_bytes
        for one in records:
            assert before[one.topic] <= one.offset < offsets[one.topic]
        taken.extend(records)
    assert taken == [record for chunk in chunks for record in chunk.messages]
    ends = {topic: [0] + [c.end for c in chunks if c.topic == topic] for topic in offsets}
    assert offsets == {topic: them[-1] for topic, them in ends.items()}
    assert (gathering.messages, gathering.bytes) == (0, 0)


def test_holds_by_records_and_by_bytes() -> None:
    gathering = ChunkQueue(4, 100)
    (chunk,) = _chunks([("one", [10, 10])])
    gathering.put(chunk)
    assert gathering.is_full(0.5)
    assert not gathering.is_full(1)
    (large,) = _chunks([("other", [90])])
    gathering.put(large)
    assert gathering.is_full(1)
    gathering.clear()
    assert not gathering
    assert not gathering.is_full(0.5)


def test_batches_are_as_large_as_can_be_folded_in_time() -> None:
    gathering = ChunkQueue(4_000, 10**9)
    sizes = []
    for seconds_each in [0.000_01] * 5 + [0.001] * 2 + [1.0] * 2 + [0.000_01] * 2:
        sizes.append(gathering.most)
        gathering.adapt(gathering.most, gathering.most * seconds_each)
    assert sizes == [500, 1_000, 2_000, 4_000, 4_000, 4_000, 1_000, 1_000, 20, 20, 40]
    gathering.adapt(1, 0.000_01)  # a small batch shows nothing of a large one
    assert gathering.most == 80
