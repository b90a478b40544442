"""A session or a user folded again from records in the history: as of a past time, after `forget`,
or where the fold's tables are elsewhere.

The rows are those of the first folding: the same content, so that a record sent again is a
duplicate, in the same order as far as the history shows it.
"""

from collections.abc import Iterable
from typing import Any

from schemas.events import Turn
from sinks.history import quoted
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
PARTITION = "src_topic, src_partition"
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
    with Lookup(root, tenant) as about:
        for line, place in of_a_session(about, session_id, until, known_at):
            processor.process(decode_again(line, place), line, place)
    return rows.entity("sessions", tenant, session_id)


def of_a_session(
    about: Lookup, session_id: str, until: int | None = None, known_at: int | None = None
) -> list[Given]:
    """A session's records, in the order in which they are folded."""
    union = " UNION ALL BY NAME ".join(
        f"SELECT occurred_at, recorded_at, {PLACE}, doc, {more(table)} AS more FROM {table} "
        f"WHERE session_id = $session AND epoch_us(occurred_at) <= $until "
        f"AND epoch_us(recorded_at) <= $known AND ({of_session(table)})"
        for table in OF_SESSIONS
    )
    given = {"session": session_id, "until": _or_ever(until), "known": _or_ever(known_at)}
    return _stored(about, OF_SESSIONS, f"({union}) ORDER BY {ORDER}", given)


def _stored(
    about: Lookup, tables: Iterable[str], ordered: str, given: dict[str, Any]
) -> list[Given]:
    sql = f"SELECT {LINE} AS line, {PLACE} FROM {ordered}"
    found = about.define(*tables).execute(sql, given).fetchall()
    return [(line, (topic, partition, offset)) for line, topic, partition, offset in found]


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
) -> list[Given]:
    """A session's records after the other's, then those of the user; or all `as_it_came`. Without
    `turns` plans alone."""
    tables = [table for table in SAID if turns and names_user(table)]
    then = "epoch_us(occurred_at) <= $until AND epoch_us(recorded_at) <= $known"
    told = [
        f"SELECT {_session(table)} AS session_id, recorded_at AS due, 0 AS number, doc, "
        f"{more(table)} AS more, occurred_at, recorded_at, {PLACE} FROM {table} "
        f"WHERE user_id = $user AND {then}"
        for table in tables
    ]
    planned = f"""
        SELECT NULL AS session_id, due, number, doc, {more("plans")} AS more, occurred_at,
            recorded_at, {PLACE}
        FROM plans JOIN ({plan_order(f"user_id = {quoted(user_id)}")})
        USING (tenant, user_id, plan_id)
        WHERE user_id = $user AND {then}
    """
    ordered = f"""({" UNION ALL BY NAME ".join([*told, planned])})
        ORDER BY {"" if as_it_came else "session_id NULLS LAST,"} due, number, {ORDER}
    """
    given = {"user": user_id, "until": _or_ever(until), "known": _or_ever(known_at)}
    with Lookup(root, tenant) as about:
        about.load("plans", "user_id = ?", user_id)
        sources = f"SELECT DISTINCT {PARTITION} FROM plans LIMIT 2 OFFSET 1"
        # of one partition the offsets alone tell the order
        whose = "owner_id = ? AND plan_id IS NOT NULL"
        is_mixed = about.db.execute(sources).fetchall()
        about.load("revisions", whose if is_mixed else "false AND owner_id = ?", user_id,
                   columns=MADE)  # fmt: skip
        return _stored(about, tables, ordered, given)


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
