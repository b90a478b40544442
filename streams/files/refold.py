"""A session or a user folded again from records in the history: as of a past time, after `forget`,
or where the fold's tables are elsewhere.

The rows are those of the first folding: the same content, so that a record sent again is a
duplicate, in the same order as far as the history shows it.
"""

from collections.abc import Iterator
from pathlib import Path

from sinks.history import connect, quoted
from streams.files.stored_records import LINE, OFFSET, PLACE, SAID, more, plan_order
from streams.folds import memory
from streams.folds import session as fold
from streams.folds.rows import Effects, Input, Refused
from streams.folds.rules import Rules
from streams.pipeline.decode import decode_again
from streams.pipeline.entity import Entity

ORDER = f"recorded_at, src_topic, src_partition, {OFFSET}"


def refold(
    root: Path, tenant: str, session_id: str, rules: Rules, until: int | None = None
) -> Entity:
    """A session's rows, folded again from the history's records (up to a time)."""
    entity = Entity("sessions", tenant, session_id, {})
    for line, place in _of_session(root, tenant, session_id, until):
        _fold(entity, line, place, rules)
    return entity


def _of_session(
    root: Path, tenant: str, session_id: str, until: int | None
) -> Iterator[tuple[bytes, tuple[str, int, int]]]:
    union = " UNION ALL BY NAME ".join(
        f"SELECT recorded_at, {PLACE}, doc, {more(table)} AS more FROM {table} "
        "WHERE session_id = $session AND epoch_us(occurred_at) <= $until"
        + (" AND scope = 'session'" if table == "signals" else "")
        for table in SAID
    )
    with connect(root, tenant=tenant, views=SAID) as db:
        sql = f"SELECT {LINE} AS line, {PLACE} FROM ({union}) ORDER BY {ORDER}"
        found = db.execute(sql, {"session": session_id, "until": 2**62 if until is None else until})
        for line, *place in found.fetchall():
            yield line, tuple(place)


def refold_user(root: Path, tenant: str, user_id: str, rules: Rules) -> Entity:
    """A user's rows: what their turns signalled in each session, then what was said of the user
    alone, plans in the order in which they were applied."""
    user = Entity("users", tenant, user_id, {})
    session = Entity("sessions", tenant, "", {})
    for session_id, line, place in _of_user(root, tenant, user_id):
        if session_id is None:
            _fold(user, line, place, rules)
            continue
        if session_id != session.key:
            session = Entity("sessions", tenant, session_id, {})
        done = _fold(session, line, place, rules)
        for signal in done.signals if done else ():
            if signal.user_id == user_id:
                memory.fold_signal(user, signal, done)  # type: ignore[arg-type]
                user.keep()
    return user


def _of_user(
    root: Path, tenant: str, user_id: str
) -> Iterator[tuple[str | None, bytes, tuple[str, int, int]]]:
    """Session (None for what is folded into the user) and record, a session after the other."""
    sql = f"""
        SELECT session_id, {LINE} AS line, {PLACE} FROM (
            SELECT session_id, recorded_at AS due, 0 AS number, doc, {more("events")} AS more,
                recorded_at, {PLACE}
            FROM events WHERE user_id = $user
            UNION ALL BY NAME
            SELECT CASE scope WHEN 'session' THEN session_id END AS session_id,
                recorded_at AS due, 0 AS number, doc, {more("signals")} AS more,
                recorded_at, {PLACE}
            FROM signals WHERE user_id = $user
            UNION ALL BY NAME
            SELECT NULL AS session_id, due, number, doc, {more("plans")} AS more,
                recorded_at, {PLACE}
            FROM plans JOIN ({plan_order(f"user_id = {quoted(user_id)}")})
            USING (tenant, user_id, plan_id)
        ) ORDER BY session_id NULLS LAST, due, number, {ORDER}
    """
    with connect(root, tenant=tenant, views=("events", "signals", "plans", "revisions")) as db:
        for session_id, line, *place in db.execute(sql, {"user": user_id}).fetchall():
            yield session_id, line, tuple(place)


def _fold(entity: Entity, line: bytes, place: tuple[str, int, int], rules: Rules) -> Effects | None:
    """One record's effects; none of one that was refused."""
    given = decode_again(line, place)
    if not isinstance(given, Input):
        return None
    scope = (entity.tenant, entity.where[0], entity.key)
    out = Effects(entity.key, scope, given.record, rules)
    try:
        (fold.fold if entity.where[0] == "sessions" else memory.fold)(entity, given, out)
    except Refused as refused:
        if refused.keeps:
            entity.keep()
        entity.rollback()
        return None
    entity.keep()
    return out
