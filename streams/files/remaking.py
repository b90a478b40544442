"""What memory holds of a user, made again from the records that are left: the rows of the fold, and
those of the history that folding these records has made (`sinks.erasure.MADE_OF_USERS`).

They are what a history would hold that never had the records which are gone; each says when it was
recorded, as it did.
"""

from collections.abc import Iterable
from typing import Any

from sinks.delta import History
from sinks.erasure import MADE_OF_USERS
from sinks.generation import own
from sinks.locations import Location
from sinks.tables import to_arrow
from streams.files.applier import Place, RowCollector, Stored
from streams.files.refold import of_user
from streams.files.store import Store
from streams.folds.rows import Effects, Input, Late, Refused, UserSignal
from streams.folds.rules import Rules
from streams.pipeline.decode import Dead, decode_again
from streams.pipeline.document_rows import profile_row
from streams.pipeline.entity import Entity
from streams.pipeline.ports import Signalled
from streams.pipeline.processor import RecordProcessor

OF_SESSION = ("session", "session_memory")
"""Kinds of revisions that are a session's own; so is a link's that no plan made."""
WRITER = "forget_session"
"""The app whose versions count in the tables what is made again."""
ROWS = 50_000
"""Of users whose memory is made again, before they are written."""


def remake(
    root: Location, tenant: str, users: Iterable[str], rules: Rules, store: Store, tables: History
) -> dict[str, int]:
    """The users' memory from what is left, in the store and in tables that have nothing of it; the
    next commit of the store writes it. Table -> how many rows it was."""
    made: dict[str, int] = {}
    gathered: dict[str, list[Stored]] = {}
    for user_id in users:
        user, rows = remade(own(root), tenant, user_id, rules)
        store.erase("users", tenant, user_id)
        if user.names(""):
            store.adopt(user)
        for name, some in rows.items():
            gathered.setdefault(name, []).extend(some)
            made[name] = made.get(name, 0) + len(some)
        if sum(map(len, gathered.values())) >= ROWS:
            _append(tables, gathered)
    _append(tables, gathered)
    return made


def _append(tables: History, gathered: dict[str, list[Stored]]) -> None:
    for name, rows in gathered.items():
        version = tables.versions(WRITER).get(name, -1) + 1
        tables.append(name, to_arrow(name, rows), WRITER, version)
    gathered.clear()


def remade(
    root: Location, tenant: str, user_id: str, rules: Rules
) -> tuple[Entity, dict[str, list[Stored]]]:
    """The user's rows in the fold's tables, none if nothing is left, and in the history's: table ->
    rows. Reads the generation in the folder `root`."""
    rows = _Rows()
    user = rows.entity("users", tenant, user_id)
    collector = _OfUser(rows, user)
    processor = RecordProcessor(rows, collector, rules)
    for line, place in of_user(root, tenant, user_id, as_it_came=True):
        processor.process(decode_again(line, place), line, place)
    for changed, source in processor.take_changed().users.items():
        collector.document(profile_row(changed, rules), source)
    return user, collector.take()


class _Rows:
    """Rows in memory: those of one user, and of the sessions in which they spoke."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Entity] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        where = (table, tenant, key)
        if where not in self._known:
            self._known[where] = Entity(*where, {})
        return self._known[where]

    def keep(self, entity: Entity) -> None:
        entity.keep()


class _OfUser(RowCollector):
    """Takes what is made of one user. A session that others spoke in is folded from this user's
    turns alone: what is made of it is not taken."""

    def __init__(self, rows: _Rows, user: Entity) -> None:
        super().__init__(rows)
        self._user = user

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        return [(self._user, said) for said in out.signals if said.user_id == self._user.key]

    def emitted(self, entity: Entity, out: Effects, said: Input | Signalled, sent: Place) -> Any:
        out.history = [row for row in out.history if self._is_theirs(row)]
        return super().emitted(entity, out, said, sent)

    def _is_theirs(self, row: Any) -> bool:
        if row.table not in MADE_OF_USERS:
            return False
        owner = row.owner_id if hasattr(row, "owner_id") else row.user_id
        if owner != self._user.key:
            return False
        if row.table == "links":
            return not row.provisional
        if row.table == "revisions":
            is_guess = row.entity_type == "link" and row.plan_id is None
            return row.entity_type not in OF_SESSION and not is_guess
        return True

    def refused(
        self, dead: Dead, error: Exception, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None:
        if not isinstance(error, Refused):  # a fault of ours: nothing of the user may be lost
            raise error

    def unreadable(self, dead: Dead, sent: Place) -> None: ...

    def late(
        self, dead: Dead, late: Late, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None: ...
