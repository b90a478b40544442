"""Erases one session from a history, and what memory made of it.

Its users' memory is made again from the records that are left, so it is as if the session had never
been. Killed half-way, the same call ends the work: a note in the fold's tables has the users until
all is done.
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
    history: Path, tenant: str, session_id: str, index_within: float = math.inf
) -> dict[str, Any]:
    """Erases a session, whoever spoke in it; the receipt.

    Raises ConfigurationError for the history of a worker's sink, NotIndexed as `forget` does.
    """
    from streams import search  # not needed before, and slow to load

    def one(folder: Path, whole: Path | None) -> dict[str, Any]:
        if is_shared(folder):
            raise ConfigurationError(
                f"{folder}: workers hold this memory; a session of theirs cannot be erased alone"
            )
        return _forget(folder, tenant, session_id, whole, search)

    letters = Letters(tenant, None, [session_id])
    whose = (tenant, None, session_id)
    return in_every_generation(history, tenant, one, letters, whose, index_within)


def _forget(
    folder: Path, tenant: str, session_id: str, whole: Path | None, search: Any
) -> dict[str, Any]:
    """In one generation; the receipt."""
    drop_work(folder)
    rules = rules_of(folder)
    with opened(folder) as (store, _):
        noted = {(one[0], one[1]): one[2] for one in store.value(NOTE) or ()}
        known = noted.get((tenant, session_id), ())
        users = sorted({*known, *maintenance.users_of(folder, tenant, session_id, whole)})
        noted[tenant, session_id] = users
        store.write_values({NOTE: [[*where, whom] for where, whom in sorted(noted.items())]})
        erased = maintenance.forget_session(folder, tenant, session_id, users, whole)
        store.erase("sessions", tenant, session_id)
        search.forget(folder, tenant, users, session_id)
    with opened(folder) as (store, tables):
        count_made(remake(folder, tenant, users, rules, store, tables), erased)
        del noted[tenant, session_id]
        left = [[*where, whom] for where, whom in sorted(noted.items())]
        store.commit({NOTE: left or None})
        store.compact()
    return {
        **maintenance.salted("session", tenant, session_id),
        "users": len(users),
        "tables": erased,
    }
