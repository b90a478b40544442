"""The lanes' tables as Faust tables: listed and routed to, but not recovered by Faust.

Faust's manager would subscribe the group to the changelogs and read them record by record; here
lanes read them (`restore`). The assignor keeps a table's partition with its sources' partitions, so
keys are looked up by source partition.
"""

from typing import TYPE_CHECKING, Any

import faust
from faust.app.router import Router
from faust.tables.manager import TableManager
from faust.types import TP
from faust.types.assignor import HostToPartitionMap
from yarl import URL

from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.interfaces import AgentSpec

if TYPE_CHECKING:
    from streams.kafka.transport.app import App


class LaneTable(faust.Table[bytes, bytes]):
    """Rows of a plan; the lanes' transactions write its changelog."""

    app: "App"

    def __init__(self, app: "App", plan: AgentSpec) -> None:
        changelog = app.topic(plan.changelog, key_type=bytes, value_type=bytes, internal=True)
        super().__init__(
            app, name=plan.table, help=plan.about, key_type=bytes, value_type=bytes,
            changelog_topic=changelog,
        )  # fmt: skip
        self.plan = plan

    def persisted_offset(self, tp: TP) -> int | None:
        """Newest changelog offset that the lane has, or None if the lane is on another worker."""
        lane = self.app.lanes.lanes.get((self.plan.agent, tp.partition))
        return lane.standing.position - 1 if lane else None

    async def need_active_standby_for(self, tp: TP) -> bool:
        return False

    async def on_rebalance(self, *_: Any) -> None:
        """Disabled, as lanes handle rebalances."""

    async def on_recovery_completed(self, *_: Any) -> None:
        """Disabled, as lanes restore themselves."""

    def _new_store(self) -> Any:
        raise TypeError(f"table {self.name}: its rows are the lanes' (transport.rows)")


class LaneTables(TableManager):
    """Subscribes to no changelog, which makes Faust's recovery a no-op."""

    def __bool__(self) -> bool:
        """False: Faust's recovery then starts the streams directly."""
        return False

    async def _update_channels(self) -> None:
        self._tables_finalized.set()
        self._tables_registered.set()


class LaneRouter(Router):
    """Finds the worker of a key; workers are identified by their `canonical_url`."""

    app: "App"

    def key_store(self, table_name: str, key: Any) -> URL:
        """URL of the worker that has a key of the table.

        Raises:
            KeyError: unknown table, or no worker has the key now.
        """
        plan = self._plan(table_name)
        count = self.app.consumer.topic_partitions(plan.sources[0])
        if count:
            raw = key if isinstance(key, bytes) else str(key).encode()
            partition = partition_of(raw, count)
            for url, topics in self.table_metadata(table_name).items():
                if partition in topics[plan.changelog]:
                    return URL(url)
        raise KeyError(f"{table_name}: no worker has {key!r} now")

    def table_metadata(self, table_name: str) -> HostToPartitionMap:
        """Partitions of the table by worker."""
        plan = self._plan(table_name)
        return {
            url: {plan.changelog: topics.get(plan.sources[0], [])}
            for url, topics in self.external_topics_metadata().items()
        }

    def tables_metadata(self) -> HostToPartitionMap:
        """Partitions of all tables by worker."""
        metadata: dict[str, Any] = {}
        for name in self.app.tables:
            for url, topics in self.table_metadata(name).items():
                metadata.setdefault(url, {}).update(topics)
        return metadata

    def _plan(self, table_name: str) -> AgentSpec:
        table = self._get_table(table_name)
        assert isinstance(table, LaneTable)
        return table.plan
