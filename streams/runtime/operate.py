"""Operations on a whole history, under the writer's lock: compact it, forget a person."""

from pathlib import Path
from typing import Any

from sinks import maintenance
from sinks.root import find_root
from sinks.tables import to_arrow
from streams.folds.session_state import visible
from streams.runtime.apply import session_row
from streams.runtime.local import writing
from streams.runtime.refold import refold
from streams.runtime.store import Store


def compact(history: Path) -> dict[str, Any]:
    """Merges small files; table -> what was done. Raises HistoryError where there is none."""
    with writing(find_root(history)):
        return dict(maintenance.compact(history))


def forget(history: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """Erases a person from Parquet files and from the fold's tables (law 8); the receipt.

    A session that others took part in is folded again from what they said.
    """
    root = find_root(history)
    with writing(root) as (store, _):
        known = {tuple(where) for where in store.value("forgetting") or ()}
        theirs = known | set(maintenance.sessions_of(root, tenant, user_id))
        store.write_values({"forgetting": sorted(theirs)})  # killed half-way, the next call goes on
        done = maintenance.forget(root, tenant, user_id)
        store.erase("users", tenant, user_id)
        for where in theirs:
            store.erase("sessions", *where)
        store.compact()
    with writing(root) as (store, tables):
        kept = [_refolded(root, store, *where) for where in sorted(theirs)]
        if rows := [row for row in kept if row is not None]:
            number = store.value("batch") + 1
            tables.append("sessions", to_arrow("sessions", rows), store.value("writer"), number)
            store.commit({"batch": number})
        store.commit({"forgetting": None})
    return done.receipt


def _refolded(root: Path, store: Store, tenant: str, session_id: str) -> tuple[Any, ...] | None:
    """A shared session's rows from the records that are left; its document's row."""
    entity = refold(root, tenant, session_id)
    if entity.get("h") is None:
        return None
    store.adopt(entity)
    updated_at = visible(entity, entity.get("h")).updated_at
    return session_row(entity, (tenant, updated_at, "forget", 0, 0))
