"""Fetched records that wait for the next transaction (docs/kafka-tier.md, "Group commit")."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FOLD_WITHIN = 1.0
"""Seconds a batch may take to fold. Meanwhile the whole worker stands still, its heartbeats and the
answers to other lanes too; a slow machine would lose its place in the group over it."""
FIRST = 500
FEWEST = 20
"""Records of the first batch, and of the smallest there is."""


class Chunk(NamedTuple):
    """One fetch of a partition. `start` is the `end` of the fetch before: a hole between two
    chunks shows. `epoch` is the lane's when it was fetched."""

    topic: str
    partition: int
    records: Sequence[Any]
    start: int
    end: int
    epoch: int


class Gathering:
    """A lane's queue of chunks; `records` and `bytes` (of values) say how much waits, `most`
    how many records the next batch takes."""

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self.records = self.bytes = 0
        self._max_records, self._max_bytes = max_records, max_bytes
        self.most = min(FIRST, max_records)
        self._chunks: deque[Chunk] = deque()

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def clear(self) -> None:
        self._chunks.clear()
        self.records = self.bytes = 0

    def put(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self.records += len(chunk.records)
        self.bytes += size(chunk.records)

    def holds(self, batches: float) -> bool:
        """Whether enough waits for so many batches."""
        return (
            self.records >= batches * self._max_records or self.bytes >= batches * self._max_bytes
        )

    def took(self, records: int, seconds: float) -> None:
        """How long a batch took to fold: the next is as large as fits, at most twice the size."""
        fit = int(records * FOLD_WITHIN / max(seconds, 1e-6))
        if fit < self.most or records == self.most:
            self.most = min(max(fit, FEWEST), 2 * self.most, self._max_records)

    def take(
        self, offsets: Mapping[str, int], most: int | None = None
    ) -> tuple[list[Any], dict[str, int]]:
        """The next batch, and the sources' `offsets` moved to behind it. A chunk too large is cut;
        of the first one, one record is taken at least. `most`: no more records than that."""
        taken: list[Any] = []
        following = dict(offsets)
        room = self._max_bytes
        most = min(self.most, most or self.most)
        while self._chunks and len(taken) < most and room > 0:
            chunk = self._chunks.popleft()
            records = _fitting(chunk.records, most - len(taken), room, not taken)
            used = size(records)
            room -= used
            self.records -= len(records)
            self.bytes -= used
            taken.extend(records)
            if len(records) < len(chunk.records):
                rest = chunk.records[len(records) :]
                self._chunks.appendleft(chunk._replace(records=rest))
                if records:
                    following[chunk.topic] = rest[0].offset
                break
            following[chunk.topic] = chunk.end
        return taken, following


def size(records: Sequence[Any]) -> int:
    """Bytes of their values; those without one count as -1, which does no harm."""
    return sum(record.serialized_value_size for record in records)


def _fitting(records: Sequence[Any], count: int, room: int, one: bool) -> Sequence[Any]:
    """The records that still fit; the first in any case where `one`."""
    records = records[:count]
    if size(records) <= room:
        return records
    fits = 0
    for record in records:
        room -= record.serialized_value_size
        if room < 0:
            break
        fits += 1
    return records[: max(fits, int(one))]
