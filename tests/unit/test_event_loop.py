"""How a command runs a coroutine (streams/event_loop.py), interrupted at the worst moments."""

import asyncio
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

from streams import event_loop


@pytest.fixture(autouse=True)
def python_s_own_handler() -> Any:
    """A shell that runs the tests in the background has SIGINT ignored."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def ctrl_c() -> None:
    signal.raise_signal(signal.SIGINT)


def loops() -> list[Callable[[], asyncio.AbstractEventLoop] | None]:
    import uvloop

    return [None, uvloop.new_event_loop]


async def returns() -> str:
    return "done"


async def fails() -> None:
    raise ZeroDivisionError


async def is_cancelled() -> None:
    raise asyncio.CancelledError


@pytest.mark.parametrize("factory", loops())
def test_it_returns_or_raises_what_the_coroutine_does(factory: Any) -> None:
    assert event_loop.run(returns(), factory) == "done"
    with pytest.raises(ZeroDivisionError):
        event_loop.run(fails(), factory)
    with pytest.raises(asyncio.CancelledError):
        event_loop.run(is_cancelled(), factory)


@pytest.mark.parametrize("factory", loops())
def test_ctrl_c_in_the_middle_of_a_step_leaves_the_step_whole(factory: Any) -> None:
    """As between the two lines of asyncio's callbacks: not done yet, so its result is set."""
    said: list[dict[str, Any]] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, about: said.append(about))
        answer: asyncio.Future[None] = loop.create_future()

        def step() -> None:
            if not answer.done():
                ctrl_c()
                answer.set_result(None)

        loop.call_soon(step)
        await answer
        await asyncio.sleep(60)

    with pytest.raises(KeyboardInterrupt):
        event_loop.run(main(), factory)
    assert said == []


@pytest.mark.parametrize("factory", loops())
def test_ctrl_c_wakes_a_loop_that_waits_and_what_is_open_is_closed(factory: Any) -> None:
    closed = []

    async def main() -> None:
        threading.Timer(0.2, ctrl_c_of_the_process).start()
        try:
            await asyncio.sleep(60)
        finally:
            await asyncio.sleep(0)
            closed.append(True)

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        event_loop.run(main(), factory)
    assert closed and time.monotonic() - began < 30


def ctrl_c_of_the_process() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@pytest.mark.parametrize("factory", loops())
def test_a_second_ctrl_c_does_not_wait_for_what_the_first_has_begun(factory: Any) -> None:
    async def main() -> None:
        try:
            await asyncio.sleep(60)
        finally:
            asyncio.get_running_loop().call_later(0.05, ctrl_c)
            await asyncio.sleep(60)

    async def begin() -> None:
        asyncio.get_running_loop().call_soon(ctrl_c)
        await main()

    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        event_loop.run(begin(), factory)
    assert time.monotonic() - began < 30


def test_a_second_ctrl_c_interrupts_what_blocks_the_loop() -> None:
    reached = []

    async def main() -> None:
        ctrl_c()
        ctrl_c()
        reached.append(True)

    with pytest.raises(KeyboardInterrupt):
        event_loop.run(main())
    assert not reached


def test_a_coroutine_that_takes_the_cancelling_as_its_end_has_its_say() -> None:
    async def main() -> str:
        asyncio.get_running_loop().call_soon(ctrl_c)
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            return "kept"
        return "never"

    assert event_loop.run(main()) == "kept"


@pytest.mark.parametrize("factory", loops())
def test_a_handler_that_the_coroutine_installs_has_the_word(factory: Any) -> None:
    async def main() -> str:
        loop, told = asyncio.get_running_loop(), asyncio.Event()
        loop.add_signal_handler(signal.SIGINT, told.set)
        loop.call_soon(ctrl_c)
        await told.wait()
        return "told"

    assert event_loop.run(main(), factory) == "told"


def test_a_handler_that_was_there_before_stays_and_so_does_ignoring() -> None:
    came: list[int] = []

    async def main() -> str:
        ctrl_c()
        await asyncio.sleep(0)
        return "done"

    def note(number: int, _: object) -> None:
        came.append(number)

    for handler in (note, signal.SIG_IGN):
        signal.signal(signal.SIGINT, handler)
        assert event_loop.run(main()) == "done"
        assert signal.getsignal(signal.SIGINT) is handler
    signal.signal(signal.SIGINT, signal.default_int_handler)
    assert came == [signal.SIGINT]


def test_a_thread_runs_one_too() -> None:
    found: list[str] = []
    thread = threading.Thread(target=lambda: found.append(event_loop.run(returns())))
    thread.start()
    thread.join()
    assert found == ["done"]
