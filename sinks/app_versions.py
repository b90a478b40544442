"""How far a table has what each app wrote, asked once.

`deltalake` reads all commits since the last checkpoint again for each app it is asked about: in an
object store each of them is a request. What holds at one version of a table never changes, and the
next version is known if it is a commit of our own.
"""

from collections.abc import Iterable

from deltalake import DeltaTable, Transaction

from sinks.delta import written


class AppVersions:
    """Of the tables of one history, each at the version that its handle was last seen at."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, int]]] = {}

    def of(self, table: str, delta: DeltaTable, app_id: str) -> int:
        """The last version that this app wrote, or UNWRITTEN."""
        at, apps = self._known.get(table, (None, {}))
        if at != delta.version():
            apps = {}
            self._known[table] = delta.version(), apps
        if app_id not in apps:
            apps[app_id] = written(delta, app_id)
        return apps[app_id]

    def committed(
        self, table: str, delta: DeltaTable, before: int, made: Iterable[Transaction]
    ) -> None:
        """We have made a commit from version `before`, with these transactions. The handle stands
        at the newest version: where that is the next one it is ours, else others wrote, too."""
        at, apps = self._known.pop(table, (None, {}))
        if at == before and delta.version() == before + 1:
            more = {one.app_id: one.version for one in made}
            self._known[table] = before + 1, {**apps, **more}

    def forget(self, table: str) -> None:
        """A commit has failed: nobody knows where the table stands."""
        self._known.pop(table, None)
