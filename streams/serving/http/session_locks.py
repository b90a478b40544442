"""Requests to one session, one after the other: what a message means depends on those before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

Where = tuple[str, str]
"""Tenant, and the session's id."""


class Sessions:
    """Whose turn it is to write messages to a session. Other servers may write, too: `catch_up` of
    the backend sees to that."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Where, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: str, session_id: str) -> AsyncIterator[None]:
        """No other request to the session is read meanwhile."""
        where = tenant, session_id
        lock = self._locks.get(where)
        if lock is None:
            lock = self._locks[where] = asyncio.Lock()
        async with lock:
            yield
