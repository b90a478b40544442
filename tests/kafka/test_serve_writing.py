"""Records on their way into the topics when the broker goes, or the server does."""

import asyncio

import pytest
from aiokafka.structs import TopicPartition

from streams.broker import Broker
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings
from streams.kafka.client.topic_specs import spec
from streams.kafka.client.topics import create
from streams.serving.backends import producer
from streams.serving.backends.producer import NotAppended, OutgoingRecord, Writing
from tests.waiting import WITHIN

ONE = [OutgoingRecord(TopicPartition("there", 0), b"key", b"value")]


def test_who_waits_is_told_and_nothing_is_sent_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(producer, "REQUEST_MS", 1_000)

    async def run(broker: Broker) -> None:
        settings = KafkaSettings.plain(broker.bootstrap)
        async with connected(settings) as admin:
            await create(admin, [spec("there", 1)])
        appends = Writing(settings.client())
        running = asyncio.create_task(appends.run())
        before = asyncio.all_tasks()
        assert await appends.append(ONE) == [0]
        monkeypatch.setattr(producer, "APPEND_WITHIN", 2.0)
        broker.stop()
        with pytest.raises(NotAppended):
            await appends.append(ONE)
        async with asyncio.timeout(WITHIN):  # the producer is gone, with all it had to send
            while asyncio.all_tasks() - before:
                await asyncio.sleep(0.05)
        waits = asyncio.create_task(appends.append(ONE))
        await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(NotAppended):
            await asyncio.wait_for(waits, WITHIN)
        with pytest.raises(NotAppended):
            await asyncio.wait_for(appends.append(ONE), 1)

    with Broker.start(short_lived=True) as broker:
        asyncio.run(run(broker))
