"""The first messages of a topic, read without a group: nothing is committed."""

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
    """Up to `most` messages of a topic, of each partition about as many.

    Raises:
        ConfigurationError: there is no such topic.
        Unreachable: no broker answers.
    """
    settings = settings.beside([topic])
    async with connected(settings) as admin:
        count = (await partitions_of(admin, [topic])).get(topic, 0)
    if not count:
        raise ConfigurationError(f"{topic}: no file, and no topic of the broker, has this name")
    try:
        async with asyncio.timeout(WITHIN):
            found = await _read(settings, topic, count, -(-most // count))
    except TimeoutError:
        raise ConfigurationError(f"topic {topic}: not read within {WITHIN:.0f} s") from None
    except KafkaError as error:
        raise lost(settings, error) from None
    return list(islice(found, most))


async def _read(settings: KafkaSettings, topic: str, count: int, each: int) -> Iterator[Event]:
    every = [TopicPartition(topic, number) for number in range(count)]
    events: list[tuple[int, Event]] = []
    async with KafkaConsumer(
        isolation_level="read_committed",
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        **settings.client(),
    ) as consumer:
        consumer.assign(every)
        await consumer.seek_to_beginning(*every)
        ends = await consumer.end_offsets(every)
        seen = dict.fromkeys(every, 0)
        while left := [at for at in every if seen[at] < each]:
            left = [at for at in left if await consumer.position(at) < ends[at]]
            if not left:
                break
            for at, records in (await consumer.getmany(*left, timeout_ms=POLL_MS)).items():
                for one in records[: each - seen[at]]:
                    message = Message(topic, one.timestamp, one.key, one.headers)
                    place = (topic, one.partition, one.offset)
                    events.append((one.timestamp, (one.value, place, message)))
                seen[at] += len(records)
    return iter([event for _, event in sorted(events, key=lambda pair: pair[0])])
