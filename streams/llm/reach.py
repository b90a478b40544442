"""How far a partition of `turns` is settled: what a group may commit, and what it knows beyond.

A turn is settled when it says nothing to a model, or when its group's record is written. The offset
committed is that of the oldest turn that is not; those beyond it that are settled stand in the
commit's metadata, so that they are not asked about again.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise

FULL = 2000
LARGEST = 4000
"""Characters of metadata: with so many no more is read, and no more are written, for a broker takes
4096 by default. What is cut off would be asked about again after a kill."""


class Reach:
    """Offsets from `start` on. `settled`: those beyond it that were settled before."""

    def __init__(self, start: int, settled: Iterable[int] = ()) -> None:
        self.next = start
        """The offset to be read next."""
        self._open: dict[int, None] = {}  # in the order they were read: ascending
        self._beyond = set(settled)

    def read(self, offset: int) -> bool:
        """Whether this record's turn is to be looked at; until it is settled it holds the rest."""
        self.next = max(self.next, offset + 1)
        if offset in self._beyond:
            return False
        self._open[offset] = None
        return True

    def settle(self, offsets: Iterable[int]) -> None:
        before = self.committed
        for offset in offsets:
            del self._open[offset]
            self._beyond.add(offset)
        if (first := self.committed) != before:
            self._beyond = {offset for offset in self._beyond if offset > first}

    @property
    def committed(self) -> int:
        """All before it is settled."""
        return next(iter(self._open), self.next)

    @property
    def waiting(self) -> int:
        """How many records are not settled."""
        return len(self._open)

    def metadata(self) -> str:
        """The settled offsets beyond `committed`, as "FROM-TO,…" relative to it."""
        first = self.committed
        runs = _runs(sorted(offset - first for offset in self._beyond if offset > first))
        text = ",".join(f"{one}-{last}" if last > one else f"{one}" for one, last in runs)
        return text if len(text) <= LARGEST else text[: text.rindex(",", 0, LARGEST)]

    @property
    def is_full(self) -> bool:
        """Whether no more should be read before older turns are settled."""
        return len(self.metadata()) > FULL


def of_commit(committed: int, metadata: str) -> Reach:
    """Where a commit left it. Metadata of another's making says nothing."""
    try:
        pairs = [part.split("-") for part in metadata.split(",") if part]
        runs = [(int(pair[0]), int(pair[-1])) for pair in pairs]
    except ValueError:
        runs = []
    beyond = (committed + offset for one, last in runs for offset in range(one, last + 1))
    return Reach(committed, beyond)


def _runs(numbers: list[int]) -> Iterator[tuple[int, int]]:
    """1, 2, 3, 7 as (1, 3), (7, 7)."""
    if not numbers:
        return
    first = numbers[0]
    for number, following in pairwise((*numbers, numbers[-1] + 2)):
        if following != number + 1:
            yield first, number
            first = following
