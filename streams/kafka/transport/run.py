"""Runs an app until SIGTERM or SIGINT, or until it crashes."""

import asyncio
import logging
import os
import signal
from contextlib import AbstractAsyncContextManager, nullcontext

from streams import event_loop, gc_policy
from streams.errors import TurnfoldError
from streams.kafka.transport.app import App

log = logging.getLogger(__name__)

STOP_WITHIN = 30.0


def run(app: App, beside: AbstractAsyncContextManager[object] | None = None) -> int:
    """Runs an app and returns the process's exit code: 0 stopped, otherwise the error's. Opens no
    port, unlike Faust's worker. SIGTERM stops it; SIGINT also removes a worker with static
    membership from its group. `beside`: context that lasts as long as the app."""
    gc_policy.set_for_worker()
    return event_loop.run(_run(app, beside or nullcontext()))


async def _run(app: App, beside: AbstractAsyncContextManager[object]) -> int:
    async with beside:
        return await _until_stopped(app)


async def _until_stopped(app: App) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, _leave, app, stop)
    app.in_worker = True
    started = loop.create_task(_start(app))
    stopped = loop.create_task(stop.wait())
    crashed = loop.create_task(_crashed(app))
    await asyncio.wait({stopped, crashed}, return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if crashed.done():
        reason = app.crash_reason
        log.critical("the worker stops: %s", reason or repr(reason))
        code = reason.exit_code if isinstance(reason, TurnfoldError) else 1
    try:
        await asyncio.wait_for(app.stop(), STOP_WITHIN)
    except TimeoutError:
        log.error("not stopped after %.0f s: exiting", STOP_WITHIN)
        os._exit(1)
    for task in (started, stopped, crashed):
        task.cancel()
    await asyncio.gather(started, stopped, crashed, return_exceptions=True)
    return code


def _leave(app: App, stop: asyncio.Event) -> None:
    app.leaves = True
    stop.set()


async def _start(app: App) -> None:
    """Starts the app; Faust crashes for errors of its services, not for errors during its start."""
    try:
        await app.start()
    except Exception as error:
        await app.crash(error)


async def _crashed(app: App) -> None:
    await app._crashed.wait()
