"""HTTP requests at a steady rate over kept-alive connections, each with its latency.

A latency counts from when the request was due, so that a server which stalls does not hide it by
being asked less.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Iterator
from itertools import count
from typing import NamedTuple

import httptools

HOST = "127.0.0.1"


class Load(NamedTuple):
    """Latencies in seconds, sorted; how many replies had which status; requests a second."""

    latencies: list[float]
    statuses: Counter[int]
    rate: float


def get(path: str) -> bytes:
    """A GET of that path."""
    return f"GET {path} HTTP/1.1\r\nHost: {HOST}\r\n\r\n".encode()


def post(path: str, body: bytes, media_type: str = "application/json", *more: str) -> bytes:
    """A POST; `more` are header lines."""
    lines = (f"Host: {HOST}", f"Content-Type: {media_type}", f"Content-Length: {len(body)}", *more)
    return "\r\n".join((f"POST {path} HTTP/1.1", *lines, "\r\n")).encode() + body


class _Connection(asyncio.Protocol):
    """One request at a time."""

    def __init__(self) -> None:
        self._parser = httptools.HttpResponseParser(self)
        self._answered: asyncio.Future[int] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if self._answered is not None and not self._answered.done():
            self._answered.set_exception(ConnectionError("closed before it answered"))

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_message_complete(self) -> None:
        assert self._answered is not None
        self._answered.set_result(self._parser.get_status_code())
        self._parser = httptools.HttpResponseParser(self)

    async def ask(self, request: bytes) -> int:
        """The reply's status."""
        self._answered = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        return await self._answered


async def load(
    port: int,
    requests: Iterator[bytes],
    *,
    connections: int,
    seconds: float = float("inf"),
    rate: float | None = None,
) -> Load:
    """Asks until there are no more requests or so many seconds are over, each connection one at a
    time; without a rate as fast as they are answered."""
    loop = asyncio.get_running_loop()
    opened = [
        (await loop.create_connection(_Connection, HOST, port))[1] for _ in range(connections)
    ]
    began, numbers = time.perf_counter(), count()
    latencies: list[float] = []
    statuses: Counter[int] = Counter()

    async def ask(connection: _Connection) -> None:
        for number in numbers:
            due = time.perf_counter() if rate is None else began + number / rate
            request = next(requests, None) if due - began < seconds else None
            if request is None:
                return
            await asyncio.sleep(max(0.0, due - time.perf_counter()))
            statuses[await connection.ask(request)] += 1
            latencies.append(time.perf_counter() - due)

    try:
        await asyncio.gather(*map(ask, opened))
    finally:
        for connection in opened:
            connection.transport.close()
    took = time.perf_counter() - began
    return Load(sorted(latencies), statuses, len(latencies) / took)
