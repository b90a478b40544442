"""A TCP proxy in front of a broker: it delays, stalls, half-closes and drops connections.

    with Proxy() as proxy, Broker.start(security=Security(advertised=[proxy.port])) as broker:
        proxy.target = broker.nodes[0].ports["PROXIED"]
        proxy.delay = 0.05

`counts` says what it really did to whom.
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from streams.broker.config import HOST
from tests.threaded_server import ThreadedServer

CHUNK = 1 << 16
BROKEN = (ConnectionError, OSError)


class Proxy(ThreadedServer):
    """Clients connect to `port` (0: a free one), the broker listens on `target`; both on the
    loopback. It listens before there is a broker, so that nobody takes its port.

    `delay`: seconds that every piece of data waits, in both directions.
    """

    def __init__(self, port: int = 0) -> None:
        super().__init__(port, "proxy")
        self.target = 0
        self.delay = 0.0
        self.counts: Counter[str] = Counter()
        self._lets_through: int | None = None
        self._pairs: set[tuple[asyncio.StreamWriter, asyncio.StreamWriter]] = set()
        self._flows = asyncio.Event()
        self._flows.set()

    # --- faults -----------------------------------------------------------------------------

    def stall(self) -> None:
        """From now on nothing gets through; connections stay."""
        self._loop.call_soon_threadsafe(self._flows.clear)

    def stall_after(self, pieces: int) -> None:
        """Stalls when so many more pieces of data have got through, in both directions together."""
        self._lets_through = pieces

    def flow(self) -> None:
        """Ends `stall`: what was held back goes on its way."""
        self._lets_through = None
        self._loop.call_soon_threadsafe(self._flows.set)

    def half_close(self) -> int:
        """Every client hears the end of the broker's stream, the broker hears nothing."""
        return self._each("half-closed", lambda client, broker: client.write_eof())

    def drop(self) -> int:
        """Every connection is reset, on both sides."""
        return self._each("dropped", _reset)

    def _each(
        self, name: str, hurt: Callable[[asyncio.StreamWriter, asyncio.StreamWriter], Any]
    ) -> int:
        async def inside() -> int:
            hit = 0
            for client, broker in list(self._pairs):
                with suppress(*BROKEN, RuntimeError):  # RuntimeError: it is closing already
                    hurt(client, broker)
                    hit += 1
            self.counts[name] += hit
            return hit

        return int(self._call(inside()))

    # --- the way through --------------------------------------------------------------------

    async def _serve(self, reader: asyncio.StreamReader, client: asyncio.StreamWriter) -> None:
        self.counts["connections"] += 1
        try:
            answers, broker = await asyncio.open_connection(HOST, self.target)
        except BROKEN:  # the broker is down: as if nobody listened here
            self.counts["refused"] += 1
            _abort(client)
            return
        pair = (client, broker)
        self._pairs.add(pair)
        try:
            await asyncio.gather(self._pump(reader, broker), self._pump(answers, client))
        finally:
            self._pairs.discard(pair)
            _abort(client)
            _abort(broker)

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Until the stream ends; then its other side hears of it."""
        with suppress(*BROKEN, RuntimeError):
            while data := await reader.read(CHUNK):
                if self.delay:
                    self.counts["delayed"] += 1
                    await asyncio.sleep(self.delay)
                self._count_down()
                if not self._flows.is_set():
                    self.counts["stalled"] += 1
                    await self._flows.wait()
                self.counts["bytes"] += len(data)
                writer.write(data)
                await writer.drain()
            writer.write_eof()

    def _count_down(self) -> None:
        if self._lets_through is not None:
            self._lets_through -= 1
            if self._lets_through < 0:
                self._flows.clear()

    async def _end(self) -> None:
        self._flows.set()
        self._server.close()
        for pair in self._pairs:
            _reset(*pair)
        if others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others, timeout=5)


def _reset(client: asyncio.StreamWriter, broker: asyncio.StreamWriter) -> None:
    _abort(client)
    _abort(broker)


def _abort(writer: asyncio.StreamWriter) -> None:
    writer.transport.abort()
