"""Bodies are parsed in threads: a long body delays no other request.

Tenants share the threads fairly: each gets all but one, so long bodies of one tenant delay others
by one body at most.
"""

from collections.abc import Callable
from typing import ParamSpec, TypeVar

from streams.serving.backends.tenant_threads import TenantThreads

THREADS = 2
"""More would not read faster, as one runs Python at a time, and the event loop would wait longer
for its turn."""
WAITING = 1_000
"""Bodies of a tenant that wait for a thread."""
SHORT = 16_384
"""Bytes that the event loop reads itself: at worst 20 ms, usually less than a thread's wake-up."""

P = ParamSpec("P")
R = TypeVar("R")


class BodyReaders:
    """The threads of one server that read bodies."""

    def __init__(self) -> None:
        self._threads = TenantThreads("read", THREADS, WAITING)

    async def read(
        self, tenant: str, size: int, reader: Callable[P, R], *args: P.args, **kwargs: P.kwargs
    ) -> R:
        """Returns or raises what `reader` does, called with the arguments. `size`: bytes to parse.
        Raises Busy."""
        if size <= SHORT:
            return reader(*args, **kwargs)
        return await self._threads.ask(tenant, lambda _: reader(*args, **kwargs), lambda: None)

    def close(self) -> None:
        """Starts no further reads. Running ones finish."""
        self._threads.close()
