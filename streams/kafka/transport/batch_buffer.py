"""Queue of fetched messages for the next transaction (docs/kafka-tier.md, "Group commit")."""

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

FOLD_WITHIN = 1.0
"""Seconds a batch may take to fold. Folding blocks the event loop, including heartbeats and
responses to other lanes; a slow machine would lose its group membership."""
FIRST = 500
FEWEST = 20
"""Size of the first batch and of the smallest batch, in messages."""


class Chunk(NamedTuple):
    """One fetch of a partition. `start` equals the `end` of the previous fetch, so that a gap
    between chunks is detected. `epoch`: the lane's epoch at fetch time."""

    topic: str
    partition: int
    messages: Sequence[Any]
    start: int
    end: int
    epoch: int


class ChunkQueue:
    """A lane's queue of chunks. `messages`, `bytes` (of values): size of the queue; `most`: maximum
    messages of the next batch."""

    def __init__(self, max_records: int, max_bytes: int) -> None:
        self.messages = self.bytes = 0
        self._max_records, self._max_bytes = max_records, max_bytes
        self.most = min(FIRST, max_records)
        self._chunks: deque[Chunk] = deque()

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def clear(self) -> None:
        self._chunks.clear()
        self.messages = self.bytes = 0

    def put(self, chunk: Chunk) -> None:
        self._chunks.append(chunk)
        self.messages += len(chunk.messages)
        self.bytes += size(chunk.messages)

    def is_full(self, batches: float) -> bool:
        """Whether the queue has at least this many batches."""
        return (
            self.messages >= batches * self._max_records or self.bytes >= batches * self._max_bytes
        )

    def adapt(self, messages: int, seconds: float) -> None:
        """Adapts the batch size to the fold time of the last batch; at most doubles it."""
        fit = int(messages * FOLD_WITHIN / max(seconds, 1e-6))
        if fit < self.most or messages == self.most:
            self.most = min(max(fit, FEWEST), 2 * self.most, self._max_records)

    def take(
        self, offsets: Mapping[str, int], most: int | None = None
    ) -> tuple[list[Any], dict[str, int]]:
        """Returns the next batch and the source `offsets` after it. Splits a chunk that does not
        fit; the batch has at least one message. `most`: upper limit of messages."""
        messages: list[Any] = []
        next_offsets = dict(offsets)
        room = self._max_bytes
        most = min(self.most, most or self.most)
        while self._chunks and len(messages) < most and room > 0:
            chunk = self._chunks.popleft()
            part = _fitting(chunk.messages, most - len(messages), room, not messages)
            used = size(part)
            room -= used
            self.messages -= len(part)
            self.bytes -= used
            messages.extend(part)
            if len(part) < len(chunk.messages):
                rest = chunk.messages[len(part) :]
                self._chunks.appendleft(chunk._replace(messages=rest))
                if part:
                    next_offsets[chunk.topic] = rest[0].offset
                break
            next_offsets[chunk.topic] = chunk.end
        return messages, next_offsets


def size(messages: Sequence[Any]) -> int:
    """Bytes of the values; a message without a value counts as -1, which is harmless."""
    return sum(message.serialized_value_size for message in messages)


def _fitting(messages: Sequence[Any], count: int, room: int, at_least_one: bool) -> Sequence[Any]:
    """The leading messages that fit into `room` bytes; the first in any case if `at_least_one`."""
    messages = messages[:count]
    if size(messages) <= room:
        return messages
    fits = 0
    for message in messages:
        room -= message.serialized_value_size
        if room < 0:
            break
        fits += 1
    return messages[: max(fits, int(at_least_one))]
