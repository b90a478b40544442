"""Port of metrics and health for processes without HTTP: worker, sink, extract.

Runs on the process's event loop, so a reply also shows that the loop is responsive.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable
from contextlib import asynccontextmanager
from typing import NamedTuple

from aiohttp import web

from streams.apps.metric_samples import Sample
from streams.apps.metrics_registry import CONTENT_TYPE, collected, exposition
from streams.errors import ConfigurationError
from streams.observability.readiness import Readiness
from streams.output import json_text

LOOPBACK = "127.0.0.1"


log = logging.getLogger(__name__)


class Address(NamedTuple):
    """Host and port to listen on."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str) -> "Address":
        """Parses `[HOST:]PORT`; the default host is loopback. Port 0: any free port.

        Raises:
            ConfigurationError: another form.
        """
        host, _, port = text.rpartition(":")
        if not port.isdigit() or int(port) > 65535:
            raise ConfigurationError(f"metrics port: {text!r} is not [HOST:]PORT; try 9100")
        return cls(host.strip("[]") or LOOPBACK, int(port))


@asynccontextmanager
async def served(
    address: str,
    samples: Callable[[], Iterable[Sample]],
    readiness: Callable[[], Readiness],
) -> AsyncIterator[None]:
    """Serves /metrics, /healthz and /readyz at `address`, [HOST:]PORT, within the block.

    Raises:
        ConfigurationError: the address is invalid, in use, or not of this machine.
    """
    listen = Address.parse(address)
    app = web.Application()
    app.router.add_get("/metrics", _metrics)
    app.router.add_get("/healthz", _healthz)
    app.router.add_get("/readyz", lambda _: _readyz(readiness()))
    runner = web.AppRunner(app, access_log=None)
    with collected(samples):
        await runner.setup()
        try:
            try:
                await web.TCPSite(runner, *listen).start()
                log.info(
                    "metrics and readiness at http://%s:%d", listen.host, runner.addresses[0][1]
                )
            except OSError as error:
                raise ConfigurationError(
                    f"metrics port: {listen.host}:{listen.port}: {error.strerror}; name a free one"
                ) from None
            yield
        finally:
            await runner.cleanup()


async def _metrics(_: web.Request) -> web.Response:
    return web.Response(body=exposition(), headers={"Content-Type": CONTENT_TYPE})


async def _healthz(_: web.Request) -> web.Response:
    return web.Response(text='{"healthy": true}', content_type="application/json")


async def _readyz(now: Readiness) -> web.Response:
    """200 when ready, otherwise 503 with the progress."""
    headers = {} if now.ready else {"Retry-After": "1"}
    body = json_text(now.reply())
    status = 200 if now.ready else 503
    return web.Response(text=body, status=status, headers=headers, content_type="application/json")
