"""How far a partition of `turns` is settled: what a group may commit, and what it knows beyond.

A turn is settled when it says nothing to a model, or when its group's record is written. The offset
committed is that of the oldest turn that is not; those beyond it that are settled stand in the
commit's metadata, so that they are not asked about again.
"""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

LARGEST = 4000
"""Characters of metadata without its time; a broker takes 4096 by default. What is cut off would be
asked about again after a kill, so no more is read than surely fits."""
TIME_ENDS = "@"
ROOM = 22_000
"""Offsets that surely fit: a bit for each, as base64."""
OPEN = 300
"""Open turns among any number of offsets that surely fit, compressed."""


class Reach:
    """Offsets from `start` on. `settled`: a bit for each from there on, set if it was settled
    before, the lowest of a byte first. `recorded_at`: when the log took the record at `start`, or
    the one before it (milliseconds)."""

    def __init__(self, start: int, settled: bytes = b"", recorded_at: int = 0) -> None:
        self.next = start
        """The offset to be read next."""
        self.recorded_at = recorded_at
        """When the log took the last record that was read (milliseconds): the greatest append time
        so far, because a broker's clock may step back."""
        self._open: dict[int, int] = {}  # offset -> recorded_at, in the order they were read
        self._start, self._settled = start, settled

    def read(self, offset: int, timestamp: int = 0) -> bool:
        """Whether this record's turn is to be looked at; until it is settled it holds the rest.
        `timestamp`: its append time (milliseconds)."""
        self.next = max(self.next, offset + 1)
        self.recorded_at = max(self.recorded_at, timestamp)
        if self._was_settled(offset):
            return False
        self._open[offset] = self.recorded_at
        return True

    def _was_settled(self, offset: int) -> bool:
        place, bit = divmod(offset - self._start, 8)
        return place < len(self._settled) and bool(self._settled[place] >> bit & 1)

    def settle(self, offsets: Iterable[int]) -> None:
        for offset in offsets:
            del self._open[offset]

    @property
    def committed(self) -> int:
        """All before it is settled."""
        return next(iter(self._open), self.next)

    @property
    def waiting(self) -> int:
        """How many records are not settled."""
        return len(self._open)

    @property
    def is_full(self) -> bool:
        """Whether no more should be read before older turns are settled: a commit might not be able
        to say which are."""
        return self.next - self.committed >= ROOM and len(self._open) > OPEN

    def metadata(self) -> str:
        """When the log took the record at `committed`, "TIME@"; then which offsets from there on
        are settled, as in `settled`."""
        first = self.committed
        at = next(iter(self._open.values()), self.recorded_at)
        time = f"{at}{TIME_ENDS}" if at else ""
        before = int.from_bytes(self._settled, "little") >> (self.next - self._start)
        bits = (before << (self.next - first)) | (1 << (self.next - first)) - 1
        for offset in self._open:
            bits ^= 1 << (offset - first)
        if not bits:
            return time
        settled = bits.to_bytes((bits.bit_length() + 7) // 8, "little")
        return time + b64encode(zlib.compress(settled)).decode()


def of_commit(committed: int, metadata: str) -> Reach:
    """Where a commit left it. Metadata of another's making says nothing."""
    time, _, text = metadata.rpartition(TIME_ENDS)
    try:
        settled = zlib.decompress(b64decode(text, None, True)) if text else b""
        return Reach(committed, settled, int(time or 0))
    except (ValueError, zlib.error):
        return Reach(committed)
