"""A Faust app whose agents run on lanes (docs/kafka-tier.md)."""

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import faust
from faust.transport.drivers import TRANSPORTS

from streams.errors import TurnfoldError
from streams.kafka.client import denials
from streams.kafka.transport.batch_buffer import Chunk
from streams.kafka.transport.lanes import Lanes
from streams.kafka.transport.processing import SESSION_TIMEOUT, AgentSpec, LaneSettings
from streams.kafka.transport.tables import LaneRouter, LaneTable, LaneTables
from streams.kafka.transport.transport import SCHEME

log = logging.getLogger(__name__)

# as the entry point does, for a checkout that is not installed
TRANSPORTS.aliases.setdefault(SCHEME, "streams.kafka.transport.transport:Transport")

HEARTBEAT = 2.0


class ChunkSchema(faust.Schema[Any, Any]):
    """A message's value is the chunk itself: nothing to decode, so nothing can fail to."""

    def loads_key(self, app: Any, message: Any, **_: Any) -> Any:
        return message.key

    def loads_value(self, app: Any, message: Any, **_: Any) -> Any:
        return message.value


class Sources(faust.Topic):
    """An agent's source topics. Faust's command `agents` asks for one name."""

    def get_topic_name(self) -> str:
        return ", ".join(self.topics)


class App(faust.App):
    """`plans` become agents of the same name. `options` are Faust's settings.

    `bootstrap`: host:port, several with commas. `connection`: what every aiokafka client is made
    with; default: no login, no prefix. `standbys`: how many other workers follow each
    lane's changelog, to take over sooner. `leaves`: a worker with static membership
    (`consumer_group_instance_id`) leaves its group when it stops, and is not expected back.
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
            "broker": ";".join(f"{SCHEME}://{one.strip()}" for one in bootstrap.split(",")),
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
            "Router": LaneRouter,
            "table_standby_replicas": standbys,
            "worker_redirect_stdouts": False,
            **options,
        }
        self.connection = connection or {"bootstrap_servers": bootstrap.split(",")}
        super().__init__(id, **settings)
        # `faust worker` turns `web_enabled` on, and opens a port to everybody
        self.boot_strategy.enable_web = bool(options.get("web_enabled"))
        self.lanes = Lanes(id, plans, lane_settings or LaneSettings())
        for plan in plans:
            self._add(plan)

    async def crash(self, reason: BaseException) -> None:
        """Ends the worker, once. `run` says an error of ours in a line, without a traceback."""
        if self.crashed:
            return
        reason = denials.of(reason) or reason
        if not isinstance(reason, TurnfoldError):
            await super().crash(reason)
            return
        for node in self.beacon.walk():  # this one, and Faust's own worker where there is one
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
