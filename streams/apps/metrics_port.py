"""A port for operators beside a process that has no HTTP of its own: worker, sink, extract.

Answers on the process's own event loop, so an answer is also a sign that the loop goes round.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager

from aiohttp import web

from streams.apps.listen_address import Address
from streams.apps.metric_samples import Sample
from streams.apps.metrics import CONTENT_TYPE, asked, exposition
from streams.errors import ConfigurationError
from streams.observing.readiness import Readiness
from streams.output import json_text

log = logging.getLogger(__name__)


@asynccontextmanager
async def served(
    address: str,
    samples: Callable[[], Iterable[Sample]],
    readiness: Callable[[], Readiness],
) -> AsyncIterator[None]:
    """While this lasts /metrics, /healthz and /readyz are answered at `address`, [HOST:]PORT.

    Raises:
        ConfigurationError: it is none, somebody else listens there, or this machine has no such
            address.
    """
    at = Address.parse(address)
    app = web.Application()
    app.router.add_get("/metrics", _metrics)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", lambda _: _readyz(readiness()))
    runner = web.AppRunner(app, access_log=None)
    with asked(samples):
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, *at).start()
                log.info("metrics and readiness at http://%s:%d", at.host, runner.addresses[0][1])
            except OSError as error:
                raise ConfigurationError(
                    f"metrics port: {at.host}:{at.port}: {error.strerror}; name a free one"
                ) from None
            yield
        finally:
            await runner.cleanup()


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(body=exposition(), headers={"Content-Type": CONTENT_TYPE})


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text='{"healthy": true}', content_type="application/json")


async def _readyz(now: Readiness) -> web.Response:
    """503 with how far it is, until it is ready."""
    headers = {} if now.ready else {"Retry-After": "1"}
    body = json_text(now.reply())
    status = 200 if now.ready else 503
    return web.Response(text=body, status=status, headers=headers, content_type="application/json")
