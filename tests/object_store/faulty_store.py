"""A proxy in front of an S3 server that does what stores do on bad days.

    with FaultyStore(server.port, often(0.1)) as store:
        os.environ["AWS_ENDPOINT_URL_S3"] = f"http://127.0.0.1:{store.port}"

One connection to the server for each request. `counts` says what it really did.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from itertools import cycle

from streams.broker import ports
from streams.broker.config import HOST
from tests.threaded_server import ThreadedServer

Plan = Callable[[str, str, bytes], str]
"""(method, path, body) -> the fault of this request, or "none"."""

SLOW_DOWN = "503 Slow Down", "SlowDown"
INTERNAL = "500 Internal Server Error", "InternalError"
DENIED = "403 Forbidden", "AccessDenied"
TORN = "half an upload"
FAULTS = ("slow down", "500", "500 when done", TORN, "half an answer", "delay")
"""`500 when done`: the server did what it was asked, and the client hears that it failed."""
DELAY = 0.4
"""Seconds."""
CHUNK = 1 << 16


class Often:
    """A share of all requests has a fault, each of `faults` in turn. One that this request cannot
    have waits for the next that can. So each occurs, whatever the requests and their order."""

    def __init__(self, share: float, seed: int, faults: tuple[str, ...]) -> None:
        self._dice = random.Random(seed)
        self._widest = round(2 / share) - 1
        self._turn = cycle(self._dice.sample(faults, len(faults)))
        self._due: list[str] = []
        self._left = self._gap()

    def _gap(self) -> int:
        return self._dice.randint(1, self._widest)

    def __call__(self, method: str, path: str, body: bytes) -> str:
        self._left -= 1
        if not self._left:
            self._left = self._gap()
            self._due.append(next(self._turn))
        possible = (one for one in self._due if body or one != TORN)
        if (fault := next(possible, None)) is None:
            return "none"
        self._due.remove(fault)
        return fault


def often(share: float, seed: int = 1, faults: tuple[str, ...] = FAULTS) -> Plan:
    """A share of all requests has a fault, each of these in turn: within 2/`share` requests for
    each of them (and one that has a body), all have occurred."""
    return Often(share, seed, faults)


def read_only(method: str, path: str, body: bytes) -> str:
    """A key that may read only."""
    return "none" if method in ("GET", "HEAD") else "denied"


def healthy(method: str, path: str, body: bytes) -> str:
    """No fault."""
    return "none"


class FaultyStore(ThreadedServer):
    """Clients connect to `port`; the server listens on `target`. `moved`: bytes of answers."""

    def __init__(self, target: int, plan: Plan) -> None:
        super().__init__(ports.free(1)[0], "store")
        self.target = target
        self.plan = plan
        self.counts: Counter[str] = Counter()
        self.moved = 0
        self._serving: set[asyncio.Task[None]] = set()

    async def _end(self) -> None:
        self._server.close()
        for one in list(self._serving):
            one.cancel()
        await asyncio.gather(*self._serving, return_exceptions=True)

    async def _serve(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._serving.add(task)
        try:
            with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._exchange(client, answer)
        finally:
            self._serving.discard(task)
            answer.close()
            with suppress(ConnectionError):
                await answer.wait_closed()

    async def _exchange(self, client: asyncio.StreamReader, answer: asyncio.StreamWriter) -> None:
        head = await client.readuntil(b"\r\n\r\n")
        lines = head.decode("latin-1").split("\r\n")
        method, path, _ = lines[0].split(" ", 2)
        headers = {name.lower(): value.strip() for name, _, value in
                   (line.partition(":") for line in lines[1:] if line)}  # fmt: skip
        body = await client.readexactly(int(headers.get("content-length", 0)))
        fault = self.plan(method, path, body)
        self.counts[fault] += 1
        if fault == "delay":
            await asyncio.sleep(DELAY)
        refusal = {"slow down": SLOW_DOWN, "500": INTERNAL, "denied": DENIED}.get(fault)
        if refusal is not None:
            answer.write(_refusal(*refusal, method))
            await answer.drain()
            return
        if fault == TORN:
            await self._forward(lines, body[: len(body) // 2], whole=False)
            return
        found = await self._forward(lines, body, whole=True)
        if fault == "500 when done":
            found = _refusal(*INTERNAL, method)
        elif fault == "half an answer":
            found = found[: len(found) // 2]
        self.moved += len(found)
        answer.write(found)
        await answer.drain()

    async def _forward(self, lines: list[str], body: bytes, *, whole: bool) -> bytes:
        """The server's answer; none to half of a body, behind which the connection breaks off."""
        kept = [one for one in lines if one and not one.lower().startswith("connection:")]
        head = "\r\n".join([*kept, "Connection: close", "", ""]).encode("latin-1")
        reader, writer = await asyncio.open_connection(HOST, self.target)
        try:
            writer.write(head + body)
            await writer.drain()
            if not whole:
                return b""
            found = bytearray()
            while some := await reader.read(CHUNK):
                found += some
            return bytes(found)
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()


def _refusal(status: str, code: str, method: str) -> bytes:
    text = b"" if method == "HEAD" else (
        f"<?xml version='1.0' encoding='UTF-8'?><Error><Code>{code}</Code>"
        f"<Message>the proxy says so</Message></Error>".encode()
    )  # fmt: skip
    head = f"HTTP/1.1 {status}\r\nContent-Type: application/xml\r\nContent-Length: {len(text)}\r\n"
    return head.encode() + b"Connection: close\r\n\r\n" + text
