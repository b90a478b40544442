"""Sends calls with httpx. scripts/generate makes `sync_sender.py` from this file."""

import asyncio
import logging
import os
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import Any, Self, TypeVar
from uuid import uuid4

import httpx

from turnfold_client.calls import Call, Page
from turnfold_client.errors import LocalServerError, ReplyError, StatusError
from turnfold_client.events import Blocks, SessionEvent
from turnfold_client.messages import AWAY, REFUSED, Messages, body, call
from turnfold_client.models import MessagesReply
from turnfold_client.retries import Attempts
from turnfold_client.spool import Entry, Spool, in_thread
from turnfold_client.tracing import sending
from turnfold_client.version import __version__

log = logging.getLogger(__name__)

AGAIN = 5.0
"""Seconds in which `add` does not try a server again that was away; `flush` does."""
PIECE = 90.0
"""Seconds without a byte after which an export is broken; the server gives up after 60."""
SILENCE = 45.0
"""Seconds without a byte after which a stream is broken; the server writes every 15."""

R = TypeVar("R")
P = TypeVar("P", bound=Page)


class AsyncSender:
    """A connection pool to one server: a context manager, or `aclose()` it.

    `token`: a key made by `turnfold admin keys add`. `tenant`: needed with a key of all tenants.
    `timeout`: seconds for each step of a call; longer than a write may wait. `retries`: further
    attempts after no answer, 429 or 503. `transport`: one of httpx, to reach the server otherwise.
    `spool`: a file in which requests of `add` wait while the server is away.
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
        spool: str | os.PathLike[str] | None = None,
    ) -> None:
        headers = {"User-Agent": f"turnfold-client/{__version__}"}
        if token is not None:
            headers["Authorization"] = f"Bearer {token}"
        if tenant is not None:
            headers["Turnfold-Tenant"] = tenant
        self._http = httpx.AsyncClient(
            base_url=url, headers=headers, timeout=timeout, transport=transport
        )
        self._timeout, self._retries, self._tenant = timeout, retries, tenant
        self._spool = None if spool is None else Spool(spool)
        self._away_until = 0.0

    @classmethod
    def local(
        cls,
        folder: str | os.PathLike[str],
        *,
        extractor: str | None = None,
        timeout: float = 35.0,
        retries: int = 4,
    ) -> Self:
        """A client of this machine's own server over a folder, which is created if missing.

        Programs of this account that use the same folder share one server: the first starts it as a
        separate process, and it ends with the last, even if they are killed. It is the `turnfold`
        of this Python, otherwise the one on PATH. `extractor`: how memory is found in turns:
        `rules`, `none`, or `llm` (rules at once, then a model; OPENAI_API_KEY is enough). Default:
        as the folder has it, `rules` in a new one. Raises LocalServerError, here or at a call, if
        the server cannot be started or the running one has another extractor.
        """
        if os.name != "posix":
            raise LocalServerError("a local server needs Linux or macOS")
        from turnfold_client.local_transport import AsyncLocalTransport

        transport = AsyncLocalTransport(Path(folder), extractor)
        return cls("http://local", timeout=timeout, retries=retries, transport=transport)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Closes the connections."""
        await self._http.aclose()

    async def add(
        self,
        messages: Messages,
        *,
        user_id: str,
        session_id: str | None = None,
        client_id: str | None = None,
        intent: str | None = None,
        topic: str | None = None,
        artifact: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        prefer: str | None = None,
        idempotency_key: str | None = None,
    ) -> MessagesReply | None:
        """Adds messages of a conversation, as OpenAI's APIs write them. Each call has a separate
        key, so that its retries count once, and the same words in another call count again. Returns
        None if the server is unreachable and the request waits in the spool."""
        fields = {
            "user_id": user_id,
            "session_id": session_id,
            "client_id": client_id,
            "intent": intent,
            "topic": topic,
            "artifact": artifact,
            "metadata": metadata,
        }
        content = body(messages, fields, is_timed=self._spool is not None)
        key = idempotency_key or uuid4().hex
        if self._spool is None:
            return await self._send(call(content, key, prefer))
        await in_thread(self._spool.append, Entry(key, content))
        if monotonic() < self._away_until:
            return None
        try:
            reply = await self._flush(self._spool, key)
            if reply is None:  # another task has sent it: this is a duplicate, and has its reply
                reply = await self._send(call(content, key, prefer))
            return reply
        except AWAY:
            self._away_until = monotonic() + AGAIN
            return None

    async def flush(self) -> None:
        """Sends the requests in the spool, the oldest first. Raises the error that stops it: the
        rest waits."""
        if self._spool is not None:
            self._away_until = 0.0
            await self._flush(self._spool)

    async def _flush(self, spool: Spool, own: str | None = None) -> MessagesReply | None:
        """Sends the requests; returns the reply to the request with the key `own`, if it was among
        them. Raises the error if that one is rejected."""
        found: MessagesReply | None = None
        refusal: StatusError | None = None
        while entries := await in_thread(spool.entries):
            done: list[str] = []
            try:
                for entry in entries:
                    try:
                        reply = await self._send(call(entry.body, entry.key))
                        found = reply if entry.key == own else found
                    except REFUSED as error:
                        if entry.key == own:
                            refusal = error
                        else:
                            await in_thread(spool.refuse, entry, str(error))
                            log.warning("refused, and put aside: %s", error)
                    done.append(entry.key)
            finally:
                await in_thread(spool.drop, done)
        if refusal is not None:
            raise refusal
        return found

    async def _send(self, call: Call[R]) -> R:
        attempts = Attempts(self._retries)
        with sending(call, self._http.base_url, self._tenant) as sent:
            request = self._http.build_request(**call.request())
            sent.carry(request.headers)
            while True:
                outcome: httpx.Response | httpx.TransportError
                try:
                    outcome = await self._http.send(request)
                except httpx.TransportError as error:
                    outcome = error
                wait = attempts.wait(call, outcome)
                if wait is None:
                    assert isinstance(outcome, httpx.Response)
                    return sent.replied(call.reply(outcome))
                await asyncio.sleep(wait)

    async def _lines(self, call: Call[bytes]) -> AsyncIterator[bytes]:
        """An export, line by line. Raises ReplyError where it breaks off: it is not whole then."""
        attempts, timeout = Attempts(self._retries), httpx.Timeout(self._timeout, read=PIECE)
        line = b""
        while True:
            try:
                async with self._http.stream(**call.request(), timeout=timeout) as response:
                    if response.status_code == 200:
                        rest = b""
                        async for piece in response.aiter_bytes():
                            *whole, rest = (rest + piece).split(b"\n")
                            for line in whole:
                                yield line + b"\n"
                        if not line.startswith(b'{"kind":"end",'):
                            raise ReplyError("the export broke off; what came is not whole")
                        return
                    await response.aread()
                    wait = attempts.wait(call, response)
                    if wait is None:
                        call.reply(response)
            except httpx.TransportError as error:
                if line:
                    raise ReplyError("the export broke off; what came is not whole") from error
                wait = attempts.wait(call, error)
            await asyncio.sleep(wait or 0.0)

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
