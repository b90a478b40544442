"""Queries of one kind, in separate threads: few at once, fair between tenants."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from streams.serving.backends.tenant_queue import TenantQueue

A = TypeVar("A")
T = TypeVar("T")


class QueryPool:
    """`waiting`: queued queries per tenant; more are rejected. Belongs to one event loop."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self.turns = TenantQueue(threads, waiting)

    async def ask(self, tenant: str, question: Callable[[A], T], of: Callable[[], A]) -> T:
        """The answer. `of`: returns the question's argument, on this loop, when its turn comes.
        After a cancellation the thread still finishes. Raises Busy."""
        give_back = await self.turns.take(tenant)
        try:
            answer = self._threads.submit(question, of())
        except BaseException:
            give_back()
            raise
        _when_ended(answer, give_back)
        return await asyncio.wrap_future(answer)

    def close(self) -> None:
        """Drops waiting queries; running ones finish."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _when_ended(answer: Future[Any], call: Callable[[], None]) -> None:
    """Calls on this loop once the thread is free, possibly long after the last waiter has gone."""
    loop = asyncio.get_running_loop()

    def told(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(call)

    answer.add_done_callback(told)
