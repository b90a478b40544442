"""Reads the first messages of a topic without a group, hence without commits."""

import asyncio
from collections.abc import Iterator
from itertools import islice

from aiokafka.errors import KafkaError
from aiokafka.structs import TopicPartition

from streams.errors import ConfigurationError
from streams.kafka.client.admin import connected, lost, partitions_of
from streams.kafka.client.aiokafka_internals import KafkaConsumer
from streams.kafka.client.settings import KafkaSettings
from streams.mapping.envelopes import Message
from streams.mapping.sampling import Event

POLL_MS = 200
WITHIN = 30.0


async def first_messages(settings: KafkaSettings, topic: str, most: int) -> list[Event]:
    """Up to `most` messages of a topic, about as many from each partition.

    Raises: ConfigurationError: the topic does not exist. Unreachable: no broker responds.
    """
    settings = settings.with_unprefixed([topic])
    async with connected(settings) as admin:
        count = (await partitions_of(admin, [topic])).get(topic, 0)
    if not count:
        raise ConfigurationError(f"{topic}: no file, and no topic of the broker, has this name")
    try:
        async with asyncio.timeout(WITHIN):
            events = await _read(settings, topic, count, -(-most // count))
    except TimeoutError:
        raise ConfigurationError(f"topic {topic}: not read within {WITHIN:.0f} s") from None
    except KafkaError as error:
        raise lost(settings, error) from None
    return list(islice(events, most))


async def _read(settings: KafkaSettings, topic: str, count: int, each: int) -> Iterator[Event]:
    partitions = [TopicPartition(topic, number) for number in range(count)]
    events: list[tuple[int, Event]] = []
    async with KafkaConsumer(
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **settings.client(),
    ) as consumer:
        consumer.assign(partitions)
        await consumer.seek_to_beginning(*partitions)
        ends = await consumer.end_offsets(partitions)
        counts = dict.fromkeys(partitions, 0)
        while pending := [tp for tp in partitions if counts[tp] < each]:
            pending = [tp for tp in pending if await consumer.position(tp) < ends[tp]]
            if not pending:
                break
            for tp, messages in (await consumer.getmany(*pending, timeout_ms=POLL_MS)).items():
                for message in messages[: each - counts[tp]]:
                    envelope = Message(topic, message.timestamp, message.key, message.headers)
                    place = (topic, message.partition, message.offset)
                    events.append((message.timestamp, (message.value, place, envelope)))
                counts[tp] += len(messages)
    return iter([event for _, event in sorted(events, key=lambda pair: pair[0])])
