"""Sends requests to a folder's own server, wherever it answers at the moment."""

import asyncio
import logging
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Generic, TypeVar

import httpx

from turnfold_client.local import Address, LocalServer

MODEL = "llm"
P = TypeVar("P")


log = logging.getLogger(__name__)

READ_WITHIN = 30.0
"""Seconds in which a server's model reads a program's writes when the program ends."""


class LocalTransport(httpx.BaseTransport):
    """Starts the server at once. A request after its end starts another. When it is closed, the
    server's model, if it has one, first reads what this program has written."""

    def __init__(self, folder: Path, extractor: str | None) -> None:
        """Raises LocalServerError."""
        self._server = LocalServer(folder, extractor)
        self._wrote = False
        self._pool = _Pool(httpx.HTTPTransport)
        try:
            self._server.address()
        except BaseException:
            self._server.close()
            raise

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Raises LocalServerError where no server can be started, and what httpx raises."""
        at = self._server.known() or self._server.address()
        self._wrote |= request.method != "GET"
        return self._pool.mine().handle_request(_to(at, request))

    def close(self) -> None:
        """Closes the connections and lets go of the server."""
        at = self._server.known()
        if self._wrote and at is not None and at.extractor == MODEL:
            with suppress(httpx.HTTPError):
                reply = self._pool.mine().handle_request(_extract(at))
                _warn(reply.status_code, reply.read())
        self._pool.mine().close()
        self._server.close()


class AsyncLocalTransport(httpx.AsyncBaseTransport):
    """Starts the server at the first request, outside the event loop."""

    def __init__(self, folder: Path, extractor: str | None) -> None:
        self._server = LocalServer(folder, extractor)
        self._wrote = False
        self._pool = _Pool(httpx.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises LocalServerError where no server can be started, and what httpx raises."""
        at = self._server.known()
        if at is None:
            at = await asyncio.to_thread(self._server.address)
        self._wrote |= request.method != "GET"
        return await self._pool.mine().handle_async_request(_to(at, request))

    async def aclose(self) -> None:
        """Closes the connections and lets go of the server."""
        at = self._server.known()
        if self._wrote and at is not None and at.extractor == MODEL:
            with suppress(httpx.HTTPError):
                reply = await self._pool.mine().handle_async_request(_extract(at))
                _warn(reply.status_code, await reply.aread())
        await self._pool.mine().aclose()
        await asyncio.to_thread(self._server.close)


def _extract(at: Address) -> httpx.Request:
    waits = {"Prefer": f"wait={READ_WITHIN:.0f}"}
    timeout = {"timeout": httpx.Timeout(READ_WITHIN + 10).as_dict()}
    return _to(at, httpx.Request("POST", f"{at.url}/v1/extract", headers=waits, extensions=timeout))


def _warn(status: int, content: bytes) -> None:
    if status != 200:
        log.warning(
            "the model has not read all turns; the folder's next server continues: %s",
            content.decode("utf-8", "replace")[:500],
        )


class _Pool(Generic[P]):
    """A pool of connections. A forked process has a separate pool: two processes on the same
    connections would get each other's replies."""

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._of: dict[int, P] = {}

    def mine(self) -> P:
        """This process's pool; pools of its parent processes are not touched."""
        pool = self._of.get(os.getpid())
        return pool or self._of.setdefault(os.getpid(), self._make())


def _to(at: Address, request: httpx.Request) -> httpx.Request:
    """The request, for the server that runs now."""
    url = httpx.URL(at.url)
    request.url = request.url.copy_with(netloc=url.netloc)
    request.headers["Host"] = url.netloc.decode("ascii")
    request.headers["Authorization"] = f"Bearer {at.key}"
    return request
