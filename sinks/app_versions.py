"""Cache of the last version that each app has committed to each table.

For each app `deltalake` reads all commits since the last checkpoint again; in an object store each
commit is a request. The apps of one table version never change, and the next version's apps are
known if this process committed it.
"""

from collections.abc import Iterable

from deltalake import DeltaTable, Transaction

from sinks.delta import written


class AppVersions:
    """App versions of one history's tables, per table at the handle's last version."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, int]]] = {}

    def of(self, table: str, delta: DeltaTable, app_id: str) -> int:
        """The last version that this app wrote, or UNWRITTEN."""
        version, apps = self._known.get(table, (None, {}))
        if version != delta.version():
            apps = {}
            self._known[table] = delta.version(), apps
        if app_id not in apps:
            apps[app_id] = written(delta, app_id)
        return apps[app_id]

    def committed(
        self, table: str, delta: DeltaTable, before: int, transactions: Iterable[Transaction]
    ) -> None:
        """Records a commit of this process on top of version `before`.

        The handle is at the newest version: if that is `before` + 1, no other writer committed.
        """
        version, apps = self._known.pop(table, (None, {}))
        if version == before and delta.version() == before + 1:
            versions = {transaction.app_id: transaction.version for transaction in transactions}
            self._known[table] = before + 1, {**apps, **versions}

    def forget(self, table: str) -> None:
        """Drops a table after a failed commit: its version is unknown."""
        self._known.pop(table, None)
