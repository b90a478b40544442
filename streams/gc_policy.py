"""Thresholds of Python's garbage collector, for processes with many objects and few cycles.

Records, rows and messages are trees of tuples: reference counts free them, and the collector
traverses them repeatedly without effect. The thresholds only influence time and memory.
"""

import atexit
import gc
from collections.abc import Iterator
from contextlib import contextmanager

WORKER = (500_000, 20, 50)
"""More objects than one batch has until its commit, none of them in a cycle. Python's default
thresholds take a third of the worker's CPU, a tenth of these an eighth (docs/benchmarks.md)."""
SERVER = (2_000, 10, 200)
"""Objects of requests are rarely in cycles. All requests wait for a collection, so each covers few
objects: 2,000 take under a millisecond, 20,000 about 2 ms (10,000 and 200,000 took 2 to 5 ms and
17 ms with Python's growth)."""

START = 100_000
"""More objects than a command's modules create. With Python's thresholds the collector runs about a
hundred times while they are loaded: a tenth of the CPU of a start."""


@contextmanager
def paused() -> Iterator[None]:
    """Disables automatic collection in the block (`resume` enables it)."""
    was_on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_on:
            gc.enable()


def resume() -> None:
    """Enables collection inside `paused`, for a process that also serves and creates cycles."""
    gc.enable()


def set_for_start() -> None:
    """Threshold while a process starts, until `set_for_worker` or `set_for_server`."""
    gc.set_threshold(START, *gc.get_threshold()[1:])


def set_for_worker() -> None:
    """Thresholds of a worker. Loaded modules are excluded from collection."""
    _freeze()
    gc.set_threshold(*WORKER)


def set_for_server() -> None:
    """Thresholds of a server. Loaded modules are excluded, which would cost each full collection
    about 40 ms."""
    gc.collect()
    _freeze()
    gc.set_threshold(*SERVER)


def _freeze() -> None:
    """Freezes objects until the process exits: if modules were still frozen then, DuckDB would
    report forty lines of leaks on stderr."""
    gc.freeze()
    atexit.register(gc.unfreeze)
