"""Topics made and checked at start, with the moment a new one needs until the broker shows it."""

import asyncio

from streams.kafka.admin import connected
from streams.kafka.settings import KafkaSettings
from streams.kafka.topics import create, ensure_topics, spec_of
from streams.topology import TOPICS

ASK_EVERY = 0.05  # seconds


async def prepare(settings: KafkaSettings) -> None:
    """The topics of the topology as they should be; raises what `ensure_topics` raises."""
    async with connected(settings) as admin:  # which ends this within seconds
        specs = [spec_of(topic, settings.partitions) for topic in TOPICS]
        created = await create(admin, specs, settings.replication)
        while created:
            described = await admin.describe_topics(created)
            if all(one["partitions"] for one in described):
                break
            await asyncio.sleep(ASK_EVERY)
    await ensure_topics(settings)
