"""Bodies are read beside the event loop: what one costs to be read delays no other request.

Tenants take turns: each has all threads but one at most, so that long bodies of one keep others'
waiting for a body at most.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import ParamSpec, TypeVar

from streams.serving.backends.tenant_queue import TenantQueue

THREADS = 2
"""More would not read faster, as one runs Python at a time, and the event loop would wait longer
for its turn."""
WAITING = 1_000
"""Bodies of a tenant that wait for a thread."""
SHORT = 16_384
"""Bytes that the event loop reads itself: at worst 20 ms, usually less than a thread's wake-up."""

P = ParamSpec("P")
R = TypeVar("R")


class Readers:
    """The threads of one server that read bodies."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, "read")
        self._queue = TenantQueue(THREADS, WAITING)

    async def read(
        self, tenant: str, size: int, read: Callable[P, R], *given: P.args, **named: P.kwargs
    ) -> R:
        """What `read` returns or raises, called with the rest. `size`: bytes of what it reads.
        Raises Busy."""
        if size <= SHORT:
            return read(*given, **named)
        give_back = await self._queue.take(tenant)
        try:
            done = self._threads.submit(read, *given, **named)
            return await asyncio.wrap_future(done)
        finally:
            give_back()

    def close(self) -> None:
        """Starts no more. What is being read is read to its end."""
        self._threads.shutdown(wait=False, cancel_futures=True)
