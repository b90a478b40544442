"""A session or a user folded again from records in the history: as of a past time, after `forget`,
or where the fold's tables are elsewhere."""

from collections.abc import Iterator
from pathlib import Path

from sinks.history import connect
from streams.folds import memory
from streams.folds import session as fold
from streams.folds.rows import Effects, Input, Refused
from streams.runtime.decode import decode
from streams.runtime.entity import Entity

SAID = ("events", "recursions", "tool_results", "signals")
"""The tables of what is folded into sessions."""


def refold(root: Path, tenant: str, session_id: str, until: int | None = None) -> Entity:
    """A session's rows, folded again from the history's records (up to a time)."""
    entity = Entity("sessions", tenant, session_id, {})
    for number, (line,) in enumerate(_of_session(root, tenant, session_id, until)):
        _fold(entity, line, number)
    return entity


def _of_session(
    root: Path, tenant: str, session_id: str, until: int | None
) -> Iterator[tuple[str]]:
    union = " UNION ALL BY NAME ".join(
        f"SELECT occurred_at, src_topic, src_offset, doc FROM {table} "
        "WHERE session_id = $session AND epoch_us(occurred_at) <= $until"
        + (" AND scope = 'session'" if table == "signals" else "")
        for table in SAID
    )
    with connect(root, tenant=tenant, views=SAID) as db:
        sql = f"SELECT doc FROM ({union}) ORDER BY occurred_at, src_topic, src_offset"
        yield from db.execute(sql, {"session": session_id, "until": until or 2**62}).fetchall()


def refold_user(root: Path, tenant: str, user_id: str) -> Entity:
    """A user's rows: what their turns signalled in each session, then what was said of the user
    alone, plans in the order in which they were applied."""
    user = Entity("users", tenant, user_id, {})
    session = Entity("sessions", tenant, "", {})
    for number, (session_id, line) in enumerate(_of_user(root, tenant, user_id)):
        if session_id is None:
            _fold(user, line, number)
            continue
        if session_id != session.key:
            session = Entity("sessions", tenant, session_id, {})
        done = _fold(session, line, number)
        for signal in done.signals if done else ():
            if signal.user_id == user_id:
                memory.fold_signal(user, signal, done)  # type: ignore[arg-type]
                user.keep()
    return user


def _of_user(root: Path, tenant: str, user_id: str) -> Iterator[tuple[str | None, str]]:
    """Session (None for what is folded into the user) and record, a session after the other."""
    sql = """
        SELECT session_id, doc FROM (
            SELECT session_id, occurred_at, src_topic, src_partition, src_offset, doc
            FROM events WHERE user_id = $user
            UNION ALL BY NAME
            SELECT CASE scope WHEN 'session' THEN session_id END AS session_id, occurred_at,
                src_topic, src_partition, src_offset, doc
            FROM signals WHERE user_id = $user
            UNION ALL BY NAME
            SELECT NULL AS session_id, recorded_at AS occurred_at, src_topic, src_partition,
                src_offset, doc
            FROM plans WHERE user_id = $user
        ) ORDER BY session_id NULLS LAST, occurred_at, src_topic, src_partition, src_offset
    """
    with connect(root, tenant=tenant, views=("events", "signals", "plans")) as db:
        yield from db.execute(sql, {"user": user_id}).fetchall()


def _fold(entity: Entity, line: str, number: int) -> Effects | None:
    """One record's effects; none of one that was refused."""
    given = decode(line.encode(), ("history", 0, number))
    if not isinstance(given, Input):
        return None
    out = Effects(entity.key, (entity.tenant, entity.where[0], entity.key), given.record)
    try:
        (fold.fold if entity.where[0] == "sessions" else memory.fold)(entity, given, out)
    except Refused:
        entity.rollback()
        return None
    entity.keep()
    return out
