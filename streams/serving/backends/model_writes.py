"""The log of a served history, as the model's thread uses it."""

import asyncio

import msgspec

from schemas.base import JsonObject
from streams.files.inbox import NoRoom
from streams.serving.backends.backend import Backend, Busy, NotReady
from streams.serving.backends.fold_thread import IngestThread


class PostedByModel:
    """Implements `streams.llm.history_log.Posts`. Created on the event loop's thread."""

    def __init__(self, backend: Backend, ingest: IngestThread) -> None:
        self._backend, self._ingest = backend, ingest
        self._loop = asyncio.get_running_loop()

    async def post(self, record: JsonObject) -> int | None:
        """The log's end after the write, or None if the server cannot store it now."""
        posting = self._backend.submit([msgspec.json.encode(record)], 0.0)
        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(posting, self._loop))
        except (Busy, NoRoom, NotReady):
            return None
        return self.end or 0

    @property
    def end(self) -> int | None:
        """The log's end on disk."""
        return None if self._ingest.inbox is None else self._ingest.inbox.end

    @property
    def committed(self) -> int:
        """The offset up to which the tables have the log."""
        return self._ingest.committed_to
