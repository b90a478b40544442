"""Erases one session from a history, and what memory made of it.

Its users' memory is made again from the records that are left, so it is as if the session had never
been. Killed half-way, the same call ends the work: a note in the fold's tables has the users until
all is done.
"""

import hashlib
import math
from pathlib import Path
from typing import Any

from sinks import maintenance
from sinks.delta import History
from sinks.generation import own
from sinks.root import is_shared
from sinks.tables import to_arrow
from streams.apps.maintenance import drop_work, in_every_generation
from streams.errors import ConfigurationError
from streams.files.access import opened
from streams.files.applier import Stored
from streams.files.manifest import rules_of
from streams.files.remaking import remade
from streams.files.store import Store
from streams.folds.rules import Rules

NOTE = "forgetting_session"
WRITER = "forget_session"
"""The app whose versions count these calls in the tables."""
ROWS = 50_000
"""Of users whose memory is made again, before they are written."""


def forget_session(
    history: Path, tenant: str, session_id: str, index_within: float = math.inf
) -> dict[str, Any]:
    """Erases a session, whoever spoke in it; the receipt.

    Raises ConfigurationError for the history of a worker's sink, NotIndexed as `forget` does.
    """
    from streams import search  # not needed before, and slow to load

    def one(folder: Path) -> dict[str, Any]:
        if is_shared(folder):
            raise ConfigurationError(
                f"{folder}: workers hold this memory; a session of theirs cannot be erased alone"
            )
        return _forget(folder, tenant, session_id, search)

    return in_every_generation(history, tenant, one, index_within)


def _forget(folder: Path, tenant: str, session_id: str, search: Any) -> dict[str, Any]:
    """In one generation; the receipt."""
    drop_work(folder)
    rules = rules_of(folder)
    with opened(folder) as (store, _):
        noted = {(one[0], one[1]): one[2] for one in store.value(NOTE) or ()}
        known = noted.get((tenant, session_id), ())
        users = sorted({*known, *maintenance.users_of(folder, tenant, session_id)})
        noted[tenant, session_id] = users
        store.write_values({NOTE: [[*where, whom] for where, whom in sorted(noted.items())]})
        erased = maintenance.forget_session(folder, tenant, session_id, users)
        store.erase("sessions", tenant, session_id)
        search.forget(folder, tenant, users, session_id)
    with opened(folder) as (store, tables):
        for name, count in _remake(folder, tenant, users, rules, store, tables).items():
            erased[name]["erased"] = max(0, erased[name]["erased"] - count)
        del noted[tenant, session_id]
        left = [[*where, whom] for where, whom in sorted(noted.items())]
        store.commit({NOTE: left or None})
        store.compact()
    return {
        "session_sha256": hashlib.sha256(f"{tenant}/{session_id}".encode()).hexdigest(),
        "users": len(users),
        "tables": erased,
    }


def _remake(
    folder: Path, tenant: str, users: list[str], rules: Rules, store: Store, tables: History
) -> dict[str, int]:
    """The users' memory from what is left; table -> how many rows it was."""
    made: dict[str, int] = {}
    gathered: dict[str, list[Stored]] = {}
    for user_id in users:
        user, rows = remade(own(folder), tenant, user_id, rules)
        store.erase("users", tenant, user_id)
        if user.names(""):
            store.adopt(user)
        for name, some in rows.items():
            gathered.setdefault(name, []).extend(some)
            made[name] = made.get(name, 0) + len(some)
        if sum(map(len, gathered.values())) >= ROWS:
            _append(tables, gathered)
    _append(tables, gathered)
    return made


def _append(tables: History, gathered: dict[str, list[Stored]]) -> None:
    for name, rows in gathered.items():
        version = tables.versions(WRITER).get(name, -1) + 1
        tables.append(name, to_arrow(name, rows), WRITER, version)
    gathered.clear()
