"""Waiters for changes of a session or user (the event stream of a session)."""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

Where = tuple[str, str, str]
"""Table, tenant, and the session's or user's id."""


class Changes:
    """Wakes the waiters of an entity after a commit has changed it. Belongs to one event loop:
    other threads use `loop.call_soon_threadsafe`."""

    def __init__(self) -> None:
        self._waiting: defaultdict[Where, set[asyncio.Event]] = defaultdict(set)

    @contextmanager
    def of(self, where: Where) -> Iterator[asyncio.Event]:
        """An event that is set at each commit that changes the entity; the waiter clears it."""
        event = asyncio.Event()
        self._waiting[where].add(event)
        try:
            yield event
        finally:
            self._waiting[where].discard(event)
            if not self._waiting[where]:
                del self._waiting[where]

    def awaited(self) -> list[Where]:
        return list(self._waiting)

    def tell(self, changed: Iterable[Where]) -> None:
        if not self._waiting:
            return
        for where in changed:
            for event in self._waiting.get(where, ()):
                event.set()
