"""Tracks the settled offsets of a partition of `turns` for out-of-order commits.

A turn is settled when it needs no request, or when its group's record is written. The committed
offset is that of the oldest unsettled turn; the metadata of the commit has the settled offsets
after it, so that their turns are not sent again."""

import zlib
from base64 import b64decode, b64encode
from collections.abc import Iterable

LARGEST = 4000
"""Maximum characters of metadata without its time; a broker's default limit is 4096. `is_full`
stops reading before the metadata exceeds it."""
TIME_ENDS = "@"
ROOM = 22_000
"""Offsets that always fit: one bit each, as base64."""
OPEN = 300
"""Open turns that always fit, compressed, among any number of offsets."""


class OffsetTracker:
    """Offsets from `start` on. `settled`: one bit per offset, lowest bit first, set for offsets
    settled earlier. `recorded_at`: append time of the record at `start`, or the one before it
    (milliseconds)."""

    def __init__(self, start: int, settled: bytes = b"", recorded_at: int = 0) -> None:
        self.next = start
        """The next offset to read."""
        self.recorded_at = recorded_at
        """Greatest append time of the records read (milliseconds): a broker's clock may step
        back."""
        self._open: dict[int, int] = {}  # offset -> recorded_at, in reading order
        self._start, self._settled = start, settled

    def read(self, offset: int, timestamp: int = 0) -> bool:
        """Opens an offset; returns False if it is settled. `timestamp`: the record's append time
        (milliseconds)."""
        self.next = max(self.next, offset + 1)
        self.recorded_at = max(self.recorded_at, timestamp)
        if self._is_settled(offset):
            return False
        self._open[offset] = self.recorded_at
        return True

    def _is_settled(self, offset: int) -> bool:
        place, bit = divmod(offset - self._start, 8)
        return place < len(self._settled) and bool(self._settled[place] >> bit & 1)

    def settle(self, offsets: Iterable[int]) -> None:
        """Marks open offsets as settled."""
        for offset in offsets:
            del self._open[offset]

    @property
    def committed(self) -> int:
        """The offset to commit: all before it are settled."""
        return next(iter(self._open), self.next)

    @property
    def is_full(self) -> bool:
        """Whether reading must wait for older turns: the metadata could exceed `LARGEST`."""
        return self.next - self.committed >= ROOM and len(self._open) > OPEN

    def metadata(self) -> str:
        """The append time of the record at `committed`, "TIME@", then the compressed bits of the
        settled offsets from there on, as in `settled`."""
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


def from_commit(committed: int, metadata: str) -> OffsetTracker:
    """Restores the tracker of a commit; foreign metadata is ignored."""
    time, _, text = metadata.rpartition(TIME_ENDS)
    try:
        settled = zlib.decompress(b64decode(text, None, True)) if text else b""
        return OffsetTracker(committed, settled, int(time or 0))
    except (ValueError, zlib.error):
        return OffsetTracker(committed)
