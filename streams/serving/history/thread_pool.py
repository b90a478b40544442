"""Questions of one sort, in threads of their own: few at once, each within a time, and no tenant's
before those of the others."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from streams.serving.backends.tenant_queue import TenantQueue

A = TypeVar("A")
T = TypeVar("T")


class Lane:
    """`waiting`: questions of a tenant that wait for one of the `threads`; more are sent away. One
    event loop's own."""

    def __init__(self, name: str, threads: int, waiting: int) -> None:
        self._threads = ThreadPoolExecutor(threads, name)
        self.turns = TenantQueue(threads, waiting)

    async def ask(self, tenant: str, question: Callable[[A], T], of: Callable[[], A]) -> T:
        """The answer. `of`: what is asked, looked up on this loop when the question's turn comes.
        Who is cancelled leaves the thread to end. Raises Busy."""
        give_back = await self.turns.take(tenant)
        try:
            asked = self._threads.submit(question, of())
        except BaseException:
            give_back()
            raise
        _when_ended(asked, give_back)
        return await asyncio.wrap_future(asked)

    def close(self) -> None:
        """Questions that wait are dropped, those under way left to end."""
        self._threads.shutdown(wait=False, cancel_futures=True)


def _when_ended(asked: Future[Any], call: Callable[[], None]) -> None:
    """Calls on this loop once the thread is free, which may be long after nobody waits."""
    loop = asyncio.get_running_loop()

    def told(_: Future[Any]) -> None:
        with suppress(RuntimeError):  # the server has ended
            loop.call_soon_threadsafe(call)

    asked.add_done_callback(told)
