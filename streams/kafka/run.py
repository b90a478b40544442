"""Runs an app until SIGTERM or SIGINT, or until it crashes."""

import asyncio
import logging
import os
import signal

from streams.errors import TurnstoneError
from streams.kafka.app import App

log = logging.getLogger(__name__)

STOP_WITHIN = 30.0


def run(app: App) -> int:
    """The process's exit code: 0 stopped, else the error's. Opens no port, as Faust's own worker
    would."""
    return asyncio.run(_run(app))


async def _run(app: App) -> int:
    loop, stop = asyncio.get_running_loop(), asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    app.in_worker = True
    started = loop.create_task(app.start())
    stopped = loop.create_task(stop.wait())
    crashed = loop.create_task(_crashed(app))
    await asyncio.wait({stopped, crashed}, return_when=asyncio.FIRST_COMPLETED)
    code = 0
    if crashed.done():
        reason = app.crash_reason
        log.critical("the worker ends: %s", reason or repr(reason))
        code = reason.exit_code if isinstance(reason, TurnstoneError) else 1
    try:
        await asyncio.wait_for(app.stop(), STOP_WITHIN)
    except TimeoutError:
        log.error("not stopped after %.0f s: leaves as it is", STOP_WITHIN)
        os._exit(1)
    for task in (started, stopped, crashed):
        task.cancel()
    await asyncio.gather(started, stopped, crashed, return_exceptions=True)
    return code


async def _crashed(app: App) -> None:
    await app._crashed.wait()
