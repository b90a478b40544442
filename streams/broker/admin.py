"""Asks a broker real questions: how many nodes it knows, and who coordinates its groups."""

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


def coordinates(bootstrap: str, within: float = 2.0) -> bool:
    """Whether a group finds its coordinator. A new cluster makes a topic first when it is asked,
    and clients log each refusal until then as an error."""
    try:
        return asyncio.run(_coordinates(KafkaSettings.plain(bootstrap), within))
    except TurnstoneError:
        return False


async def _coordinates(settings: KafkaSettings, within: float) -> bool:
    async with connected(settings, within) as admin:
        await admin.find_coordinator("ready")
    return True


async def _nodes_known(settings: KafkaSettings, within: float) -> int:
    async with connected(settings, within) as admin:
        return len((await admin.describe_cluster())["brokers"])
