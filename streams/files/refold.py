"""Folds a session or user again from records in the history: as of a past time, after `forget`, or
if the fold's tables are elsewhere.

The records have the same content as before, so that a repeated record is a duplicate, and the same
order as far as the history shows it.
"""

from collections.abc import Iterable
from typing import Any

from schemas.events import Turn
from sinks.history import quoted
from sinks.locations import Location
from sinks.lookup import Lookup
from streams.files.fold_batch import Place
from streams.files.stored_records import (
    INPUT_TABLES,
    LINE,
    OFFSET,
    PLACE,
    SESSION_TABLES,
    extra_fields,
    names_user,
    of_session,
    plan_order,
)
from streams.folds.constants import Rules
from streams.folds.effects import Effects, Input, Late, Refused, UserSignal
from streams.pipeline.decode import Dead, Given, decode_again
from streams.pipeline.entity import Entity
from streams.pipeline.interfaces import Signalled
from streams.pipeline.processor import RecordProcessor

PLAN_ORDER_COLUMNS = ("tenant", "owner_id", "plan_id", "seq")
"""Columns that determine the order in which plans were applied."""
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
    """A session's rows, folded again from the history's records (up to `until`, recorded by
    `known_at`)."""
    rows = _Rows()
    processor = RecordProcessor(rows, _Nothing(), rules)
    with Lookup(root, tenant) as lookup:
        for line, place in session_records(lookup, session_id, until, known_at):
            processor.process(decode_again(line, place), line, place)
    return rows.entity("sessions", tenant, session_id)


def session_records(
    lookup: Lookup, session_id: str, until: int | None = None, known_at: int | None = None
) -> list[Given]:
    """A session's records in folding order."""
    union = " UNION ALL BY NAME ".join(
        f"SELECT occurred_at, recorded_at, {PLACE}, doc, {extra_fields(table)} AS more "
        f"FROM {table} "
        f"WHERE session_id = $session AND epoch_us(occurred_at) <= $until "
        f"AND epoch_us(recorded_at) <= $known AND ({of_session(table)})"
        for table in SESSION_TABLES
    )
    parameters = {"session": session_id, "until": _or_ever(until), "known": _or_ever(known_at)}
    return _record_lines(lookup, SESSION_TABLES, f"({union}) ORDER BY {ORDER}", parameters)


def _record_lines(
    lookup: Lookup, tables: Iterable[str], ordered: str, parameters: dict[str, Any]
) -> list[Given]:
    sql = f"SELECT {LINE} AS line, {PLACE} FROM {ordered}"
    lines = lookup.define(*tables).execute(sql, parameters).fetchall()
    return [(line, (topic, partition, offset)) for line, topic, partition, offset in lines]


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
    """A user's rows (up to `until`, recorded by `known_at`): signals of their turns per session,
    then records of the user, plans in the order in which they were applied.

    `turns`: False for plans alone, enough for memory that is only written by plans.
    """
    rows = _Rows()
    user = rows.entity("users", tenant, user_id)
    processor = RecordProcessor(rows, _Nothing(user), rules)
    for line, place in user_records(root, tenant, user_id, until, known_at, turns=turns):
        processor.process(decode_again(line, place), line, place)
    return user


def _session(table: str) -> str:
    """SQL of the session into which a record is folded, or NULL."""
    return (
        f"CASE WHEN {of_session(table)} THEN session_id END" if table in SESSION_TABLES else "NULL"
    )


def user_records(
    root: Location,
    tenant: str,
    user_id: str,
    until: int | None = None,
    known_at: int | None = None,
    *,
    turns: bool = True,
    as_it_came: bool = False,
) -> list[Given]:
    """A user's records, session by session, then those without session; or all in order of arrival
    (`as_it_came`). `turns`: False for plans alone."""
    tables = [table for table in INPUT_TABLES if turns and names_user(table)]
    time_sql = "epoch_us(occurred_at) <= $until AND epoch_us(recorded_at) <= $known"
    selects = [
        f"SELECT {_session(table)} AS session_id, recorded_at AS due, 0 AS number, doc, "
        f"{extra_fields(table)} AS more, occurred_at, recorded_at, {PLACE} FROM {table} "
        f"WHERE user_id = $user AND {time_sql}"
        for table in tables
    ]
    planned = f"""
        SELECT NULL AS session_id, due, number, doc, {extra_fields("plans")} AS more, occurred_at,
            recorded_at, {PLACE}
        FROM plans JOIN ({plan_order(f"user_id = {quoted(user_id)}")})
        USING (tenant, user_id, plan_id)
        WHERE user_id = $user AND {time_sql}
    """
    ordered = f"""({" UNION ALL BY NAME ".join([*selects, planned])})
        ORDER BY {"" if as_it_came else "session_id NULLS LAST,"} due, number, {ORDER}
    """
    parameters = {"user": user_id, "until": _or_ever(until), "known": _or_ever(known_at)}
    with Lookup(root, tenant) as lookup:
        lookup.load("plans", "user_id = ?", user_id)
        sources = f"SELECT DISTINCT {PARTITION} FROM plans LIMIT 2 OFFSET 1"
        # within one partition the offsets determine the order
        condition = "owner_id = ? AND plan_id IS NOT NULL"
        is_mixed = lookup.db.execute(sources).fetchall()
        lookup.load("revisions", condition if is_mixed else "false AND owner_id = ?", user_id,
                   columns=PLAN_ORDER_COLUMNS)  # fmt: skip
        return _record_lines(lookup, tables, ordered, parameters)


def _or_ever(until: int | None) -> int:
    return 2**62 if until is None else until


class _Rows:
    """Rows in memory: one entity per table, the last used."""

    def __init__(self) -> None:
        self._newest: dict[str, Entity] = {}

    def entity(self, table: str, tenant: str, key: str) -> Entity:
        entity = self._newest.get(table)
        if entity is None or entity.where != (table, tenant, key):
            entity = self._newest[table] = Entity(table, tenant, key, {})
        return entity

    def keep(self, entity: Entity) -> None:
        entity.keep()


class Silent:
    """Part of an emitter that writes no dead letters: the history has them."""

    def refused(
        self, dead: Dead, error: Exception, entity: Entity, record: Input | Signalled, place: Place
    ) -> None:
        if not isinstance(error, Refused):  # a bug: no data may be lost
            raise error

    def unreadable(self, dead: Dead, place: Place) -> None: ...

    def late(
        self, dead: Dead, late: Late, entity: Entity, record: Input | Signalled, place: Place
    ) -> None: ...


class _Nothing(Silent):
    """Emitter that discards effects: only rows are rebuilt. Signals about `user` are folded."""

    def __init__(self, user: Entity | None = None) -> None:
        self._user = user

    def signals(self, out: Effects) -> list[tuple[Entity, UserSignal]]:
        user = self._user
        if user is None:
            return []
        return [(user, signal) for signal in out.signals if signal.user_id == user.key]

    def emitted(
        self, entity: Entity, out: Effects, record: Input | Signalled, place: Place
    ) -> None: ...

    def plan(self, plan: dict[str, Any], turn: Turn, origin: None) -> None: ...
