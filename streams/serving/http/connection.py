"""One connection, with bounds that uvicorn's C parser does not set: size and number of a request's
headers, the time until they arrive (silent connections included), and the time a client takes to
read a reply."""

import asyncio
import resource
from collections.abc import Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from uvicorn._types import ASGI3Application
from uvicorn.protocols.http.httptools_impl import (
    STATUS_LINE,
    HttpToolsProtocol,
    RequestResponseCycle,
)

from streams.serving.http.auth import NO_STORE, SECURITY_HEADERS
from streams.serving.http.refusal import problem

HEAD_BYTES = 32_768
"""Maximum bytes of a request's line and headers."""
HEADERS = 100
HEAD_SECONDS = 10.0
"""Seconds until they have arrived."""
REST_BYTES, REST_SECONDS = 64_000_000, 30.0
"""Limits of reading and dropping the rest of a request that was rejected early: most clients read
the reply after sending all, and lose it if they send to a closed connection."""
READ_SECONDS = 30.0
"""Seconds until a client has read more of the reply."""
OPEN_FILES = 65_536

UVICORN: dict[str, Any] = {
    "ws": "none",
    "server_header": False,
    "proxy_headers": False,  # client addresses are not used
    "log_config": None,
    "backlog": 4096,
    "timeout_keep_alive": 75,  # seconds; longer than the usual balancer in front waits (60)
}
"""Settings of `uvicorn.Config` besides `http=Connection`."""


def raise_file_limit() -> None:
    """As many open connections as this process may have; the usual limit of 1,024 is soon full."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = OPEN_FILES if hard == resource.RLIM_INFINITY else min(hard, OPEN_FILES)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


class _Joining:
    """A transport for one reply: its head is sent with the first body chunk, or at the end of
    the event loop's turn. This saves one system call and one packet, a sixth of a short reply's
    cost."""

    def __init__(
        self,
        transport: asyncio.Transport,
        loop: asyncio.AbstractEventLoop,
        end: Callable[[], None],
    ) -> None:
        """`end` closes the connection."""
        self._transport = transport
        self._end = end
        self._loop = loop
        self._head: bytes | None = None
        self._has_begun = False  # the loop's handle would make a cycle of each reply
        self.is_closing = transport.is_closing

    def write(self, data: bytes) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._head = data
            self._loop.call_soon(self._flush)
        elif self._head is None:
            self._transport.write(data)
        else:
            self._head += data
            self._flush()

    def _flush(self) -> None:
        head, self._head = self._head, None
        if head is not None:
            self._transport.write(head)

    def close(self) -> None:
        self._flush()
        self._end()


class HttpConnection(HttpToolsProtocol):
    """For `uvicorn.Config(http=HttpConnection)`."""

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.access_log = False  # its paths contain ids; `Access` logs without them
        self._head = 0  # bytes of a head that is not all here, or of a body's rest
        self._in_head = False
        self._in_body = False
        self._is_ended = False  # last reply; further input is dropped
        self._framing = 0  # bytes of a body under way since the last that was the body's own
        self._late: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._expect_head()

    def connection_lost(self, exc: Exception | None) -> None:
        self._head_is_here()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._is_ended:
            self._head += len(data)
            if self._head > REST_BYTES:
                self._close()
            return
        self._framing += len(data)
        super().data_received(data)
        if self.transport.is_closing() or self._is_ended:
            return
        if not self._awaits_head():
            if self._framing > HEAD_BYTES:
                detail = f"trailers and chunk extensions have at most {HEAD_BYTES} bytes together"
                self._refuse(431, "Headers too large", detail)
            return
        self._head += len(data)
        if self._head > (HEAD_BYTES if self._in_head else REST_BYTES):
            self._refuse(431, "Headers too large", f"at most {HEAD_BYTES} bytes")
        else:
            self._expect_head()

    def on_message_begin(self) -> None:
        self._in_head = True
        self._head = 0
        super().on_message_begin()

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._in_head:  # trailers are ignored, as they arrive after all checks
            super().on_header(name, value)

    def on_body(self, body: bytes) -> None:
        self._framing = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        self._framing = 0
        self._in_body = False
        super().on_message_complete()
        if self.cycle.response_complete:  # that was the rest; now a head has its time
            self._head_is_here()
            self._expect_head()

    def on_headers_complete(self) -> None:
        if self._is_ended:  # after the rejected request
            return
        self._framing = 0
        self._in_body = True
        self._head_is_here()
        size = len(self.url) + sum(len(name) + len(value) for name, value in self.headers)
        if size > HEAD_BYTES or len(self.headers) > HEADERS:
            detail = f"at most {HEADERS} of {HEAD_BYTES} bytes together"
            self._refuse(431, "Headers too large", detail)
        else:
            super().on_headers_complete()
            self._in_head = False  # of a URL that cannot be read it has raised

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: ASGI3Application) -> None:
        end = partial(self._end_after, cycle)
        cycle.transport = _Joining(self.transport, self.loop, end)  # type: ignore[assignment]
        super()._start_asgi_task(cycle, app)

    def _end_after(self, cycle: RequestResponseCycle) -> None:
        if cycle is self.cycle and self._in_body:
            self._end()
        else:
            self.transport.close()

    def _end(self) -> None:
        """Sends no more, and drops input until the client closes, within bounds."""
        if self.transport.is_closing():
            return
        self._head_is_here()
        self._is_ended = True
        if self.cycle is not None:  # as if the client had gone: the error cannot be sent
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        if self.transport.can_write_eof():
            self.transport.write_eof()
        self.flow.resume_reading()
        self._late = self.loop.call_later(REST_SECONDS, self._close)

    def _close(self) -> None:
        self.transport.close()
        self._watch_reader()

    def send_400_response(self, msg: str) -> None:
        self._refuse(400, "Not HTTP", "the request could not be read")

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._watch_reader()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        if self.transport.is_closing():
            self._watch_reader()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._watch_reader()

    def _watch_reader(self) -> None:
        """Cuts off a client that has stopped reading; closing alone would wait for it."""
        if unread := self.transport.get_write_buffer_size():
            self.loop.call_later(READ_SECONDS, self._check_reader, unread)

    def _check_reader(self, before: int) -> None:
        if self.transport.get_write_buffer_size() < before:
            self._watch_reader()
        else:
            self.transport.abort()

    def _awaits_head(self) -> bool:
        return self._in_head or self.cycle is None or self.cycle.response_complete

    def _expect_head(self) -> None:
        if self._late is None:
            seconds = REST_SECONDS if self._in_body else HEAD_SECONDS
            self._late = self.loop.call_later(seconds, self._too_late)

    def _head_is_here(self) -> None:
        self._head = 0
        if self._late is not None:
            self._late.cancel()
            self._late = None

    def _too_late(self) -> None:
        self._refuse(408, "Request timeout", f"headers were not here after {HEAD_SECONDS:g} s")

    def _refuse(self, status: int, title: str, detail: str) -> None:
        """Answers if the client waits for an answer, and closes. The input may be blank lines, the
        rest of an unwanted body, or a pipelined request."""
        if self.transport.is_closing() or self._is_ended:
            return
        is_awaited = self._is_awaited()
        if is_awaited:
            self._write(status, title, detail)
        if is_awaited and status != HTTPStatus.REQUEST_TIMEOUT:
            self._end()
        else:
            self._close()

    def _is_awaited(self) -> bool:
        """Whether the client waits for an answer: to a head, or to a request with an unreadable
        body and no reply yet."""
        cycle = self.cycle
        if cycle is None or cycle.response_complete:
            return self._in_head
        return not (self._in_head or self.pipeline or cycle.response_started)

    def _write(self, status: int, title: str, detail: str) -> None:
        body = problem(status, title, detail)
        headers = [
            (b"content-type", b"application/problem+json"),
            (b"content-length", b"%d" % len(body)),
            (b"connection", b"close"),
            *SECURITY_HEADERS,
            NO_STORE,
        ]
        lines = b"".join(b"%s: %s\r\n" % header for header in headers)
        self.transport.write(STATUS_LINE[status] + lines + b"\r\n" + body)
