"""The log of a served history, as the thread that asks the model sees it."""

import asyncio

import msgspec

from schemas.base import JsonObject
from streams.files.inbox import NoRoom
from streams.serving.backends.backend import Backend, Busy, NotReady
from streams.serving.backends.fold_thread import IngestThread


class PostedByModel:
    """Implements `streams.llm.history_log.Posts`. Made on the event loop's thread."""

    def __init__(self, backend: Backend, ingest: IngestThread) -> None:
        self._backend, self._ingest = backend, ingest
        self._loop = asyncio.get_running_loop()

    async def post(self, record: JsonObject) -> int | None:
        """None where the server cannot take it now."""
        posting = self._backend.submit([msgspec.json.encode(record)], 0.0)
        try:
            await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(posting, self._loop))
        except (Busy, NoRoom, NotReady):
            return None
        return self.end or 0

    @property
    def end(self) -> int | None:
        """Of what is on disk."""
        return None if self._ingest.inbox is None else self._ingest.inbox.end

    @property
    def committed(self) -> int:
        """What the tables have."""
        return self._ingest.committed_to
