"""Who is next among tenants: the one that has had least. A tenant's many posts keep those of others
waiting for one of them at most."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")


class TenantTurns(Generic[T]):
    """Waiting items by tenant, for threads. Of each tenant first in, first out; between tenants
    what they have had counts, by the `cost` of each item (start-time fair queueing)."""

    def __init__(self, cost: Callable[[T], float]) -> None:
        self._cost = cost
        self._waiting: dict[str, deque[T]] = {}
        self._turns: list[tuple[float, int, str]] = []
        self._order = count()
        self._now = 0.0
        self._changed = Condition()
        self._is_ended = False

    def put(self, tenant: str, item: T) -> None:
        """Behind the tenant's others."""
        with self._changed:
            waiting = self._waiting.get(tenant)
            if waiting is None:
                waiting = self._waiting[tenant] = deque()
                self._enter(tenant, self._now)
            waiting.append(item)
            self._changed.notify()

    def end(self) -> None:
        """No more will be put."""
        with self._changed:
            self._is_ended = True
            self._changed.notify()

    def withdraw(self, tenant: str, item: T) -> bool:
        """Whether the item was still waiting; it waits no longer."""
        with self._changed:
            waiting = self._waiting.get(tenant, ())
            if item not in waiting:
                return False
            assert isinstance(waiting, deque)
            waiting.remove(item)
            return True

    def take(self, wait: bool) -> T | None:
        """The next item. None: there is none now; with `wait`: there will be none any more."""
        with self._changed:
            while True:
                while self._turns:
                    item = self._next()
                    if item is not None:
                        return item
                if self._is_ended or not wait:
                    return None
                self._changed.wait()

    def _next(self) -> T | None:
        self._now, _, tenant = heappop(self._turns)
        waiting = self._waiting[tenant]
        item = waiting.popleft() if waiting else None  # all may have been withdrawn
        if waiting and item is not None:
            self._enter(tenant, self._now + self._cost(item))
        else:
            del self._waiting[tenant]
        return item

    def _enter(self, tenant: str, had: float) -> None:
        heappush(self._turns, (had, next(self._order), tenant))
