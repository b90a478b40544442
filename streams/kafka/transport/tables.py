"""The lanes' tables as Faust tables: listed, but not recovered by Faust.

Faust's manager would subscribe the group to the changelogs and read them record by record; here
lanes read them (`restore`).
"""

from typing import TYPE_CHECKING, Any

import faust
from faust.tables.manager import TableManager
from faust.types import TP

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
