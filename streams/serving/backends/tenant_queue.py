"""Whose question has a thread next: tenants take turns, and none has all threads at once."""

import asyncio
from collections import Counter
from collections.abc import Callable

from streams.serving.backends.backend import Busy


class TenantQueue:
    """A tenant has all `threads` but one at most, and so many questions `waiting`. One event loop's
    own."""

    def __init__(self, threads: int, waiting: int) -> None:
        self._threads = asyncio.Semaphore(threads)
        self._each = threads - 1
        self._most = self._each + waiting
        self._asked: Counter[str] = Counter()
        self._of: dict[str, asyncio.Semaphore] = {}

    async def take(self, tenant: str) -> Callable[[], None]:
        """Waits for a thread; what comes back gives it back, once.

        Who comes first is served first. A tenant stands in the line for all with no more questions
        than it may have at once, so that others wait for these alone. Raises Busy.
        """
        if self._asked[tenant] >= self._most:
            raise Busy("too many requests of this tenant are under way; try again")
        self._asked[tenant] += 1
        own = self._of.setdefault(tenant, asyncio.Semaphore(self._each))

        def leave() -> None:
            self._asked[tenant] -= 1
            if not self._asked[tenant]:
                del self._asked[tenant], self._of[tenant]

        def give_back() -> None:
            self._threads.release()
            own.release()
            leave()

        try:
            await own.acquire()
            try:
                await self._threads.acquire()
            except BaseException:
                own.release()
                raise
        except BaseException:
            leave()
            raise
        return give_back
