"""Runs a coroutine in an event loop of its own; Ctrl-C cancels it between two steps of the loop.

`asyncio.run` cancels in the signal handler, so possibly in the middle of a step: a library that has
just found that its future is not done then sets the result of a cancelled one, and the loop writes
a traceback.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


def run(
    main: Coroutine[Any, Any, T],
    loop_factory: Callable[[], asyncio.AbstractEventLoop] | None = None,
) -> T:
    """What `main` returns. The first Ctrl-C cancels it; a second one does not wait for that. While
    it runs, a handler of SIGINT that it installs is obeyed, and so is one that was there before.

    Raises:
        KeyboardInterrupt: `main` was cancelled by Ctrl-C, or did not end before the second.
    """
    is_free = _sigint_is_free()
    try:
        with asyncio.Runner(loop_factory=loop_factory) as runner:
            return _run_in(runner.get_loop(), main, is_free)
    finally:
        if is_free:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def _run_in(loop: asyncio.AbstractEventLoop, main: Coroutine[Any, Any, T], is_free: bool) -> T:
    task = loop.create_task(main)
    times = 0

    def interrupt(*_: object) -> None:
        nonlocal times
        times += 1
        if times > 1 or task.done():
            raise KeyboardInterrupt
        loop.call_soon_threadsafe(task.cancel)

    if is_free:
        signal.signal(signal.SIGINT, interrupt)
    try:
        return loop.run_until_complete(task)
    except asyncio.CancelledError:
        if times and task.uncancel() == 0:
            raise KeyboardInterrupt from None
        raise


def _sigint_is_free() -> bool:
    """Whether SIGINT is handled as Python does by itself, and this thread may change that."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
