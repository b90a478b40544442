"""The lanes' tables as Faust tables: listed, routed to, and left alone by its recovery.

Faust's manager would subscribe the group to the changelogs and read them record by record; here
lanes read them (`restore`). A table's partition is where its sources' are, which the
assignor keeps together, so that is what a key is looked up by.
"""

from typing import TYPE_CHECKING, Any

import faust
from faust.app.router import Router
from faust.tables.manager import TableManager
from faust.types import TP
from faust.types.assignor import HostToPartitionMap
from yarl import URL

from streams.kafka.client.partitions import partition_of
from streams.kafka.transport.processing import AgentSpec

if TYPE_CHECKING:
    from streams.kafka.transport.app import App


class LaneTable(faust.Table[bytes, bytes]):
    """A plan's rows, whose changelog is written in the lanes' transactions."""

    app: "App"

    def __init__(self, app: "App", plan: AgentSpec) -> None:
        changelog = app.topic(plan.changelog, key_type=bytes, value_type=bytes, internal=True)
        super().__init__(
            app, name=plan.table, help=plan.about, key_type=bytes, value_type=bytes,
            changelog_topic=changelog,
        )  # fmt: skip
        self.plan = plan

    def persisted_offset(self, tp: TP) -> int | None:
        """The newest offset of the changelog that the lane has; None where it is elsewhere."""
        lane = self.app.lanes.lanes.get((self.plan.agent, tp.partition))
        return lane.standing.position - 1 if lane else None

    async def need_active_standby_for(self, tp: TP) -> bool:
        return False

    async def on_rebalance(self, *_: Any) -> None:
        """Lanes come and go by themselves."""

    async def on_recovery_completed(self, *_: Any) -> None:
        """Lanes restore by themselves."""

    def _new_store(self) -> Any:
        raise TypeError(f"table {self.name}: its rows are the lanes' (transport.rows)")


class LaneTables(TableManager):
    """Subscribes to no changelog, so that recovery has no partition to read."""

    def __bool__(self) -> bool:
        """Recovery asks whether there are tables to read, and else just starts the streams."""
        return False

    async def _update_channels(self) -> None:
        self._tables_finalized.set()
        self._tables_registered.set()


class LaneRouter(Router):
    """Finds the worker of a key; workers are known by their `canonical_url`."""

    app: "App"

    def key_store(self, table_name: str, key: Any) -> URL:
        """The worker that has a key of the table.

        Raises:
            KeyError: no such table, or no worker has that key now.
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
        """The table's partitions by worker."""
        plan = self._plan(table_name)
        return {
            url: {plan.changelog: topics.get(plan.sources[0], [])}
            for url, topics in self.external_topics_metadata().items()
        }

    def tables_metadata(self) -> HostToPartitionMap:
        """All tables' partitions by worker."""
        found: dict[str, Any] = {}
        for name in self.app.tables:
            for url, topics in self.table_metadata(name).items():
                found.setdefault(url, {}).update(topics)
        return found

    def _plan(self, table_name: str) -> AgentSpec:
        table = self._get_table(table_name)
        assert isinstance(table, LaneTable)
        return table.plan
