"""Sends calls with httpx. Made of `async_sender.py` by scripts/generate."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Self, TypeVar

import httpx

from streams.client.asking import Ask, Attempts, Page
from streams.client.events import Blocks, SessionEvent

SILENCE = 45.0
"""Seconds: an event stream's server says something every 15."""

R = TypeVar("R")
P = TypeVar("P", bound=Page)


class Sender:
    """A connection pool to one server: a context manager, or `close()` it.

    `token`: a key of `turnfold keys`; `tenant`: for a key of all tenants, the one that is meant.
    `timeout`: seconds for each step of a call; more than a write may wait. `retries`: further
    attempts where nothing answers, or the server says 429 or 503 (it also says when).
    `transport`: httpx's, for other ways to reach the server.
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
        headers = {"User-Agent": "turnfold-client"}
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
        """Ends the connections."""
        self._http.close()

    def _send(self, ask: Ask[R]) -> R:
        attempts = Attempts(self._retries)
        request = self._http.build_request(**ask.sent())
        while True:
            outcome: httpx.Response | httpx.TransportError
            try:
                outcome = self._http.send(request)
            except httpx.TransportError as error:
                outcome = error
            wait = attempts.wait(ask, outcome)
            if wait is None:
                assert isinstance(outcome, httpx.Response)
                return ask.reply(outcome)
            time.sleep(wait)

    def _pages(
        self, ask: Callable[[str | None], Ask[P]], items: Callable[[P], list[R]]
    ) -> Iterator[R]:
        """What all pages list."""
        page = self._send(ask(None))
        for item in items(page):
            yield item
        while page.next is not None:
            page = self._send(ask(page.next))
            for item in items(page):
                yield item

    def _stream(self, ask: Ask[SessionEvent]) -> Iterator[SessionEvent]:
        """Comes back where the stream breaks off, and goes on from the newest event."""
        blocks = Blocks(ask.headers["Last-Event-ID"])
        attempts = Attempts(self._retries)
        timeout = httpx.Timeout(self._timeout, read=SILENCE)
        while not blocks.gone:
            wait: float | None = None
            again = replace(ask, headers={"Last-Event-ID": blocks.last_id}).sent()
            try:
                with self._http.stream(**again, timeout=timeout) as response:
                    if response.status_code in ask.gives:
                        blocks.begin()
                        for text in response.iter_text():
                            attempts, wait = Attempts(self._retries), blocks.retry
                            yield from blocks.feed(text)
                    elif (wait := attempts.wait(ask, response)) is None:
                        response.read()
                        ask.reply(response)
            except httpx.TransportError as error:
                wait = attempts.wait(ask, error)
            time.sleep(wait or blocks.retry)
