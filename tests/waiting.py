"""Waits until something holds. The bound is for what never comes: no test fails because a machine
is slow, and one that passes waits no longer than it has to."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

WITHIN = 120.0
"""Seconds."""


def until(
    ask: Callable[[], T],
    enough: Callable[[T], object] = bool,
    *,
    every: float = 0.02,
    told: Callable[[], object] = lambda: "",
) -> T:
    """What `ask` returns once that is enough; `told` says what went on, if it never is."""
    deadline = time.monotonic() + WITHIN
    while not enough(found := ask()):
        assert time.monotonic() < deadline, f"{found}\n{told()}"
        time.sleep(every)
    return found


async def eventually(ask: Callable[[], T], enough: Callable[[T], object] = bool) -> T:
    """`until` for a test whose own loop has to go on meanwhile."""
    deadline = time.monotonic() + WITHIN
    while not enough(found := ask()):
        assert time.monotonic() < deadline, found
        await asyncio.sleep(0.02)
    return found
