"""Rebuilds the memory of a user or session from the remaining records: the fold's rows, and the
derived rows of the history (`sinks.erasure.DERIVED_FROM_USERS`, `OF_TURNS`).

The result equals a history that never had the erased records; rows keep their time of recording.
"""

from abc import abstractmethod
from collections.abc import Iterable
from itertools import chain
from typing import Any

from sinks.delta import History
from sinks.erasure import DERIVED_FROM_USERS
from sinks.generation import own_folder
from sinks.locations import Location
from sinks.lookup import Lookup
from sinks.tables import to_arrow
from streams.files.fold_batch import Place, RowCollector, Stored
from streams.files.refold import Silent, session_records, user_records
from streams.files.store import Store
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, UserSignal
from streams.pipeline.decode import decode_again
from streams.pipeline.document_rows import profile_row, session_row, task_row
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import Signalled
from streams.pipeline.processor import RecordProcessor

OF_SESSION = ("session", "session_memory")
"""Kinds of revisions that belong to a session, besides links without plan."""
WRITER = "forget_session"
"""App of rebuilt rows in the tables."""
ROWS = 50_000
"""Rebuilt rows in memory before they are written."""


def rebuild_memory(
    root: Location,
    tenant: str,
    users: Iterable[str],
    rules: Rules,
    store: Store,
    tables: History,
    sessions: Iterable[str] = (),
) -> dict[str, int]:
    """Rebuilds the memory of users and sessions into the store and tables, from which it was
    erased; the next commit of the store writes it. Returns table -> number of rows."""
    counts: dict[str, int] = {}
    gathered: dict[str, list[Stored]] = {}
    rebuilt = chain(
        (rebuilt_session(own_folder(root), tenant, id, rules) for id in sessions),
        (rebuilt_user(own_folder(root), tenant, id, rules) for id in users),
    )
    for entity, rows in rebuilt:
        store.erase(*entity.where)
        if entity.names(""):
            store.adopt(entity)
        for name, table_rows in rows.items():
            gathered.setdefault(name, []).extend(table_rows)
            counts[name] = counts.get(name, 0) + len(table_rows)
        if sum(map(len, gathered.values())) >= ROWS:
            _append(tables, gathered)
    _append(tables, gathered)
    return counts


def _append(tables: History, gathered: dict[str, list[Stored]]) -> None:
    for name, rows in gathered.items():
        version = tables.versions(WRITER).get(name, -1) + 1
        tables.append(name, to_arrow(name, rows), WRITER, version)
    gathered.clear()


def rebuilt_user(
    root: Location, tenant: str, user_id: str, rules: Rules
) -> tuple[Entity, dict[str, list[Stored]]]:
    """A user's rows of the fold, empty without records, and of the history: table -> rows. Reads
    the generation in the folder `root`."""
    rows = _Rows()
    user = rows.entity("users", tenant, user_id)
    collector = _OfUser(rows, user)
    processor = RecordProcessor(rows, collector, rules)
    for line, place in user_records(root, tenant, user_id, as_it_came=True):
        processor.process(decode_again(line, place), line, place)
    for entity, source in processor.take_changed().users.items():
        collector.document(profile_row(entity, rules), source)
    return user, collector.take()


def rebuilt_session(
    root: Location, tenant: str, session_id: str, rules: Rules
) -> tuple[Entity, dict[str, list[Stored]]]:
    """`remade` of a session: its rows, without its users' rows."""
    rows = _Rows()
    session = rows.entity("sessions", tenant, session_id)
    collector = _OfSession(rows, session)
    processor = RecordProcessor(rows, collector, rules)
    with Lookup(root, tenant) as lookup:
        for line, place in session_records(lookup, session_id):
            processor.process(decode_again(line, place), line, place)
    changed = processor.take_changed()
    for entity, source in changed.sessions.items():
        collector.document(session_row(entity, rules), source)
    for (entity, task_id), source in changed.tasks.items():
        collector.document(task_row(entity, task_id, rules), source)
    return session, collector.take()


class _Rows:
    """Rows of one user and their sessions, in memory."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str, str], Entity] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        location = (table, tenant, key)
        if location not in self._known:
            self._known[location] = Entity(*location, {})
        return self._known[location]

    def keep(self, entity: Entity) -> None:
        entity.keep()


class _OfOne(Silent, RowCollector):
    """Collects only rows of one user or session."""

    def __init__(self, rows: _Rows, owner: Entity) -> None:
        super().__init__(rows)
        self._owner = owner

    @abstractmethod
    def _is_own(self, row: Any) -> bool: ...

    def emitted(self, entity: Entity, out: Effects, record: Input | Signalled, place: Place) -> Any:
        out.history = [row for row in out.history if self._is_own(row)]
        return super().emitted(entity, out, record, place)


class _OfUser(_OfOne):
    """Collects a user's rows. Shared sessions are folded from this user's turns only, so their rows
    are discarded."""

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        user = self._owner
        return [(user, signal) for signal in out.signals if signal.user_id == user.key]

    def _is_own(self, row: Any) -> bool:
        if row.table not in DERIVED_FROM_USERS:
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
    """Whether a derived row belongs to its session."""
    if row.table == "links":
        return bool(row.provisional)
    if row.table == "revisions":
        is_guess = row.entity_type == "link" and row.plan_id is None
        return row.entity_type in OF_SESSION or is_guess
    return False
