"""How many different things there were, of millions, in 8 to 16 bytes each (a set takes 90)."""

from array import array
from collections.abc import Iterable

import pyarrow as pa

SOME = 65_536
"""Hashes that are not yet worth a look at all the others."""


class Distinct:
    """Counts different things by their hashes: two of one hash count as one."""

    def __init__(self) -> None:
        self._new: set[int] = set()
        self._known = array("q")
        self._different = 0  # of those known, when they were last looked at

    def add(self, thing: object) -> None:
        self._new.add(hash(thing))

    def update(self, things: Iterable[object]) -> None:
        self._new.update(map(hash, things))

    def pack(self) -> None:
        """Between batches: what is new joins the known."""
        self._known.extend(self._new)
        self._new = set()  # cleared, it would keep its room
        if len(self._known) > 2 * self._different + SOME:
            self._unite()

    def __len__(self) -> int:
        self.pack()
        self._unite()
        return self._different

    def _unite(self) -> None:
        if not self._known:
            return
        held = pa.Array.from_buffers(
            pa.int64(), len(self._known), [None, pa.py_buffer(memoryview(self._known))]
        )
        different = held.unique()
        self._different = len(different)
        self._known = array("q")
        values = different.buffers()[1]
        assert values is not None
        self._known.frombytes(memoryview(values)[: 8 * self._different])
