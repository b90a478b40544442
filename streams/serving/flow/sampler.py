"""One sampler for all viewers: it samples once per second while there are any, and each gets the
newest frame. The cost is independent of the number of records and viewers: a frame is created and
encoded once."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator
from contextlib import suppress

import msgspec

from streams.serving.backends.backend import Backend
from streams.serving.flow.frame import Frame, Frames
from streams.serving.flow.parts import BrokerLag, Ports
from streams.serving.http.event_stream import HEARTBEAT, HEARTBEAT_SECONDS, RETRY

log = logging.getLogger(__name__)

EVERY = 1.0
"""Seconds from one sample to the next."""
LINGERS = 20.0
"""Seconds that it continues after the last reader has left: a reopened page has rates at once."""
FIRST_WITHIN = 2.0
"""Seconds that a page waits for the first frame, which contains the data available by then."""


class Sampler:
    """`ports`: addresses of workers' metrics."""

    def __init__(self, backend: Backend, ports: tuple[str, ...] = ()) -> None:
        self._backend = backend
        self.broker = BrokerLag(backend.kafka) if backend.kafka is not None else None
        self._ports = Ports(ports)
        self._frames = Frames(self.broker, self._ports)
        self._tasks: list[asyncio.Task[None]] = []
        self._next: asyncio.Future[None] | None = None
        self._frame: Frame | None = None
        self._event = b""
        self._watching = 0
        self._wanted_until = 0.0
        self._closing = False

    def close(self) -> None:
        """Ends every stream and the sampling."""
        self._closing = True
        for task in self._tasks:
            task.cancel()
        self._wake()

    async def frame(self) -> Frame:
        """The newest frame; waits for the first one."""
        self._want()
        if self._frame is None:
            with suppress(TimeoutError):
                async with asyncio.timeout(FIRST_WITHIN):
                    await self._changes()
        return self._frame or self._look()

    async def events(self) -> AsyncIterator[bytes]:
        """Server-sent events: a frame now and whenever it has changed."""
        self._watching += 1
        try:
            yield RETRY
            sent, sent_at = b"", time.monotonic()
            while not self._closing:
                self._want()
                if self._event != sent:
                    sent, sent_at = self._event, time.monotonic()
                    yield sent
                elif time.monotonic() - sent_at > HEARTBEAT_SECONDS:
                    sent_at = time.monotonic()
                    yield HEARTBEAT
                await self._changes()
        finally:
            self._watching -= 1

    async def _changes(self) -> None:
        if self._next is None:
            self._next = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._next)

    def _wake(self) -> None:
        if self._next is not None and not self._next.done():
            self._next.set_result(None)
        self._next = None

    def _want(self) -> None:
        """Starts or prolongs the sampling."""
        self._wanted_until = time.monotonic() + LINGERS
        if self._tasks or self._closing:
            return
        self._tasks = [asyncio.create_task(self._run()), asyncio.create_task(self._ports.run())]
        if self.broker is not None:
            self._tasks.append(asyncio.create_task(self.broker.run()))

    async def _run(self) -> None:
        try:
            while self._watching or time.monotonic() < self._wanted_until:
                self._look()
                self._wake()
                await asyncio.sleep(EVERY)
        except Exception:
            log.exception("the pipeline cannot be looked at")
            await asyncio.sleep(EVERY)
        finally:
            for task in self._tasks:
                task.cancel()
            self._tasks, self._frame, self._event = [], None, b""
            self._frames = Frames(self.broker, self._ports)
            self._wake()

    def _look(self) -> Frame:
        readiness = self._backend.readiness()
        frame = self._frames.take(self._backend.observed(), readiness.ready, readiness.about)
        if frame != self._frame:
            self._frame = frame
            self._event = b"event: frame\ndata: %s\n\n" % msgspec.json.encode(frame)
        return frame


def addresses(text: str) -> tuple[str, ...]:
    return tuple(address.strip() for address in text.split(",") if address.strip())
