"""A session's event stream (server-sent events): its document after each change.

An event's id is the document's hash, so a client that reconnects with `Last-Event-ID` receives the
document only if it has changed. Missed changes are in the timeline.
"""

import asyncio
import time
from collections.abc import AsyncIterator
from hashlib import blake2b

import msgspec

from streams.serving.backends.backend import Backend, Busy, NotReady
from streams.serving.http import documents

AGAIN = 0.2
"""Seconds."""
HEARTBEAT_SECONDS = 15.0
"""Interval of comments, which keep the connection open and detect a client that has gone."""
RETRY = b"retry: 1000\n\n"
SIGNALS = 1.0
"""Seconds from one signal to the next."""
CHANGED = b"event: changed\ndata: {}\n\n"
HEARTBEAT = b": \n\n"
GONE = b"event: gone\ndata: {}\n\n"
"""The session's rows are no more: it was forgotten."""

_encode = msgspec.json.Encoder().encode


class SessionEventStreams:
    """All event streams of this server, to be ended when it stops."""

    def __init__(self, heartbeat: float = HEARTBEAT_SECONDS) -> None:
        self._heartbeat = heartbeat
        self._closing = False
        self._awake: set[asyncio.Event] = set()

    def close(self) -> None:
        """Ends every stream; clients reconnect to another server."""
        self._closing = True
        for event in self._awake:
            event.set()

    async def of(
        self, backend: Backend, tenant: str, session_id: str, last: str | None
    ) -> AsyncIterator[bytes]:
        """The stream of a session, after the event with the id `last`."""
        with backend.changes.of(("sessions", tenant, session_id)) as changed:
            self._awake.add(changed)
            try:
                yield RETRY
                while not self._closing:
                    changed.clear()
                    event_id, event = await _event(backend, tenant, session_id)
                    if event_id != last:
                        last = event_id
                        yield event
                    if not await self._changes(changed):
                        yield HEARTBEAT
            finally:
                self._awake.discard(changed)

    async def signals(self, backend: Backend, tenant: str, session_id: str) -> AsyncIterator[bytes]:
        """Signals that a session has changed, without content: at most one per second."""
        with backend.changes.of(("sessions", tenant, session_id)) as changed:
            self._awake.add(changed)
            try:
                yield RETRY
                while not self._closing:
                    if not await self._changes(changed):
                        yield HEARTBEAT
                    elif not self._closing:
                        changed.clear()
                        yield CHANGED
                        await asyncio.sleep(SIGNALS)
            finally:
                self._awake.discard(changed)

    async def _changes(self, changed: asyncio.Event) -> bool:
        """Whether the session changed before a heartbeat is due."""
        try:
            async with asyncio.timeout(self._heartbeat):
                return await changed.wait()
        except TimeoutError:
            return False


async def _event(backend: Backend, tenant: str, session_id: str) -> tuple[str, bytes]:
    """The current session and its id; a heartbeat while the backend is not ready."""
    while True:
        try:
            entity = await backend.rows("sessions", tenant, session_id)
            break
        except NotReady:
            return "", HEARTBEAT
        except Busy:  # all streams of a tenant query at once after a commit
            await asyncio.sleep(AGAIN)
    document = documents.session(*entity, time.time_ns() // 1000)
    if document is None:
        return "gone", GONE
    text = _encode(document)
    event_id = blake2b(text, digest_size=8).hexdigest()
    return event_id, b"id: %s\nevent: session\ndata: %s\n\n" % (event_id.encode(), text)
