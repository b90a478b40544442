"""What memory holds of a user or a session, made again from the records that are left: the rows of
the fold, and those of the history that folding these records has made
(`sinks.erasure.MADE_OF_USERS`, `OF_TURNS`).

They are what a history would hold that never had the records which are gone; each says when it was
recorded, as it did.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Any

from sinks.delta import History
from sinks.erasure import MADE_OF_USERS
from sinks.generation import own
from sinks.locations import Location
from sinks.lookup import Lookup
from sinks.tables import to_arrow
from streams.files.applier import Place, RowCollector, Stored
from streams.files.refold import of_a_session, of_user
from streams.files.store import Store
from streams.folds.rows import Effects, Input, Late, Refused, UserSignal
from streams.folds.rules import Rules
from streams.pipeline.decode import Dead, decode_again
from streams.pipeline.document_rows import profile_row, session_row, task_row
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
    root: Location,
    tenant: str,
    users: Iterable[str],
    rules: Rules,
    store: Store,
    tables: History,
    sessions: Iterable[str] = (),
) -> dict[str, int]:
    """The memory of users and sessions from what is left, in the store and in tables that have
    nothing of it; the next commit of the store writes it. Table -> how many rows it was."""
    made: dict[str, int] = {}
    gathered: dict[str, list[Stored]] = {}
    again = chain(
        (remade_session(own(root), tenant, one, rules) for one in sessions),
        (remade(own(root), tenant, one, rules) for one in users),
    )
    for entity, rows in again:
        store.erase(*entity.where)
        if entity.names(""):
            store.adopt(entity)
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


def remade_session(
    root: Location, tenant: str, session_id: str, rules: Rules
) -> tuple[Entity, dict[str, list[Stored]]]:
    """The same of a session: its own rows, without those of its users."""
    rows = _Rows()
    session = rows.entity("sessions", tenant, session_id)
    collector = _OfSession(rows, session)
    processor = RecordProcessor(rows, collector, rules)
    with Lookup(root, tenant) as about:
        for line, place in of_a_session(about, session_id):
            processor.process(decode_again(line, place), line, place)
    changed = processor.take_changed()
    for entity, source in changed.sessions.items():
        collector.document(session_row(entity, rules), source)
    for (entity, task_id), source in changed.tasks.items():
        collector.document(task_row(entity, task_id, rules), source)
    return session, collector.take()


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


class _OfOne(RowCollector):
    """Takes what is made of one user or session alone."""

    def __init__(self, rows: _Rows, owner: Entity) -> None:
        super().__init__(rows)
        self._owner = owner

    @abstractmethod
    def _is_own(self, row: Any) -> bool: ...

    def emitted(self, entity: Entity, out: Effects, said: Input | Signalled, sent: Place) -> Any:
        out.history = [row for row in out.history if self._is_own(row)]
        return super().emitted(entity, out, said, sent)

    def refused(
        self, dead: Dead, error: Exception, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None:
        if not isinstance(error, Refused):  # a fault of ours: nothing of the user may be lost
            raise error

    def unreadable(self, dead: Dead, sent: Place) -> None: ...

    def late(
        self, dead: Dead, late: Late, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None: ...


class _OfUser(_OfOne):
    """A session that others spoke in is folded from this user's turns alone: what is made of it is
    not taken."""

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        user = self._owner
        return [(user, said) for said in out.signals if said.user_id == user.key]

    def _is_own(self, row: Any) -> bool:
        if row.table not in MADE_OF_USERS:
            return False
        owner = row.owner_id if hasattr(row, "owner_id") else row.user_id
        return bool(owner == self._owner.key) and not _is_of_session(row)


class _OfSession(_OfOne):
    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        return []

    def _is_own(self, row: Any) -> bool:
        return (
            row.table in ("links", "revisions")
            and bool(row.owner_id == self._owner.key)
            and _is_of_session(row)
        )


def _is_of_session(row: Any) -> bool:
    """Whether a row made of a user or a session is the session's own."""
    if row.table == "links":
        return bool(row.provisional)
    if row.table == "revisions":
        is_guess = row.entity_type == "link" and row.plan_id is None
        return row.entity_type in OF_SESSION or is_guess
    return False
