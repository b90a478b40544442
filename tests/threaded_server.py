"""A server of asyncio on an event loop of its own thread, for tests that block."""

import asyncio
import errno
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine
from typing import Any, Self

from streams.broker import ports
from streams.broker.config import HOST
from tests.waiting import WITHIN


class ThreadedServer(ABC):
    """Listens on `port` of the loopback while it is a context manager, on a free one where that is
    0; `_serve` has a client."""

    def __init__(self, port: int, name: str) -> None:
        self.port = port
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name=name, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = self._call(self._listen())
        return self

    async def _listen(self) -> asyncio.Server:
        """Not on a port of the system's choice: it may be one of a client that tries again to reach
        a server that has ended (streams/broker/ports.py)."""
        while True:
            port = self.port or ports.free(1)[0]
            try:
                server = await asyncio.start_server(self._serve, HOST, port)
            except OSError as error:
                if self.port or error.errno != errno.EADDRINUSE:
                    raise
            else:
                self.port = port
                return server

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def _call(self, work: Coroutine[Any, Any, Any]) -> Any:
        """What it gives, of the server's own loop."""
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(WITHIN)

    @abstractmethod
    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Has a client, until it is gone."""

    @abstractmethod
    async def _end(self) -> None:
        """Closes the server, then its connections."""
