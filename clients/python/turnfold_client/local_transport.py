"""Sends requests to a folder's own server, wherever it answers at the moment."""

import asyncio
import os
from collections.abc import Callable
from pathlib import Path
from typing import Generic, TypeVar

import httpx

from turnfold_client.local import Address, LocalServer

P = TypeVar("P")


class LocalTransport(httpx.BaseTransport):
    """Starts the server at once. A request after its end starts another."""

    def __init__(self, folder: Path, extractor: str | None) -> None:
        """Raises LocalServerError."""
        self._server = LocalServer(folder, extractor)
        self._pool = _Pool(httpx.HTTPTransport)
        try:
            self._server.address()
        except BaseException:
            self._server.close()
            raise

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Raises LocalServerError where no server can be started, and what httpx raises."""
        at = self._server.known() or self._server.address()
        return self._pool.mine().handle_request(_to(at, request))

    def close(self) -> None:
        """Closes the connections and lets go of the server."""
        self._pool.mine().close()
        self._server.close()


class AsyncLocalTransport(httpx.AsyncBaseTransport):
    """Starts the server at the first request, beside the event loop."""

    def __init__(self, folder: Path, extractor: str | None) -> None:
        self._server = LocalServer(folder, extractor)
        self._pool = _Pool(httpx.AsyncHTTPTransport)

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        """Raises LocalServerError where no server can be started, and what httpx raises."""
        at = self._server.known()
        if at is None:
            at = await asyncio.to_thread(self._server.address)
        return await self._pool.mine().handle_async_request(_to(at, request))

    async def aclose(self) -> None:
        """Closes the connections and lets go of the server."""
        await self._pool.mine().aclose()
        await asyncio.to_thread(self._server.close)


class _Pool(Generic[P]):
    """A pool of connections. A process that was forked has one of its own: two that send over the
    same connections would get each other's replies."""

    def __init__(self, make: Callable[[], P]) -> None:
        self._make = make
        self._of: dict[int, P] = {}

    def mine(self) -> P:
        """This process's; those of the processes before it are left alone."""
        pool = self._of.get(os.getpid())
        return pool or self._of.setdefault(os.getpid(), self._make())


def _to(at: Address, request: httpx.Request) -> httpx.Request:
    """The request, for the server that runs now."""
    url = httpx.URL(at.url)
    request.url = request.url.copy_with(netloc=url.netloc)
    request.headers["Host"] = url.netloc.decode("ascii")
    request.headers["Authorization"] = f"Bearer {at.key}"
    return request
