"""Erases one session, or one turn of it, from a history, and what memory made of it.

Its users' memory, and that of a turn's session, is made again from the records that are left, so it
is as if the session or turn had never been. Killed half-way, the same call ends the work: a note in
the fold's tables has the users until all is done.
"""

import math
from pathlib import Path
from typing import Any

from sinks import maintenance
from sinks.letters import Letters
from sinks.root import is_shared
from streams.apps.maintenance import count_made, drop_work, in_every_generation
from streams.errors import ConfigurationError
from streams.files.access import opened
from streams.files.manifest import rules_of
from streams.files.remaking import remake

NOTE = "forgetting_session"


def forget_session(
    history: Path,
    tenant: str,
    session_id: str,
    event_id: str | None = None,
    index_within: float = math.inf,
) -> dict[str, Any]:
    """Erases a session, whoever spoke in it, or the turn `event_id` of it; the receipt.

    Raises ConfigurationError for the history of a worker's sink, NotIndexed as `forget` does.
    """
    from streams import search  # not needed before, and slow to load

    def one(folder: Path, whole: Path | None) -> dict[str, Any]:
        if is_shared(folder):
            raise ConfigurationError(
                f"{folder}: workers hold this memory; a session or turn of theirs cannot be "
                "erased alone"
            )
        return _forget(folder, tenant, session_id, event_id, whole, search)

    if event_id is None:
        letters = Letters(tenant, None, [session_id])
    else:
        letters = Letters(tenant, None, (), [(session_id, event_id)])
    whose = (tenant, None, session_id, event_id)
    return in_every_generation(history, tenant, one, letters, whose, index_within)


def _forget(
    folder: Path,
    tenant: str,
    session_id: str,
    event_id: str | None,
    whole: Path | None,
    search: Any,
) -> dict[str, Any]:
    """In one generation; the receipt."""
    drop_work(folder)
    rules = rules_of(folder)
    erased = (tenant, session_id, event_id or "")
    with opened(folder) as (store, _):
        noted = {tuple(where): users for *where, users in store.value(NOTE) or ()}
        known = noted.get(erased, ())
        found = maintenance.users_of(folder, tenant, session_id, event_id, whole)
        users = sorted({*known, *found})
        noted[erased] = users
        store.write_values({NOTE: [[*where, whom] for where, whom in sorted(noted.items())]})
        counts = maintenance.forget_session(folder, tenant, session_id, event_id, users, whole)
        store.erase("sessions", tenant, session_id)
        search.forget(folder, tenant, users, session_id)
    sessions = () if event_id is None else (session_id,)
    with opened(folder) as (store, tables):
        count_made(remake(folder, tenant, users, rules, store, tables, sessions), counts)
        del noted[erased]
        left = [[*where, whom] for where, whom in sorted(noted.items())]
        store.commit({NOTE: left or None})
        store.compact()
    which, id = (
        ("session", session_id) if event_id is None else ("turn", f"{session_id}/{event_id}")
    )
    return {**maintenance.salted(which, tenant, id), "users": len(users), "tables": counts}
