"""Requests to one session, one after the other: what a message means depends on those before it."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from time import monotonic
from weakref import WeakValueDictionary

from streams.folds.rows import Input
from streams.importers.session_past import is_there
from streams.pipeline.decode import decode
from streams.serving.backends.backend import Backend, NotReady
from streams.serving.http.submitting import ALIKE

MOST = 10_000
"""Sessions of which it is known that records are on their way."""
KEPT = 600.0
"""Seconds for which they are waited for: they may have become dead letters."""
AGAIN = 0.1
"""Seconds until it is looked again, at the latest."""

Where = tuple[str, str]
"""Tenant, and the session's id."""


class Sessions:
    """Whose turn it is to write messages to a session, and what of the last is not applied yet."""

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[Where, asyncio.Lock] = WeakValueDictionary()
        self._left: dict[Where, tuple[list[bytes], float]] = {}

    @asynccontextmanager
    async def of(self, tenant: str, session_id: str) -> AsyncIterator[None]:
        """No other request to the session is read meanwhile."""
        where = tenant, session_id
        lock = self._locks.get(where)
        if lock is None:
            lock = self._locks[where] = asyncio.Lock()
        async with lock:
            yield

    def leave(self, tenant: str, session_id: str, lines: Sequence[bytes]) -> None:
        """Records of the session that were accepted and are not applied yet."""
        if lines:
            self._left[tenant, session_id] = list(lines), monotonic() + KEPT
        if len(self._left) > MOST:
            del self._left[next(iter(self._left))]

    async def settle(self, backend: Backend, tenant: str, session_id: str, within: float) -> None:
        """Waits until they are applied. Raises NotReady, after so many seconds."""
        lines, until = self._left.get((tenant, session_id), ([], 0.0))
        if monotonic() >= until:
            self._left.pop((tenant, session_id), None)
            return
        given = [one for one in (decode(line, ALIKE) for line in lines) if isinstance(one, Input)]
        deadline = monotonic() + within
        with backend.changes.of(("sessions", tenant, session_id)) as changed:
            while True:
                changed.clear()
                rows, _ = await backend.rows("sessions", tenant, session_id)
                if all(is_there(rows, one.record) for one in given):
                    self._left.pop((tenant, session_id), None)
                    return
                if monotonic() >= deadline:
                    raise NotReady("messages before these are not applied yet; nothing was stored")
                try:
                    async with asyncio.timeout(AGAIN):
                        await changed.wait()
                except TimeoutError:
                    continue
