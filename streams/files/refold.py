"""A session or a user folded again from records in the history: as of a past time, after `forget`,
or where the fold's tables are elsewhere.

The rows are those of the first folding: the same content, so that a record sent again is a
duplicate, in the same order as far as the history shows it.
"""

from collections.abc import Iterator
from typing import Any

from schemas.events import Turn
from sinks.history import connect, quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.files.applier import Place
from streams.files.stored_records import (
    LINE,
    OF_SESSIONS,
    OFFSET,
    PLACE,
    SAID,
    more,
    names_user,
    of_session,
    plan_order,
)
from streams.folds.rows import Effects, Input, Late, Refused, UserSignal
from streams.folds.rules import Rules
from streams.pipeline.decode import Dead, Given, decode_again
from streams.pipeline.entity import Entity
from streams.pipeline.ports import Signalled
from streams.pipeline.processor import RecordProcessor

MADE = ("tenant", "owner_id", "plan_id", "seq")
"""What tells in which order plans were applied."""
ORDER = f"recorded_at, src_topic, src_partition, {OFFSET}"


def refold(
    root: Location,
    tenant: str,
    session_id: str,
    rules: Rules,
    until: int | None = None,
    known_at: int | None = None,
) -> Entity:
    """A session's rows, folded again from the history's records (up to a time, and recorded by
    another)."""
    rows = _Rows()
    processor = RecordProcessor(rows, _Nothing(), rules)
    for line, place in _of_session(root, tenant, session_id, until, known_at):
        processor.process(decode_again(line, place), line, place)
    return rows.entity("sessions", tenant, session_id)


def _of_session(
    root: Location, tenant: str, session_id: str, until: int | None, known_at: int | None
) -> Iterator[Given]:
    union = " UNION ALL BY NAME ".join(
        f"SELECT recorded_at, {PLACE}, doc, {more(table)} AS more FROM {table} "
        f"WHERE session_id = $session AND epoch_us(occurred_at) <= $until "
        f"AND epoch_us(recorded_at) <= $known AND ({of_session(table)})"
        for table in OF_SESSIONS
    )
    with connect(root, tenant=tenant, views=OF_SESSIONS) as db:
        sql = f"SELECT {LINE} AS line, {PLACE} FROM ({union}) ORDER BY {ORDER}"
        given = {"session": session_id, "until": _or_ever(until), "known": _or_ever(known_at)}
        found = db.execute(sql, given)
        for line, *place in found.fetchall():
            yield line, tuple(place)


def refold_user(
    root: Location,
    tenant: str,
    user_id: str,
    rules: Rules,
    until: int | None = None,
    known_at: int | None = None,
    *,
    turns: bool = True,
) -> Entity:
    """A user's rows (up to a time, and recorded by another): what their turns signalled in each
    session, then what was said of the user alone, plans in the order in which they were applied.

    Without `turns` plans alone: enough for what nothing else writes.
    """
    rows = _Rows()
    user = rows.entity("users", tenant, user_id)
    processor = RecordProcessor(rows, _Nothing(user), rules)
    for line, place in of_user(root, tenant, user_id, until, known_at, turns=turns):
        processor.process(decode_again(line, place), line, place)
    return user


def _session(table: str) -> str:
    """SQL of the session into which a record is folded, if it is one."""
    return f"CASE WHEN {of_session(table)} THEN session_id END" if table in OF_SESSIONS else "NULL"


def of_user(
    root: Location,
    tenant: str,
    user_id: str,
    until: int | None = None,
    known_at: int | None = None,
    *,
    turns: bool = True,
    as_it_came: bool = False,
) -> Iterator[Given]:
    """A session's records after the other's, then those of the user; or all `as_it_came`."""
    tables = [table for table in SAID if turns and names_user(table)]
    then = "epoch_us(occurred_at) <= $until AND epoch_us(recorded_at) <= $known"
    told = [
        f"SELECT {_session(table)} AS session_id, recorded_at AS due, 0 AS number, doc, "
        f"{more(table)} AS more, recorded_at, {PLACE} FROM {table} "
        f"WHERE user_id = $user AND {then}"
        for table in tables
    ]
    planned = f"""
        SELECT NULL AS session_id, due, number, doc, {more("plans")} AS more, recorded_at, {PLACE}
        FROM plans JOIN ({plan_order(f"user_id = {quoted(user_id)}")})
        USING (tenant, user_id, plan_id)
        WHERE user_id = $user AND {then}
    """
    sql = f"""
        SELECT {LINE} AS line, {PLACE} FROM ({" UNION ALL BY NAME ".join([*told, planned])})
        ORDER BY {"" if as_it_came else "session_id NULLS LAST,"} due, number, {ORDER}
    """
    given = {"user": user_id, "until": _or_ever(until), "known": _or_ever(known_at)}
    with Lookup(root, tenant) as about:
        about.load("plans", "user_id = ?", user_id)
        about.load("revisions", "owner_id = ? AND plan_id IS NOT NULL", user_id, columns=MADE)
        db = about.define(*tables)
        for line, *place in db.execute(sql, given).fetchall():
            yield line, tuple(place)


def _or_ever(until: int | None) -> int:
    return 2**62 if until is None else until


class _Rows:
    """Rows in memory: of each table those of the session or user that was asked for last."""

    def __init__(self) -> None:
        self._newest: dict[str, Entity] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        known = self._newest.get(table)
        if known is None or known.where != (table, tenant, key):
            known = self._newest[table] = Entity(table, tenant, key, {})
        return known

    def keep(self, entity: Entity) -> None:
        entity.keep()


class _Nothing:
    """Takes no effects: rows alone are made again. Signals are folded that speak of `user`."""

    def __init__(self, user: Entity | None = None) -> None:
        self._user = user

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        user = self._user
        if user is None:
            return []
        return [(user, said) for said in out.signals if said.user_id == user.key]

    def emitted(
        self, entity: Entity, out: Effects, said: Input | Signalled, sent: Place
    ) -> None: ...

    def plan(self, plan: dict[str, Any], turn: Turn, origin: None) -> None: ...

    def refused(
        self, dead: Dead, error: Exception, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None:
        if not isinstance(error, Refused):  # a fault of ours: somebody waits for the answer
            raise error

    def unreadable(self, dead: Dead, sent: Place) -> None: ...

    def late(
        self, dead: Dead, late: Late, entity: Entity, said: Input | Signalled, sent: Place
    ) -> None: ...
