"""Sessions and users of a store that were read last, so that who asks again waits for no disk."""

from streams.serving.backends.backend import Found
from streams.serving.backends.change_waiters import Where

CACHED = 4_096
"""Sessions and users read last."""
CACHED_BYTES = 32_000_000
"""All of them, as they are on disk; decoded they take some five times as much."""
LARGE_BYTES = 100_000
"""A larger one is read again each time."""


class LastRead:
    """By place, the one that was asked for last at the end. Belongs to one thread."""

    def __init__(self) -> None:
        self._found: dict[Where, tuple[Found, int]] = {}
        self._bytes = 0

    def get(self, where: Where) -> Found | None:
        """None where it is not kept."""
        kept = self._take(where)
        if kept is None:
            return None
        self._put(where, *kept)
        return kept[0]

    def put(self, where: Where, found: Found, size: int) -> None:
        """Keeps it, for which the oldest may have to go. `size`: its bytes on disk."""
        if size > LARGE_BYTES:
            return
        while len(self._found) >= CACHED or self._bytes + size > CACHED_BYTES:
            self.drop(next(iter(self._found)))
        self._put(where, found, size)

    def drop(self, where: Where) -> None:
        """It is another one now."""
        self._take(where)

    def clear(self) -> None:
        """All may be others now."""
        self._found.clear()
        self._bytes = 0

    def _put(self, where: Where, found: Found, size: int) -> None:
        self._found[where] = found, size
        self._bytes += size

    def _take(self, where: Where) -> tuple[Found, int] | None:
        kept = self._found.pop(where, None)
        if kept is not None:
            self._bytes -= kept[1]
        return kept
