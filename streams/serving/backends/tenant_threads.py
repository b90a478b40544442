"""Threads that tenants share fairly: none gets all of them."""

import asyncio
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from streams.serving.backends.backend import Busy

A = TypeVar("A")
T = TypeVar("T")


class TenantThreads:
    """A tenant gets at most all `threads` but one, and `waiting` queued requests. Belongs to one
    event loop."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._pool = ThreadPoolExecutor(threads, name)
        self._threads = asyncio.Semaphore(threads)
        self._each = threads - 1
        self._most = self._each + waiting
        self._asked: Counter[str] = Counter()
        self._of: dict[str, asyncio.Semaphore] = {}

    async def ask(self, tenant: str, question: Callable[[A], T], of: Callable[[], A]) -> T:
        """The answer. `of`: returns the question's argument, on this loop, when its turn comes.

        First come, first served. A tenant queues at most as many requests as it may run at once, so
        others wait only for these. After a cancellation the thread still finishes. Raises Busy.
        """
        if self._asked[tenant] >= self._most:
            raise Busy("too many requests of this tenant are under way; try again")
        self._asked[tenant] += 1
        semaphore = self._of.setdefault(tenant, asyncio.Semaphore(self._each))
        try:
            await semaphore.acquire()
            try:
                await self._threads.acquire()
                try:
                    answer = self._pool.submit(question, of())
                except BaseException:
                    self._threads.release()
                    raise
            except BaseException:
                semaphore.release()
                raise
        except BaseException:
            self._leave(tenant)
            raise
        loop = asyncio.get_running_loop()

        def give_back() -> None:
            self._threads.release()
            semaphore.release()
            self._leave(tenant)

        def end(_: Future[Any]) -> None:
            """Once the thread is free, possibly long after the last waiter has gone."""
            with suppress(RuntimeError):  # the server has ended
                loop.call_soon_threadsafe(give_back)

        answer.add_done_callback(end)
        return await asyncio.wrap_future(answer)

    def _leave(self, tenant: str) -> None:
        self._asked[tenant] -= 1
        if not self._asked[tenant]:
            del self._asked[tenant], self._of[tenant]

    def close(self) -> None:
        """Drops waiting requests; running ones finish."""
        self._pool.shutdown(wait=False, cancel_futures=True)
