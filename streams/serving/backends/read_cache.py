"""Recently read sessions and users of a store."""

from streams.serving.backends.backend import EntityRows
from streams.serving.backends.change_waiters import Where

CACHED = 4_096
"""Sessions and users read last."""
CACHED_BYTES = 32_000_000
"""All of them, as they are on disk; decoded they take some five times as much."""
LARGE_BYTES = 100_000
"""A larger one is read again each time."""


class LastRead:
    """An LRU cache by place. Belongs to one thread."""

    def __init__(self) -> None:
        self._found: dict[Where, tuple[EntityRows, int]] = {}
        self._bytes = 0

    def get(self, where: Where) -> EntityRows | None:
        entry = self._take(where)
        if entry is None:
            return None
        self._put(where, *entry)
        return entry[0]

    def put(self, where: Where, entity: EntityRows, size: int) -> None:
        """Adds an entry and may evict the oldest. `size`: its bytes on disk."""
        if size > LARGE_BYTES:
            return
        while len(self._found) >= CACHED or self._bytes + size > CACHED_BYTES:
            self.drop(next(iter(self._found)))
        self._put(where, entity, size)

    def drop(self, where: Where) -> None:
        self._take(where)

    def clear(self) -> None:
        self._found.clear()
        self._bytes = 0

    def _put(self, where: Where, entity: EntityRows, size: int) -> None:
        self._found[where] = entity, size
        self._bytes += size

    def _take(self, where: Where) -> tuple[EntityRows, int] | None:
        entry = self._found.pop(where, None)
        if entry is not None:
            self._bytes -= entry[1]
        return entry
