"""Request bodies are received completely and decompressed before the application runs (pure ASGI).

A client that sends slowly, too much, or a decompression bomb costs bounded time and memory, blocks
no handler, and gets the same errors at every endpoint.
"""

import asyncio
import zlib
from codecs import BOM_UTF8 as BYTE_ORDER_MARK
from collections import Counter
from collections.abc import Callable, Iterator
from contextvars import ContextVar

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from streams.serving.http.auth import BODY_BYTES
from streams.serving.http.keys import Caller
from streams.serving.http.refusal import Refusal

PIECE = 256_000
"""Bytes that are unpacked before others have a turn."""
UNPACKED, RATIO = 1_000_000, 32
"""Maximum decompressed size of a gzip body: so many bytes, and so many times the sent bytes. Turns
are compressed to a tenth; a body compressed to a thousandth would be free for its sender."""
UNCHARGED = frozenset({429, 500, 503, 507})
"""Statuses of requests that the client repeats: their bodies cost no quota."""
SHARES = 4
"""Of the bytes of all bodies in progress, the keys of one tenant may have one part in so many."""
AGAIN = (b"retry-after", b"1")
CLOSE = (b"connection", b"close")
MEMBERS = 100
"""Maximum members of one gzip body: each has a cost, even if empty."""


class CountedBytes:
    """Bytes of a request's body that were charged with its records."""

    def __init__(self) -> None:
        self.total = 0


_counted: ContextVar[CountedBytes] = ContextVar("counted")


def count_bytes(size: int) -> None:
    """Excludes bytes of the current request's body from the charge at its end."""
    if (counted := _counted.get(None)) is not None:
        counted.total += size


class Bodies:
    """Limits of a body: `most` bytes decompressed, `seconds` until it is complete; `total` bytes of
    all bodies in progress. `charge` receives the tenant and the bytes of each body that were not
    counted with its records: rejected records, space, whole bodies. Raises `Refusal`, which the
    outer layer answers."""

    def __init__(
        self,
        app: ASGIApp,
        most: int,
        seconds: float,
        total: int,
        charge: Callable[[str, int], None] | None = None,
    ) -> None:
        self._app = app
        self._most = most
        self._seconds = seconds
        self._room = total
        self._share = total // SHARES
        self._held: Counter[str] = Counter()
        self._charge = charge

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        head = dict(scope["headers"])
        if b"transfer-encoding" not in head and head.get(b"content-length", b"0") == b"0":
            await self._app(scope, receive, send)
            return
        most = self._most_of(scope, head)
        if int(head.get(b"content-length", 0)) > most:
            raise _too_large(most)
        caller: Caller = scope["state"]["caller"]
        tenant = None if caller.key_id is None else caller.tenant
        body = _Body(_is_packed(head), most, tenant)
        counted = CountedBytes()
        _counted.set(counted)
        status = 0

        async def answer(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            await send(message)

        try:
            if await self._gather(body, receive):
                scope["headers"] = [
                    header for header in scope["headers"] if header[0] not in _UNPACKED
                ]
                plain = bytes(body.plain).removeprefix(BYTE_ORDER_MARK)
                await self._app(scope, _given(plain, receive), answer)
        except Refusal as refusal:
            status = refusal.status
            raise
        finally:
            uncounted = max(body.sent, len(body.plain)) - counted.total
            if self._charge is not None and uncounted > 0 and status not in UNCHARGED:
                self._charge(caller.tenant, uncounted)
            self._room += len(body.plain)
            if body.tenant is not None:
                self._held[body.tenant] -= len(body.plain)
                if not self._held[body.tenant]:
                    del self._held[body.tenant]

    async def _gather(self, body: "_Body", receive: Receive) -> bool:
        """Whether the body is complete; False: the client disconnected. Raises Refusal."""
        try:
            async with asyncio.timeout(self._seconds):
                while (message := await receive())["type"] == "http.request":
                    await self._take(body, message["body"])
                    if not message["more_body"]:
                        body.end()
                        return True
                return False
        except TimeoutError:
            detail = f"the body was not here after {self._seconds:g} s"
            raise Refusal(408, "Request timeout", detail, CLOSE) from None
        except zlib.error:
            detail = "Content-Encoding: the body is not gzip, not all of it, or in too many parts"
            raise Refusal(400, "Broken body", detail) from None

    async def _take(self, body: "_Body", sent: bytes) -> None:
        for grown in body.feed(sent):
            self._room -= grown
            if body.tenant is not None:
                self._held[body.tenant] += grown
                if self._held[body.tenant] > self._share:
                    detail = "too many bodies of this tenant are under way; try again"
                    raise Refusal(429, "Busy", detail, AGAIN)
            if max(body.sent, len(body.plain)) > body.most:
                raise _too_large(body.most)
            if body.is_packed and len(body.plain) > UNPACKED + RATIO * body.sent:
                detail = (
                    f"a gzip body unpacks to {UNPACKED} bytes and {RATIO} times what was sent, at "
                    "most; send it plain"
                )
                raise Refusal(413, "Body too large", detail)
            if self._room < 0:
                detail = "too many bodies are under way; try again"
                raise Refusal(503, "Busy", detail, AGAIN)
            if grown == PIECE:
                await asyncio.sleep(0)

    def _most_of(self, scope: Scope, head: dict[bytes, bytes]) -> int:
        """Maximum bytes of the body. Raises Refusal for requests without a key that send more than
        a short form: their bodies are not decompressed."""
        most: int | None = scope.get("state", {}).get(BODY_BYTES)
        if most is None:
            return self._most
        if most == 0:
            raise Refusal(413, "Body too large", "this path takes no body", CLOSE)
        if b"content-length" not in head or b"content-encoding" in head:
            detail = "this path takes a plain body with a Content-Length"
            raise Refusal(415, "Unsupported media type", detail, CLOSE)
        return min(most, self._most)


def _too_large(most: int) -> Refusal:
    detail = f"a body has at most {most} bytes, unpacked; send less at once"
    return Refusal(413, "Body too large", detail)


_UNPACKED = {b"content-encoding", b"content-length", b"transfer-encoding"}
"""Headers that do not describe the decompressed body."""


class _Body:
    """The received part of a body, decompressed."""

    def __init__(self, packed: bool, most: int, tenant: str | None) -> None:
        self.tenant = tenant
        self.is_packed = packed
        self.most = most
        self.plain = bytearray()
        self.sent = 0
        self._members = 1
        self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 16) if packed else None

    def feed(self, sent: bytes) -> Iterator[int]:
        """Adds data; yields the number of bytes gained by each piece. Raises zlib.error."""
        self.sent += len(sent)
        if self._unpack is None:
            self.plain += sent
            yield len(sent)
            return
        while sent:
            if self._unpack.eof:  # another gzip member follows, as `cat a.gz b.gz` makes
                self._members += 1
                if self._members > MEMBERS:
                    raise zlib.error
                self._unpack = zlib.decompressobj(zlib.MAX_WBITS | 16)
            piece = self._unpack.decompress(sent, PIECE)
            self.plain += piece
            sent = self._unpack.unconsumed_tail or self._unpack.unused_data
            yield len(piece)

    def end(self) -> None:
        """Raises zlib.error if the data is incomplete."""
        if self._unpack is not None and not self._unpack.eof:
            raise zlib.error


def _is_packed(head: dict[bytes, bytes]) -> bool:
    encoding = head.get(b"content-encoding", b"identity").strip().lower()
    if encoding not in (b"gzip", b"identity"):
        detail = "Content-Encoding: gzip, or none"
        accepted = (b"accept-encoding", b"gzip")
        raise Refusal(415, "Unsupported media type", detail, accepted)
    return encoding == b"gzip"


def _given(body: bytes, receive: Receive) -> Receive:
    """A `receive` that returns the whole body, then waits for the disconnect."""
    first: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def given() -> Message:
        return first.pop() if first else await receive()

    return given
