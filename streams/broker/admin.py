"""Queries a broker: number of nodes, and whether groups have a coordinator."""

from collections.abc import Awaitable, Callable
from typing import Any

from aiokafka.admin import AIOKafkaAdminClient

from streams import event_loop
from streams.errors import TurnfoldError
from streams.kafka.client.admin import connected
from streams.kafka.client.settings import KafkaSettings

WITHIN = 2.0  # seconds


def nodes_known(bootstrap: str, cluster_id: str) -> int:
    """Number of brokers in a describe-cluster response; 0 if no node of that cluster responds in
    time."""
    cluster = _query(bootstrap, lambda admin: admin.describe_cluster())
    return len(cluster["brokers"]) if cluster and cluster["cluster_id"] == cluster_id else 0


def coordinates(bootstrap: str) -> bool:
    """Whether a group finds its coordinator. A new cluster creates a topic on the first request,
    and clients log each error until then."""
    return _query(bootstrap, lambda admin: admin.find_coordinator("ready")) is not None


def _query(bootstrap: str, query: Callable[[AIOKafkaAdminClient], Awaitable[Any]]) -> Any:
    """The response, or None after a timeout."""

    async def ask() -> Any:
        async with connected(KafkaSettings.plain(bootstrap), WITHIN) as admin:
            return await query(admin)

    try:
        return event_loop.run(ask())
    except TurnfoldError:
        return None
