"""Shares threads fairly among tenants: none gets all of them."""

import asyncio
from collections import Counter
from collections.abc import Callable

from streams.serving.backends.backend import Busy


class TenantQueue:
    """A tenant gets at most all `threads` but one, and `waiting` queued requests. Belongs to one
    event loop."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._threads = asyncio.Semaphore(threads)
        self._each = threads - 1
        self._most = self._each + waiting
        self._asked: Counter[str] = Counter()
        self._of: dict[str, asyncio.Semaphore] = {}

    async def take(self, tenant: str) -> Callable[[], None]:
        """Waits for a thread; call the result once to release it.

        First come, first served. A tenant queues at most as many requests as it may run at once, so
        others wait only for these. Raises Busy.
        """
        if self._asked[tenant] >= self._most:
            raise Busy("too many requests of this tenant are under way; try again")
        self._asked[tenant] += 1
        semaphore = self._of.setdefault(tenant, asyncio.Semaphore(self._each))

        def leave() -> None:
            self._asked[tenant] -= 1
            if not self._asked[tenant]:
                del self._asked[tenant], self._of[tenant]

        def give_back() -> None:
            self._threads.release()
            semaphore.release()
            leave()

        try:
            await semaphore.acquire()
            try:
                await self._threads.acquire()
            except BaseException:
                semaphore.release()
                raise
        except BaseException:
            leave()
            raise
        return give_back
