"""Sends calls with httpx. Made by scripts/generate from `async_sender.py`."""

import time
from collections.abc import Callable, Iterator
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


class Sender:
    """A connection pool to one server: a context manager, or `close()` it.

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
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        headers = {"User-Agent": f"turnfold-client/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if tenant is not None:
            headers["Turnfold-Tenant"] = tenant
        self._http = httpx.Client(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )
        self._timeout, self._retries = timeout, retries

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections."""
        self._http.close()

    def _send(self, call: Call[R]) -> R:
        attempts = Attempts(self._retries)
        request = self._http.build_request(**call.request())
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(request)
            except httpx.TransportError as error:
                outcome = error
            wait = attempts.wait(call, outcome)
            if wait is None:
                assert isinstance(outcome, httpx.Response)
                return call.reply(outcome)
            time.sleep(wait)

    def _pages(
        self, call: Callable[[str | None], Call[P]], items: Callable[[P], list[R]]
    ) -> Iterator[R]:
        """The items of all pages."""
        page = self._send(call(None))
        for item in items(page):
            yield item
        while page.next is not None:
            page = self._send(call(page.next))
            for item in items(page):
                yield item

    def _stream(self, call: Call[SessionEvent]) -> Iterator[SessionEvent]:
        """Connects again where the stream breaks, and continues after the newest event."""
        blocks = Blocks(call.headers["Last-Event-ID"])
        attempts = Attempts(self._retries)
        timeout = httpx.Timeout(self._timeout, read=SILENCE)
        while not blocks.gone:
            wait: float | None = None
            request = replace(call, headers={"Last-Event-ID": blocks.last_id}).request()
            try:
                with self._http.stream(**request, timeout=timeout) as response:
                    if response.status_code in call.gives:
                        blocks.begin()
                        for text in response.iter_text():
                            attempts, wait = Attempts(self._retries), blocks.retry
                            yield from blocks.feed(text)
                    elif (wait := attempts.wait(call, response)) is None:
                        response.read()
                        call.reply(response)
            except httpx.TransportError as error:
                wait = attempts.wait(call, error)
            time.sleep(wait or blocks.retry)
