"""A session folded again from its records in the history: as of a past time, or after `forget`."""

from collections.abc import Iterator
from pathlib import Path

from sinks.history import connect
from streams.folds import session as fold
from streams.folds.rows import Effects, Input, Refused
from streams.runtime.decode import decode
from streams.runtime.store import Entity


def refold(root: Path, tenant: str, session_id: str, until: int | None = None) -> Entity:
    """A session's rows, folded again from the history's records (up to a time)."""

    entity = Entity("sessions", tenant, session_id, {})
    for number, line in enumerate(_records(root, tenant, session_id, until)):
        given = decode(line, ("history", 0, number))
        if isinstance(given, Input):
            entity.keep()
            try:
                scope = (tenant, "sessions", session_id)
                fold.fold(entity, given, Effects(session_id, scope, given.record))
            except Refused:
                entity.rollback()
    return entity


def _records(root: Path, tenant: str, session_id: str, until: int | None) -> Iterator[bytes]:
    tables = ("events", "recursions", "tool_results", "signals")
    union = " UNION ALL BY NAME ".join(
        f"SELECT occurred_at, src_topic, src_offset, doc FROM {table} "
        "WHERE session_id = $session AND epoch_us(occurred_at) <= $until"
        + (" AND scope = 'session'" if table == "signals" else "")
        for table in tables
    )
    with connect(root, tenant=tenant, views=tables) as db:
        sql = f"SELECT doc FROM ({union}) ORDER BY occurred_at, src_topic, src_offset"
        found = db.execute(sql, {"session": session_id, "until": until or 2**62})
        yield from (doc.encode() for (doc,) in found.fetchall())
