"""`turnfold produce`: files of input records into the topics.

One idempotent producer, so that the records of a key keep the order of their file; the partition
is that of every Kafka client, by the key's murmur2. Records that were sent before are duplicates
to the worker: a call that failed half-way is simply made again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from streams.errors import Unreachable
from streams.files import sources
from streams.files.sources import Source, TruncatedError
from streams.kafka.agents.routing import Route, route
from streams.kafka.client.admin import lost
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.topology import INPUT_BYTES

Place = tuple[str, int, int]
Headers = Sequence[tuple[str, bytes]]
Progress = Callable[[str, int, int, int], None]  # path, bytes read, bytes in all, records
BATCH_BYTES = 256_000
LINGER_MS = 5
DELIVER_MS = 120_000
"""As long as a record may wait for its broker, which may be starting anew: Kafka's own default."""
STOP_WITHIN = 2.0
"""Seconds, for who does not wait for what is not acknowledged."""
OVERHEAD = 1_000  # of a record in its batch, besides key and value
NAMED = 5  # records a warning names


class Feed:
    """A producer that counts: `counts["acknowledged"]` are in Kafka."""

    def __init__(self, settings: KafkaSettings, compression: str | None = None) -> None:
        self.counts: Counter[str] = Counter()
        self._settings = settings
        self._compression = compression
        self._failure: BaseException | None = None

    async def __aenter__(self) -> "Feed":
        await ensure_topics(self._settings)
        self._producer: Any = KafkaProducer(
            enable_idempotence=True,
            compression_type=self._compression,
            linger_ms=LINGER_MS,
            max_batch_size=BATCH_BYTES,
            max_request_size=INPUT_BYTES,
            request_timeout_ms=DELIVER_MS,
            **self._settings.client(),
        )
        try:
            await self._producer.start()
        except KafkaError as error:  # it was there for the topics
            await self._producer.stop()
            raise lost(self._settings, error) from None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # without an error all is acknowledged; else nobody waits for a broker that is away
        with suppress(TimeoutError):
            async with asyncio.timeout(None if kind is None else STOP_WITHIN):
                await self._producer.stop()

    async def send(
        self, topic: str, key: bytes | None, value: bytes, headers: Headers = ()
    ) -> bool:
        """Hands over one record, waiting where the broker is slow; False where it is too large.

        Raises Unreachable where an earlier one was not acknowledged.
        """
        self._check()
        if len(value) + len(key or b"") + OVERHEAD > INPUT_BYTES:
            return False
        try:
            sent = await self._producer.send(topic, value, key, headers=list(headers))
        except MessageSizeTooLargeError:
            return False
        except KafkaError as error:
            self._failure = error
            self._check()
        sent.add_done_callback(self._acknowledged)
        return True

    async def flush(self) -> None:
        """Waits until all that was sent is acknowledged; raises Unreachable if something is not."""
        try:
            await self._producer.flush()
        except KafkaError as error:
            self._failure = self._failure or error
        await asyncio.sleep(0)  # the callbacks of the last acknowledgements
        self._check()

    def _acknowledged(self, sent: "asyncio.Future[Any]") -> None:
        if sent.cancelled():
            return
        if (error := sent.exception()) is not None:
            self._failure = self._failure or error
        else:
            self.counts["acknowledged"] += 1

    def _check(self) -> None:
        if self._failure is not None:
            raise Unreachable(
                f"Kafka: {self._settings.bootstrap}: {self._failure!r}; "
                f"{self.counts['acknowledged']} records are in their topics. Run it again: what "
                "was sent before is recognised"
            )


async def produce(
    files: Sequence[str],
    settings: KafkaSettings,
    *,
    compression: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Sends the records of files; the counts: `read = sent + too_large + withheld`.

    `unreadable` are those of `sent` that will end as dead letters, for no topic could be told.
    `say` hears of records that are too large, and of files that end too early (`truncated`).
    Raises ConfigurationError, or Unreachable with the number of records that are in their topics.
    """
    sources.check(list(files))
    began = time.monotonic()
    async with Feed(settings, compression) as feed:
        job = _Job(feed, say)
        for path in files:
            source = Source(path)
            try:
                for chunk in source.chunks():
                    for line, place in chunk:
                        await job.send(line, place)
                    if progress:
                        progress(path, source.progress, source.size, job.counts["read"])
            except TruncatedError as error:
                job.counts["truncated"] += 1
                say(f"the file ends too early, or is damaged; what came before is sent: {error}")
            if source.unfinished:
                say(
                    f"{path}: its last line, {source.unfinished} bytes so far, is no whole record "
                    "yet; it is not sent"
                )
        await feed.flush()
    return {
        **{name: job.counts[name] for name in ("read", "sent", "withheld", "unreadable",
                                               "too_large", "truncated")},
        "topics": dict(sorted(job.topics.items())),
        "seconds": round(time.monotonic() - began, 3),
    }  # fmt: skip


class _Job:
    def __init__(self, feed: Feed, say: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.topics: Counter[str] = Counter()
        self._feed = feed
        self._say = say

    async def send(self, line: bytes, place: Place) -> None:
        self.counts["read"] += 1
        way = route(line)
        if way is None:
            self.counts["withheld"] += 1
        elif await self._feed.send(way.topic, way.key, way.value):
            self._sent(way)
        else:
            self._too_large(way, place)

    def _sent(self, way: Route) -> None:
        self.counts["sent"] += 1
        self.counts["unreadable"] += not way.known
        self.topics[way.topic] += 1

    def _too_large(self, way: Route, place: Place) -> None:
        self.counts["too_large"] += 1
        if self.counts["too_large"] <= NAMED:
            self._say(
                f"{place[0]}, line {place[2]}: {len(way.value)} bytes, {way.topic} takes "
                f"{INPUT_BYTES}: not sent"
            )
