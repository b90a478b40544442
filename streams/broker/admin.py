"""Asks a broker a real question: how many nodes it knows."""

import asyncio
import logging

from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.errors import KafkaError


def nodes_known(bootstrap: str, seconds: float = 2.0) -> int:
    """The number of brokers a describe-cluster request names; 0 where none answers in time."""
    quiet = logging.getLogger("aiokafka")
    level = quiet.level
    quiet.setLevel(logging.CRITICAL)  # a broker that is still starting is no error
    try:
        return asyncio.run(_nodes_known(bootstrap, seconds))
    finally:
        quiet.setLevel(level)


async def _nodes_known(bootstrap: str, seconds: float) -> int:
    admin = AIOKafkaAdminClient(bootstrap_servers=bootstrap, request_timeout_ms=int(seconds * 1000))
    try:
        async with asyncio.timeout(seconds):
            await admin.start()
            return len((await admin.describe_cluster())["brokers"])
    except (KafkaError, TimeoutError, OSError):
        return 0
    finally:
        await admin.close()
