"""Asks a broker real questions: how many nodes it knows, and who coordinates its groups."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

from streams import event_loop
from streams.errors import TurnfoldError
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings

WITHIN = 2.0  # seconds


def nodes_known(bootstrap: str, cluster_id: str) -> int:
    """The number of brokers a describe-cluster request names; 0 where none of that cluster answers
    in time."""
    cluster = _asked(bootstrap, lambda admin: admin.describe_cluster())
    return len(cluster["brokers"]) if cluster and cluster["cluster_id"] == cluster_id else 0


def coordinates(bootstrap: str) -> bool:
    """Whether a group finds its coordinator. A new cluster makes a topic first when it is asked,
    and clients log each refusal until then as an error."""
    return _asked(bootstrap, lambda admin: admin.find_coordinator("ready")) is not None


def _asked(bootstrap: str, question: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
    """The answer; None where there is none in time."""

    async def ask() -> Any:
        async with connected(KafkaSettings.plain(bootstrap), WITHIN) as admin:
            return await question(admin)

    try:
        return event_loop.run(ask())
    except TurnfoldError:
        return None
