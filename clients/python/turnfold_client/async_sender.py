"""Sends calls with httpx. scripts/generate makes `sync_sender.py` from this file."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import replace
from typing import Self, TypeVar

import httpx

from turnfold_client.calls import Attempts, Call, Page
from turnfold_client.events import Blocks, SessionEvent
from turnfold_client.version import __version__

SILENCE = 45.0
"""Seconds without a byte after which a stream is broken; the server writes every 15."""

R = TypeVar("R")
P = TypeVar("P", bound=Page)


class AsyncSender:
    """A connection pool to one server: a context manager, or `aclose()` it.

    `token`: a key made by `turnfold keys add`. `tenant`: needed with a key of all tenants.
    `timeout`: seconds for each step of a call; longer than a write may wait. `retries`: further
    attempts after no answer, 429 or 503. `transport`: one of httpx, to reach the server otherwise.
    """

    def __init__(
        self,
        url: str,
        token: str | None = None,
        *,
        tenant: str | None = None,
        timeout: float = 35.0,
        retries: int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": f"turnfold-client/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if tenant is not None:
            headers["Turnfold-Tenant"] = tenant
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )
        self._timeout, self._retries = timeout, retries

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def _send(self, call: Call[R]) -> R:
        attempts = Attempts(self._retries)
        request = self._http.build_request(**call.request())
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = await self._http.send(request)
            except httpx.TransportError as error:
                outcome = error
            wait = attempts.wait(call, outcome)
            if wait is None:
                assert isinstance(outcome, httpx.Response)
                return call.reply(outcome)
            await asyncio.sleep(wait)

    async def _pages(
        self, call: Callable[[str | None], Call[P]], items: Callable[[P], list[R]]
    ) -> AsyncIterator[R]:
        """The items of all pages."""
        page = await self._send(call(None))
        for item in items(page):
            yield item
        while page.next is not None:
            page = await self._send(call(page.next))
            for item in items(page):
                yield item

    async def _stream(self, call: Call[SessionEvent]) -> AsyncIterator[SessionEvent]:
        """Connects again where the stream breaks, and continues after the newest event."""
        blocks = Blocks(call.headers["Last-Event-ID"])
        attempts = Attempts(self._retries)
        timeout = httpx.Timeout(self._timeout, read=SILENCE)
        while not blocks.gone:
            wait: float | None = None
            request = replace(call, headers={"Last-Event-ID": blocks.last_id}).request()
            try:
                async with self._http.stream(**request, timeout=timeout) as response:
                    if response.status_code in call.gives:
                        blocks.begin()
                        async for text in response.aiter_text():
                            attempts, wait = Attempts(self._retries), blocks.retry
                            for event in blocks.feed(text):
                                yield event
                    elif (wait := attempts.wait(call, response)) is None:
                        await response.aread()
                        call.reply(response)
            except httpx.TransportError as error:
                wait = attempts.wait(call, error)
            await asyncio.sleep(wait or blocks.retry)
