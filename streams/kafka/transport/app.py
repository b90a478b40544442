"""A Faust app that runs its agents on lanes (docs/kafka-tier.md)."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import faust
from faust.transport.drivers import TRANSPORTS

from streams.errors import TurnfoldError
from streams.kafka.client import acl_errors
from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.interfaces import SESSION_TIMEOUT, AgentSpec, LaneSettings
from streams.kafka.transport.lanes import Lanes
from streams.kafka.transport.tables import LaneTable, LaneTables
from streams.kafka.transport.transport import SCHEME

log = logging.getLogger(__name__)

# like the entry point, for a checkout without installation
TRANSPORTS.aliases.setdefault(SCHEME, "streams.kafka.transport.transport:Transport")

HEARTBEAT = 2.0


class ChunkSchema(faust.Schema[Any, Any]):
    """Passes the chunk through as the message's value: decoding cannot fail."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> Any:
        return message.key

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:
        return message.value


class Sources(faust.Topic):
    """An agent's source topics as one Faust topic; the command `agents` shows their joined name."""

    def get_topic_name(self) -> str:
        return ", ".join(self.topics)


class App(faust.App):
    """Faust app that runs `plans` as agents on lanes. `options` are Faust's settings.

    `bootstrap`: host:port, comma-separated. `connection`: keyword arguments for every aiokafka
    client (default: no login, no prefix). `standbys`: number of other workers that follow each
    lane's changelog for faster takeover. `leaves`: a worker with static membership
    (`consumer_group_instance_id`) leaves its group when it stops.
    """

    leaves = False

    def __init__(
        self,
        id: str,
        plans: Sequence[AgentSpec],
        *,
        bootstrap: str,
        datadir: Path,
        connection: Mapping[str, Any] | None = None,
        lane_settings: LaneSettings | None = None,
        standbys: int = 0,
        **options: Any,
    ) -> None:
        settings: dict[str, Any] = {
            "broker": ";".join(f"{SCHEME}://{address.strip()}" for address in bootstrap.split(",")),
            "datadir": str(datadir),
            "broker_session_timeout": SESSION_TIMEOUT,
            "broker_heartbeat_interval": HEARTBEAT,
            "broker_rebalance_timeout": 30.0,
            "broker_request_timeout": 20.0,
            "stream_wait_empty": False,
            "stream_recovery_delay": 0.0,
            "topic_allow_declare": False,
            "topic_disable_leader": True,
            "web_enabled": False,
            "Topic": Sources,
            "TableManager": LaneTables,
            "table_standby_replicas": standbys,
            "worker_redirect_stdouts": False,
            **options,
        }
        self.connection = connection or {"bootstrap_servers": bootstrap.split(",")}
        super().__init__(id, **settings)
        # `faust worker` turns `web_enabled` on and opens a public port
        self.boot_strategy.enable_web = bool(options.get("web_enabled"))
        self.lanes = Lanes(id, plans, lane_settings or LaneSettings())
        for plan in plans:
            self._add(plan)

    async def crash(self, reason: BaseException) -> None:
        """Stops the worker, once. A TurnfoldError is logged by `run` as one line without a
        traceback."""
        if self.crashed:
            return
        reason = acl_errors.of(reason) or reason
        if not isinstance(reason, TurnfoldError):
            await super().crash(reason)
            return
        for node in self.beacon.walk():  # this app, and Faust's worker if there is one
            node.data._crash(reason)

    def _add(self, plan: AgentSpec) -> None:
        async def hand_over(chunks: faust.StreamT[Chunk]) -> None:
            async for chunk in chunks:
                try:
                    self.lanes.offer(chunk)
                except RuntimeError as error:
                    await self.crash(error)

        hand_over.__name__ = hand_over.__qualname__ = plan.agent
        source = self.topic(*plan.sources, schema=ChunkSchema(), acks=False)
        self.agent(source, name=plan.agent)(hand_over)
        self.tables.add(LaneTable(self, plan))
