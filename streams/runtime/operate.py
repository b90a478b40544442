"""Operations on a whole history, under the writer's lock: compact it, forget a person.

A history is `turnstone run`'s, with the fold's tables beside it, or that of sinks, whose fold's
tables are the workers'.
"""

import shutil
import time
from collections.abc import Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from sinks import maintenance
from sinks.delta import History
from sinks.forgotten import Forgotten, Unfinished
from sinks.generation import LIVE, ROOT, find, folder_of, names, own, remove, remove_leftovers
from sinks.root import find_root, is_shared
from sinks.shared import alone
from sinks.tables import to_arrow
from streams.errors import ConfigurationError
from streams.folds.session_state import visible
from streams.generations.generation import WORK, load, use_constants
from streams.runtime.apply import session_row
from streams.runtime.entity import Entity
from streams.runtime.left import fold_left
from streams.runtime.local import erasing, locked, opened, writing
from streams.runtime.refold import refold

ELSEWHERE = "Kafka's topics and the workers' tables still hold them: docs/sink.md says until when"


def compact(history: Path) -> dict[str, Any]:
    """Merges small files; table -> what was done. Raises HistoryError where there is none."""
    root = find_root(history)
    if is_shared(root):
        with alone(root):
            return dict(maintenance.compact(root))
    with writing(root, borrow=True) as (_, tables):
        return dict(maintenance.compact(tables.root))


def forget(history: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """Erases a person from Parquet files and from the fold's tables (law 8); the receipt.

    A session that others took part in is folded again from what they said.
    """
    from streams import search  # not needed before, and slow to load

    root = find_root(history)
    asked_at = time.time_ns() // 1000
    held = alone(root) if is_shared(root) else locked(root, borrow=True)
    with erasing(root, alone=True), held:
        fold_left(root, asked_at)
        last = root if is_shared(root) else find(root, LIVE)
        others = _forget_in_others(root, last, tenant, user_id)
        receipt = (_forget_in_sinks if is_shared(last) else _forget)(last, tenant, user_id)
        for name in names(root):
            search.forget(folder_of(root, name), tenant)
    return {**receipt, "generations": others} if others else receipt


def _forget_in_others(root: Path, last: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """The same in all generations but one: name -> its tables. One that has never been finished is
    dropped: its gathered records hold everybody, and `backfill` makes it again."""
    done: dict[str, Any] = {}
    remove_leftovers(root)
    for name in names(root):
        folder = folder_of(root, name)
        if folder == last:
            continue
        if is_shared(folder):
            with alone(folder):
                done[name] = _forget_in_sinks(folder, tenant, user_id)["tables"]
            continue
        with nullcontext() if folder == root else locked(folder):
            done[name] = _forget_aside(root, name, tenant, user_id)
    return done


def _forget_aside(root: Path, name: str, tenant: str, user_id: str) -> Any:
    folder = folder_of(root, name)
    made = load(folder)
    if made is None or made.stage == "complete":
        return _forget(folder, tenant, user_id)["tables"]
    if made.ended_at is not None:
        ways = "promote or rollback" if name == ROOT else "backfill, promote or rollback"
        drop = "" if name == ROOT else ", or drop it"
        raise ConfigurationError(
            f"generation {name!r}: its catching up was cut short; end it first ({ways}, as you "
            f"did){drop}"
        )
    remove(root, folder)
    return "dropped: it was not finished"


def _forget(folder: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """In one generation; the receipt."""
    if (folder / WORK).exists():  # of a pass that was killed as it had ended
        shutil.rmtree(folder / WORK)
    with opened(folder) as (store, _):
        known = {tuple(where) for where in store.value("forgetting") or ()}
        found = maintenance.sessions_of(folder, tenant, user_id)
        theirs = known.union(found.whole, found.shared)
        store.write_values({"forgetting": sorted(theirs)})  # killed half-way, the next call goes on
        done = maintenance.forget(folder, tenant, user_id)
        store.erase("users", tenant, user_id)
        for where in theirs:
            store.erase("sessions", *where)
        store.compact()
    with opened(folder) as (store, tables):
        kept = _refolded(folder, theirs)
        if kept:
            for entity in kept:
                store.adopt(entity)
            number = store.value("batch") + 1
            tables.append("sessions", _documents(kept), store.value("writer"), number)
            store.commit({"batch": number})
        store.commit({"forgetting": None})
        store.compact()  # the note named their sessions
    return done.receipt


def _forget_in_sinks(root: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """The same in a history of sinks, which must not run: what they have yet to read of this
    person, of records from before now, they will leave out."""
    use_constants(root)
    left = Unfinished(root)
    left.begin(*maintenance.sessions_of(root, tenant, user_id))
    now = time.time_ns() // 1000
    Forgotten(root).add([(tenant, user_id)], left.whole, now)
    done = maintenance.forget(root, tenant, user_id)
    kept = _refolded(root, left.shared)
    if kept:
        with History(root) as tables:
            tables.append("sessions", _documents(kept), "forget", now)
    left.end()
    return {**done.receipt, "elsewhere": ELSEWHERE}


def _refolded(root: Path, sessions: Iterable[tuple[str, str]]) -> list[Entity]:
    """The rows of those sessions of which records are left, from these."""
    folded = (refold(own(root), *where) for where in sorted(sessions))
    return [entity for entity in folded if entity.get("h") is not None]


def _documents(sessions: list[Entity]) -> pa.Table:
    """Rows of the table `sessions`."""
    rows = []
    for entity in sessions:
        updated_at = visible(entity, entity.get("h")).updated_at
        rows.append(session_row(entity, (entity.tenant, updated_at, "forget", 0, 0)))
    return to_arrow("sessions", rows)
