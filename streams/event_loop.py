"""Runs a coroutine in a new event loop; Ctrl-C cancels it between two steps of the loop.

`asyncio.run` cancels in the signal handler, possibly in the middle of a step: a library that has
just checked that its future is not done then sets the result of a cancelled future, and the loop
writes a traceback.
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
    """Runs `main` and returns its result. The first Ctrl-C cancels it; a second one does not wait.
    Handlers of SIGINT that `main` installs, or that existed before, take precedence.

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
    """Whether SIGINT has Python's default handler, and this thread may replace it."""
    in_main_thread = threading.current_thread() is threading.main_thread()
    return in_main_thread and signal.getsignal(signal.SIGINT) is signal.default_int_handler
