"""Serializes the requests of a session: a message depends on those before it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from weakref import WeakValueDictionary

Where = tuple[str, str]
"""Tenant, and the session's id."""


class SessionLocks:
    """Locks per session. For writes of other servers, see `catch_up` of the backend."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Where, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def of(self, tenant: str, session_id: str) -> AsyncIterator[None]:
        where = tenant, session_id
        lock = self._locks.get(where)
        if lock is None:
            lock = self._locks[where] = asyncio.Lock()
        async with lock:
            yield
