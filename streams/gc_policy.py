"""When Python's garbage collector looks, in the processes that hold much and make few cycles.

Records, rows and messages are trees of tuples: counting references frees them, and the collector
looks at all of them again and again to free nothing. The plain version is Python's own settings;
nothing that is read or written depends on them, only time and memory.
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

WORKER = (500_000, 20, 50)
"""More than lives of one batch until its commit, none of it in a cycle: the collector would look at
all of it again and again. At Python's own thresholds it takes a third of the worker's CPU, at a
tenth of these an eighth (docs/benchmarks.md)."""
SERVER = (2_000, 10, 200)
"""What requests leave is seldom in a cycle, and a collection among them finds next to nothing. All
requests wait for each, so it looks at little: 2,000 objects take under a millisecond, 20,000 some
2, which Python would let grow (10,000 and 200,000 took 2 to 5 and 17)."""

START = 100_000
"""More than the modules of a command make. At Python's own thresholds the collector looks at them
some hundred times while they are loaded, to free nothing: a tenth of the CPU of a start."""


@contextmanager
def paused() -> Iterator[None]:
    """No collection by itself, as far as nothing inside asks for it (`resume`, `gc.collect`)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def resume() -> None:
    """Inside `paused`, for a process that also serves and makes cycles."""
    gc.enable()


def set_for_start() -> None:
    """From the start of a process until one of the next two says what it is."""
    gc.set_threshold(START, *gc.get_threshold()[1:])


def set_for_worker() -> None:
    """For the process's life. What was loaded until now is never looked at again."""
    _freeze()
    gc.set_threshold(*WORKER)


def set_for_server() -> None:
    """For the process's life. What was loaded stays: each full collection would look at all of it,
    for some 40 ms."""
    gc.collect()
    _freeze()
    gc.set_threshold(*SERVER)


def _freeze() -> None:
    """Until the process ends. Then Python frees the modules with all that they hold: from one that
    is still frozen DuckDB writes forty lines of leaks to stderr, behind the last message."""
    gc.freeze()
    atexit.register(gc.unfreeze)
