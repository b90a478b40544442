"""How far a partition of `turns` is settled: what a group may commit, and what it knows beyond.

A turn is settled when it says nothing to a model, or when its group's record is written. The offset
committed is that of the oldest turn that is not; those beyond it that are settled stand in the
commit's metadata, so that they are not asked about again.
"""

from base64 import b64decode, b64encode
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from itertools import chain, pairwise

LARGEST = 4000
"""Characters of metadata without its time; a broker takes 4096 by default. What is cut off would be
asked about again after a kill, so no more is read than surely fits."""

TIME_ENDS = "@"
AS_BITS = "bits:"
ROOM = (LARGEST - len(AS_BITS)) // 4 * 24
"""Offsets whose bits fit, as base64."""

Run = tuple[int, int]
"""The first and last of some offsets without an open one between. Not each has to exist."""


class Reach:
    """Offsets from `start` on. `settled`: runs of those beyond it that were settled before,
    ascending. `recorded_at`: when the log took the record at `start`, or the one before it
    (milliseconds)."""

    def __init__(self, start: int, settled: Iterable[Run] = (), recorded_at: int = 0) -> None:
        self.next = start
        """The offset to be read next."""
        self.recorded_at = recorded_at
        """When the log took the last record that was read (milliseconds): the greatest append time
        so far, because a broker's clock may step back."""
        self._open: dict[int, int] = {}  # offset -> recorded_at, in the order they were read
        self._settled = list(settled)

    def read(self, offset: int, timestamp: int = 0) -> bool:
        """Whether this record's turn is to be looked at; until it is settled it holds the rest.
        `timestamp`: its append time (milliseconds)."""
        self.next = max(self.next, offset + 1)
        self.recorded_at = max(self.recorded_at, timestamp)
        before = bisect_right(self._settled, offset, key=lambda run: run[0])
        if before and offset <= self._settled[before - 1][1]:
            return False
        self._open[offset] = self.recorded_at
        return True

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

    def metadata(self) -> str:
        """When the log took the record at `committed`, "TIME@"; then the settled offsets beyond it,
        as "FROM-TO,…" relative to it, or where that is too long, a bit for each."""
        at = next(iter(self._open.values()), self.recorded_at)
        return (f"{at}{TIME_ENDS}" if at else "") + self._settled_text()

    def _settled_text(self) -> str:
        first = self.committed
        runs = [(one - first, last - first) for one, last in chain(self._read(), self._ahead())]
        text = ",".join(f"{one}-{last}" if last > one else f"{one}" for one, last in runs)
        if len(text) > LARGEST and runs[-1][1] < ROOM:
            return _bits(runs)
        return text if len(text) <= LARGEST else text[: text.rindex(",", 0, LARGEST)]

    def _read(self) -> Iterator[Run]:
        """What was read and is settled: all between two that are open."""
        for one, following in pairwise((*self._open, self.next)):
            if following > one + 1:
                yield one + 1, following - 1

    def _ahead(self) -> Iterator[Run]:
        """What was settled before and is not read again yet."""
        for one, last in self._settled:
            if last >= self.next:
                yield max(one, self.next), last

    @property
    def is_full(self) -> bool:
        """Whether no more should be read before older turns are settled: a commit might not be able
        to say what is settled beyond them. Their bits have no room, nor surely their runs, of which
        each lies between two offsets that are open, and takes two numbers at most."""
        span = self.next - self.committed
        numbers = 2 * len(str(span)) + 2  # with their marks
        return span >= ROOM and len(self._open) * numbers > LARGEST


def of_commit(committed: int, metadata: str) -> Reach:
    """Where a commit left it. Metadata of another's making says nothing."""
    time, _, text = metadata.rpartition(TIME_ENDS)
    try:
        at = int(time or 0)
        if text.startswith(AS_BITS):
            bits = b64decode(text[len(AS_BITS) :], None, True)
            return Reach(committed, _runs(committed, bits), at)
        pairs = [part.split("-") for part in text.split(",") if part]
        runs = [(committed + int(pair[0]), committed + int(pair[-1])) for pair in pairs]
    except ValueError:
        return Reach(committed)
    return Reach(committed, sorted(runs), at)


def _bits(runs: Iterable[Run]) -> str:
    """The bit of each offset, beginning with the lowest of the first byte."""
    bits = 0
    for one, last in runs:
        bits |= ((1 << (last - one + 1)) - 1) << one
    return AS_BITS + b64encode(bits.to_bytes((bits.bit_length() + 7) // 8, "little")).decode()


def _runs(first: int, raw: bytes) -> Iterator[Run]:
    """The runs of set bits."""
    begin: int | None = None
    bits = f"{int.from_bytes(raw, 'little'):b}"[::-1]
    for place, bit in enumerate(f"{bits}0"):
        if bit == "1":
            begin = place if begin is None else begin
        elif begin is not None:
            yield first + begin, first + place - 1
            begin = None
