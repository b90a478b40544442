"""`turnfold kafka produce`: sends files of input records to their topics.

One idempotent producer sends all records, so the records of a key keep their file's order. The
partition follows from the key's murmur2, as with Java's clients. Workers detect records that were
sent before as duplicates: after a failure, run the command again.
"""

import asyncio
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

from aiokafka.errors import KafkaError, MessageSizeTooLargeError

from streams.errors import Unreachable
from streams.files import sources
from streams.files.sources import Source, Truncated, TruncatedError
from streams.kafka.agents.routing import Route, route
from streams.kafka.client import acl_errors
from streams.kafka.client.admin import lost
from streams.kafka.client.aiokafka_internals import KafkaProducer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topics import ensure_topics
from streams.topology import INPUT_BYTES, TOPICS, Topic

Place = tuple[str, int, int]
Headers = Sequence[tuple[str, bytes]]
Progress = Callable[[str, int, int, int], None]  # path, bytes read, bytes in all, records
BATCH_BYTES = 256_000
LINGER_MS = 5
DELIVER_MS = 120_000
"""Delivery timeout of a record, as its broker may be restarting: Kafka's default."""
STOP_WITHIN = 2.0
"""Seconds to wait for acknowledgements after an error."""
OVERHEAD = 1_000
"""Maximum bytes of a record in its batch besides key and value."""
INPUTS = tuple(topic for topic in TOPICS if topic.direction == "input")
MOST_WARNINGS = 5
"""Maximum warnings about records that are too large."""


class Feed:
    """Producer for these topics. `counts["acknowledged"]`: records stored in Kafka."""

    def __init__(
        self,
        settings: KafkaSettings,
        compression: str | None = None,
        topics: Iterable[Topic] = INPUTS,
    ) -> None:
        self._topics = topics
        self.counts: Counter[str] = Counter()
        self._settings = settings
        self._compression = compression
        self._failure: BaseException | None = None

    async def __aenter__(self) -> "Feed":
        await ensure_topics(self._settings, topics=self._topics)
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
        except KafkaError as error:  # the broker responded when the topics were checked
            await self._producer.stop()
            raise lost(self._settings, error) from None
        return self

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        # after an error the broker may be unavailable
        with suppress(TimeoutError):
            async with asyncio.timeout(None if kind is None else STOP_WITHIN):
                await self._producer.stop()

    async def send(
        self,
        topic: str,
        key: bytes | None,
        value: bytes,
        headers: Headers = (),
        source: str | None = None,
    ) -> bool:
        """Queues one record, and waits if the broker is slow; False if it is too large. `source`:
        the topic that the key is of, if not this one.

        Raises Unreachable if an earlier record was not acknowledged, ConfigurationError if the
        broker denies access.
        """
        self._check()
        if len(value) + len(key or b"") + OVERHEAD > INPUT_BYTES:
            return False
        try:
            sent = await self._producer.send(
                topic, value, key, headers=list(headers), source=source
            )
        except MessageSizeTooLargeError:
            return False
        except KafkaError as error:
            self._failure = error
            self._check()
        sent.add_done_callback(self._acknowledged)
        return True

    def prepare(self, routes: Iterable[Route]) -> None:
        """Creates the keys of records that `send` will encrypt, faster than one by one."""
        self._producer.prepare((route.topic, route.key) for route in routes)

    async def flush(self) -> None:
        """Waits until every record is acknowledged. Raises Unreachable if one is not."""
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
            if (refused := acl_errors.of(self._failure)) is not None:
                raise refused
            raise Unreachable(
                f"Kafka: {self._settings.bootstrap}: {self._failure!r}; "
                f"{self.counts['acknowledged']} records are in their topics. Run the command "
                "again: records that were sent before are recognised"
            )


async def produce(
    files: Sequence[str],
    settings: KafkaSettings,
    *,
    compression: str | None = None,
    progress: Progress | None = None,
    say: Callable[[str], None] = lambda text: None,
) -> dict[str, Any]:
    """Sends the records of files; returns counts: `read = sent + too_large + withheld`.

    `unreadable` counts sent records without a recognizable topic; they will become dead letters.
    `say` receives a line for each record that is too large. Raises Truncated with the counts for
    files that end too early; ConfigurationError; Unreachable with the number of records stored.
    """
    sources.check(list(files))
    began = time.monotonic()
    async with Feed(settings, compression) as feed:
        job = _Job(feed, say)
        truncated: list[str] = []
        for path in files:
            source = Source(path)
            try:
                for chunk in source.chunks():
                    await job.send(chunk)
                    if progress:
                        progress(path, source.progress, source.size, job.counts["read"])
            except TruncatedError as error:
                truncated.append(str(error))
            if source.unfinished:
                say(
                    f"{path}: the last line ({source.unfinished} bytes) is incomplete; it is not "
                    "sent"
                )
        await feed.flush()
    names = ("read", "sent", "withheld", "unreadable", "too_large")
    counts = {
        **{name: job.counts[name] for name in names},
        "truncated": len(truncated),
        "topics": dict(sorted(job.topics.items())),
        "seconds": round(time.monotonic() - began, 3),
    }
    if truncated:
        raise Truncated("sent", truncated, counts)
    return counts


class _Job:
    def __init__(self, feed: Feed, say: Callable[[str], None]) -> None:
        self.counts: Counter[str] = Counter()
        self.topics: Counter[str] = Counter()
        self._feed = feed
        self._say = say

    async def send(self, chunk: Iterable[tuple[bytes, Place]]) -> None:
        routes = [(route(line), place) for line, place in chunk]
        self._feed.prepare(routed for routed, _ in routes if routed is not None)
        for routed, place in routes:
            self.counts["read"] += 1
            if routed is None:
                self.counts["withheld"] += 1
            elif await self._feed.send(routed.topic, routed.key, routed.value):
                self._count(routed)
            else:
                self._warn(routed, place)

    def _count(self, routed: Route) -> None:
        self.counts["sent"] += 1
        self.counts["unreadable"] += not routed.is_known
        self.topics[routed.topic] += 1

    def _warn(self, routed: Route, place: Place) -> None:
        self.counts["too_large"] += 1
        if self.counts["too_large"] <= MOST_WARNINGS:
            self._say(
                f"{place[0]}, line {place[2]}: {len(routed.value)} bytes, {routed.topic} takes "
                f"{INPUT_BYTES}: not sent"
            )
