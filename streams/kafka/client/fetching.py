"""aiokafka's consumer, with three things changed of how it fetches."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, Protocol

from aiokafka import AIOKafkaConsumer
from aiokafka.consumer.fetcher import FetchResult

CANCEL_AGAIN = 0.05
"""Seconds after which a task that goes on is cancelled once more."""


class RawRecord(Protocol):
    """aiokafka's DefaultRecord; `timestamp` is in milliseconds UTC."""

    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes]]: ...


class KafkaConsumer(AIOKafkaConsumer):  # type: ignore[misc]
    """A consumer whose `stop` always ends. aiokafka's raises CancelledError and leaves connections
    open where a fetch has just failed and waits to be tried again. It never returns where the
    assignment has just gone: its fetching task then takes the one cancellation for that of a fetch.

    `raw`: its `getmany` answers with `RawRecord`s. They are aiokafka's own, as its C parser makes
    them, instead of a ConsumerRecord for each, which is a quarter of its time. It answers by
    partition: a record need not say which it is from.
    """

    def __init__(self, *topics: str, raw: bool = False, **settings: Any) -> None:
        super().__init__(*topics, **settings)
        self._raw = raw

    async def start(self) -> None:
        await super().start()
        fetcher = self._fetcher
        process = fetcher._proc_fetch_request

        async def processed(*request: Any) -> bool:
            with suppress(asyncio.CancelledError):  # as aiokafka does before it waits
                found: bool = await process(*request)
                if self._raw:  # nothing was awaited since it came: nobody has read of it yet
                    for fetched in fetcher._records.values():
                        if isinstance(fetched, FetchResult) and fetched.has_more():
                            fetched._partition_records._consumer_record = _itself
                return found
            return False

        close, fetching = fetcher.close, fetcher._fetch_task

        async def closed() -> None:
            while not fetching.done():
                fetching.cancel()
                await asyncio.wait([fetching], timeout=CANCEL_AGAIN)
            await close()

        fetcher._proc_fetch_request, fetcher.close = processed, closed


def _itself(partition: Any, record: RawRecord) -> RawRecord:
    return record
