"""Asks a broker a real question: how many nodes it knows."""

import asyncio

from streams.errors import TurnstoneError
from streams.kafka.admin import connected
from streams.kafka.settings import KafkaSettings


def nodes_known(bootstrap: str, within: float = 2.0) -> int:
    """The number of brokers a describe-cluster request names; 0 where none answers in time."""
    settings = KafkaSettings.plain(bootstrap)
    try:
        return asyncio.run(_nodes_known(settings, within))
    except TurnstoneError:
        return 0


async def _nodes_known(settings: KafkaSettings, within: float) -> int:
    async with connected(settings, within) as admin:
        return len((await admin.describe_cluster())["brokers"])
