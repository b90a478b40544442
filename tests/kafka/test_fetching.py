"""What is changed of aiokafka's consumer, on the real broker."""

import asyncio
import logging
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition

from streams.kafka.client.admin import connected
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from tests.waiting import WITHIN

TOPIC = "fetched"
PARTITION = TopicPartition(TOPIC, 0)
FOR_EVER_MS = 3_600_000
FETCH = 1
"""Kafka's number of this request."""


async def assign(consumer: AIOKafkaConsumer) -> None:
    """Assigns the empty partition; returns when a fetch waits at the broker for records."""
    consumer.assign([PARTITION])
    await consumer.seek_to_beginning()
    async with asyncio.timeout(WITHIN):
        await consumer.position(PARTITION)
        while not any(map(is_fetching, consumer._client._conns.values())):
            await asyncio.sleep(0.01)


def is_fetching(connection: Any) -> bool:
    """Whether a fetch waits for its reply; a request for metadata may wait, too."""
    return any(request and request.API_KEY == FETCH for _, request, _ in connection._requests)


async def stop_after_a_failed_fetch(
    kind: type[AIOKafkaConsumer], settings: KafkaSettings, said: pytest.LogCaptureFixture
) -> None:
    """Its connections break under a fetch, which is not to be tried again before it is stopped."""
    async with connected(settings) as admin:
        await create(admin, [spec(TOPIC, partitions=1)])
    consumer = kind(retry_backoff_ms=FOR_EVER_MS, fetch_max_wait_ms=30_000, **settings.client())
    await consumer.start()
    await assign(consumer)
    for connection in list(consumer._client._conns.values()):
        connection.close()
    async with asyncio.timeout(WITHIN):
        while "Failed fetch messages" not in said.text:
            await asyncio.sleep(0.01)
    try:
        async with asyncio.timeout(10):
            await consumer.stop()
    finally:
        await consumer._client.close()  # what aiokafka leaves open


def test_stops_while_a_fetch_waits_to_be_tried_again(
    settings: KafkaSettings, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR, "aiokafka")
    asyncio.run(stop_after_a_failed_fetch(KafkaConsumer, settings, caplog))


@pytest.mark.component
def test_aiokafkas_own_does_not(settings: KafkaSettings, caplog: pytest.LogCaptureFixture) -> None:
    """If this fails, aiokafka is mended: `KafkaConsumer` can go."""
    caplog.set_level(logging.ERROR, "aiokafka")
    with pytest.raises(asyncio.CancelledError):
        asyncio.run(stop_after_a_failed_fetch(AIOKafkaConsumer, settings, caplog))


async def stops_after_the_assignment_went(
    kind: type[AIOKafkaConsumer], settings: KafkaSettings, turns: int, within: float
) -> bool:
    """While a fetch waits for records; so many turns of the loop lie between the two calls."""
    async with connected(settings) as admin:
        await create(admin, [spec(TOPIC, partitions=1)])
    consumer = kind(fetch_max_wait_ms=30_000, **settings.client())
    await consumer.start()
    await assign(consumer)
    consumer.unsubscribe()
    for _ in range(turns):
        await asyncio.sleep(0)
    stopping = asyncio.create_task(consumer.stop())
    ended, _ = await asyncio.wait([stopping], timeout=within)
    await consumer._client.close()  # what aiokafka leaves open
    for _ in range(2):  # it takes the first one for the fetch's, too
        stopping.cancel()
        await asyncio.wait([stopping], timeout=5)
    return bool(ended)


@pytest.mark.parametrize("turns", range(4))
def test_stops_when_the_assignment_has_just_gone(settings: KafkaSettings, turns: int) -> None:
    assert asyncio.run(stops_after_the_assignment_went(KafkaConsumer, settings, turns, WITHIN))


@pytest.mark.component
def test_aiokafkas_own_does_not_stop_then(settings: KafkaSettings) -> None:
    """If this fails, aiokafka is mended: `KafkaConsumer` need not cancel again."""
    assert not asyncio.run(stops_after_the_assignment_went(AIOKafkaConsumer, settings, 0, 5.0))
