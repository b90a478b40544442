"""Topics of another platform on a real broker, and what a worker's mapping has made of them."""

import asyncio
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from aiokafka import AIOKafkaProducer
from aiokafka.admin import NewPartitions, NewTopic

from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_names import mapping_changelog
from tests.kafka.counting import create_known
from tests.kafka.working import APP, TOO_LONG, Working

Sent = tuple[bytes | None, bytes | None, Sequence[tuple[str, bytes]]]
"""Key, value, headers."""


def create(working: Working, topic: str, partitions: int) -> None:
    """As a platform makes it: CreateTime, partitions of its own number, and no prefix."""
    working.others.add(topic)
    asyncio.run(_create(working.bootstrap, topic, partitions))


async def _create(bootstrap: str, topic: str, partitions: int) -> None:
    async with connected(KafkaSettings.plain(bootstrap)) as admin:
        await create_known(admin, NewTopic(topic, partitions, 1))


def grow(working: Working, topic: str, partitions: int) -> None:
    asyncio.run(_grow(working.bootstrap, topic, partitions))


async def _grow(bootstrap: str, topic: str, partitions: int) -> None:
    async with connected(KafkaSettings.plain(bootstrap)) as admin:
        await admin.create_partitions({topic: NewPartitions(partitions)})


def send(working: Working, topic: str, messages: Iterable[Sent]) -> int:
    """Sends messages in their order, a new timestamp each."""
    return asyncio.run(_send(working.bootstrap, topic, list(messages)))


async def _send(bootstrap: str, topic: str, messages: Sequence[Sent]) -> int:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap, linger_ms=5) as producer:
        sent = [
            await producer.send(topic, value, key, headers=list(headers))
            for key, value, headers in messages
        ]
        await asyncio.gather(*sent)
    return len(sent)


def notes(working: Working, topic: str, app: str = APP) -> Counter[str]:
    """The counters of all partitions of a mapped topic."""
    found: Counter[str] = Counter()
    for note in working._notes(mapping_changelog(app, topic)):
        found.update(note["counts"])
    return found


def await_mapped(working: Working, topic: str, read: int, app: str = APP) -> Counter[str]:
    """Until so many messages of the topic are mapped."""
    deadline = time.monotonic() + TOO_LONG
    while (counts := notes(working, topic, app))["read"] < read:
        assert time.monotonic() < deadline, f"{counts}\n{working.log()[-3000:]}"
        time.sleep(0.3)
    return counts


def await_ready(working: Working, lanes: int) -> None:
    """Until so many lanes of the newest worker have restored."""
    working.await_log(": restored ", times=lanes)


def headers_of(record: Any) -> dict[str, bytes]:
    return dict(record.headers)
