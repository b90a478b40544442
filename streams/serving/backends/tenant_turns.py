"""Chooses the next tenant: the one that has used the least processing time."""

import time
from collections import deque
from collections.abc import Callable, Sequence
from heapq import heappop, heappush
from itertools import count
from threading import Condition
from typing import Generic, TypeVar

T = TypeVar("T")

UNKNOWN = 0.002
"""Seconds that a record of a tenant takes, until some were measured."""
LATELY = 64
"""Records after which what those before them took is forgotten, where they take longer."""
TRUST = 4
"""Times as many records, where they take less: a tenant may turn to expensive ones at once."""
ALONE = 60.0
"""Seconds after which a tenant is alone, if no other has put anything."""
MOST_ACCOUNTS = 10_000
"""Maximum accounts kept for tenants without waiting items."""


class Account(Generic[T]):
    """A tenant's waiting items, total seconds, and recent seconds per record."""

    __slots__ = ("each", "had", "is_queued", "waiting")

    def __init__(self) -> None:
        self.waiting: deque[T] = deque()
        self.had = 0.0
        self.each = UNKNOWN
        self.is_queued = False


class TenantTurns(Generic[T]):
    """Waiting items by tenant, for threads. First in, first out per tenant; between tenants by
    processing time (start-time fair queueing). A tenant that was idle starts at the current
    minimum."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._accounts: dict[str, Account[T]] = {}
        self._turns: list[tuple[float, int, str]] = []
        self._order = count()
        self._now = 0.0
        self._changed = Condition()
        self._is_ended = False
        self._newest = ""
        self._alone_since = float("-inf")

    def put(self, tenant: str, items: Sequence[T]) -> None:
        with self._changed:
            account = self._account(tenant)
            account.waiting.extend(items)
            if tenant != self._newest:
                self._newest, self._alone_since = tenant, self._clock()
            self._queue(tenant, account)
            self._changed.notify()

    def end(self) -> None:
        with self._changed:
            self._is_ended = True
            self._changed.notify()

    def withdraw(self, tenant: str, items: Sequence[T]) -> bool:
        """Whether the items, which follow one another, were all still waiting; they are then
        removed."""
        with self._changed:
            waiting = self._account(tenant).waiting
            if items[0] not in waiting:
                return False
            for item in items:
                waiting.remove(item)
            return True

    def take(self, wait: bool) -> T | None:
        """The next item, or None if the queue is empty; with `wait`, None if the queue has
        ended."""
        with self._changed:
            while True:
                while self._turns:
                    item = self._next()
                    if item is not None:
                        return item
                if self._is_ended or not wait:
                    return None
                self._changed.wait()

    def charge(self, tenant: str, records: int, seconds: float) -> None:
        with self._changed:
            account = self._account(tenant)
            account.had += seconds
            each, weight = seconds / records, min(records / LATELY, 1.0)
            account.each += (each - account.each) * (
                weight if each > account.each else weight / TRUST
            )

    def seconds_of(self, tenant: str) -> float:
        """Recent processing seconds per record of the tenant."""
        with self._changed:
            return self._account(tenant).each

    @property
    def is_alone(self) -> bool:
        """Whether only one tenant has posted for a while."""
        return self._clock() - self._alone_since > ALONE

    def _next(self) -> T | None:
        had, _, tenant = heappop(self._turns)
        account = self._accounts[tenant]
        account.is_queued = False
        if account.had > had and account.waiting:  # charged since
            self._queue(tenant, account)
            return None
        item = account.waiting.popleft() if account.waiting else None  # all may be withdrawn
        if item is not None:
            self._now = had
        if account.waiting:
            self._queue(tenant, account)
        return item

    def _queue(self, tenant: str, account: Account[T]) -> None:
        if not account.is_queued:
            account.is_queued = True
            account.had = max(account.had, self._now)
            heappush(self._turns, (account.had, next(self._order), tenant))

    def _account(self, tenant: str) -> Account[T]:
        account = self._accounts.get(tenant)
        if account is None:
            if len(self._accounts) >= MOST_ACCOUNTS:
                self._accounts = {
                    name: waiting_account for name, waiting_account in self._accounts.items()
                    if waiting_account.is_queued or waiting_account.had > self._now
                }  # fmt: skip
            account = self._accounts[tenant] = Account()
        return account
