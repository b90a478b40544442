"""Erases one session, or one turn of it, from a history, with the memory derived from it.

The memory of its users and of a turn's session is rebuilt from the remaining records, as if the
session or turn had never existed. After a kill, the same call completes the work: a note in the
fold's tables has the users until then.
"""

import math
from pathlib import Path
from typing import Any

from sinks import maintenance
from sinks.dead_letter_owners import Letters
from sinks.history_root import is_shared
from streams.apps.compact_and_forget import drop_work, in_every_generation, subtract_rebuilt
from streams.errors import ConfigurationError
from streams.files.manifest import rules_of
from streams.files.open_generation import opened
from streams.files.rebuild_user import rebuild_memory

NOTE = "forgetting_session"


def forget_session(
    history: Path,
    tenant: str,
    session_id: str,
    event_id: str | None = None,
    index_within: float = math.inf,
) -> dict[str, Any]:
    """Erases a session of any users, or its turn `event_id`; returns the receipt.

    Raises ConfigurationError for the history of a worker's sink, NotIndexed as `forget`.
    """
    from streams import search  # not needed before, and slow to load

    def one(folder: Path, complete: Path | None) -> dict[str, Any]:
        if is_shared(folder):
            raise ConfigurationError(
                f"{folder}: workers have this memory; a single session or turn of theirs cannot be "
                "erased"
            )
        return _forget(folder, tenant, session_id, event_id, complete, search)

    if event_id is None:
        letters = Letters(tenant, None, [session_id])
    else:
        letters = Letters(tenant, None, (), [(session_id, event_id)])
    target = (tenant, None, session_id, event_id)
    return in_every_generation(history, tenant, one, letters, target, index_within)


def _forget(
    folder: Path,
    tenant: str,
    session_id: str,
    event_id: str | None,
    complete: Path | None,
    search: Any,
) -> dict[str, Any]:
    """Erases in one generation; returns the receipt."""
    drop_work(folder)
    rules = rules_of(folder)
    erased = (tenant, session_id, event_id or "")
    with opened(folder) as (store, _):
        noted = {tuple(key): users for *key, users in store.value(NOTE) or ()}
        noted_users = noted.get(erased, ())
        scope_users = maintenance.users_of(folder, tenant, session_id, event_id, complete)
        users = sorted({*noted_users, *scope_users})
        noted[erased] = users
        store.write_values({NOTE: [[*key, key_users] for key, key_users in sorted(noted.items())]})
        counts = maintenance.forget_session(folder, tenant, session_id, event_id, users, complete)
        store.erase("sessions", tenant, session_id)
        search.forget(folder, tenant, users, session_id)
    sessions = () if event_id is None else (session_id,)
    with opened(folder) as (store, tables):
        subtract_rebuilt(
            rebuild_memory(folder, tenant, users, rules, store, tables, sessions), counts
        )
        del noted[erased]
        remaining = [[*key, key_users] for key, key_users in sorted(noted.items())]
        store.commit({NOTE: remaining or None})
        store.compact()
    kind, id = ("session", session_id) if event_id is None else ("turn", f"{session_id}/{event_id}")
    return {**maintenance.salted(kind, tenant, id), "users": len(users), "tables": counts}
