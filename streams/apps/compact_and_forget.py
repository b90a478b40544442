"""Operations on a whole history under the writer's lock: compact, forget a person.

A history is written by `turnfold run`, which also has the fold's tables, or by sinks; with sinks
the workers have the fold's tables.
"""

import math
import shutil
import time
from collections.abc import Callable, Collection, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from schemas.generated.history import Session, Source, Task, stored
from schemas.row import replace
from sinks import erased_ids, maintenance
from sinks.dead_letter_owners import Letters
from sinks.delta import UNWRITTEN, History, retry_conflicts, written
from sinks.erasure_scope import REMADE
from sinks.fences import fence, sweep
from sinks.forgotten_users import Forgotten, Unfinished
from sinks.generation import (
    DROPPED,
    LIVE,
    ROOT,
    find,
    folder_of,
    names,
    own_folder,
    remove,
    remove_leftovers,
    resolve,
)
from sinks.history import connect
from sinks.history_root import find_root, is_shared
from sinks.locations import Location
from sinks.object_store import ObjectPath
from sinks.sink_history import alone
from sinks.tables import to_arrow
from streams.apps.erasure_requests import Target
from streams.apps.key_destruction import destroy_session_keys, destroy_user_key
from streams.errors import ConfigurationError
from streams.files.fold_batch import Stored
from streams.files.inbox_recovery import fold_leftover
from streams.files.manifest import WORK, Generation, load, rules_of
from streams.files.open_generation import erasing, locked, opened, writing
from streams.files.rebuild_user import rebuild_memory
from streams.files.refold import refold
from streams.files.stored_records import INPUT_TABLES
from streams.folds.constants import Rules
from streams.folds.session_state import HEADER
from streams.folds.task import TASKS
from streams.pipeline.document_rows import session_row, task_row
from streams.pipeline.entity import Entity

LAST_SEQ = """
    SELECT coalesce(max(seq), -1) FROM (
        SELECT owner_id, seq FROM revisions UNION ALL SELECT owner_id, seq FROM links
    ) WHERE owner_id = $session
"""
LAST_RECORDED = "SELECT max(epoch_us(recorded_at)) FROM ({}) WHERE session_id = $session".format(
    " UNION ALL ".join(f"SELECT session_id, recorded_at FROM {table}" for table in INPUT_TABLES)
)
ELSEWHERE = "Kafka's topics and the workers' tables still contain them; see docs/erasure.md"
SESSIONS, HEARD = "forgetting", "forgetting_heard"
"""Notes in the fold's tables of an unfinished `forget`: sessions and other users with memory to
rebuild, each as (tenant, id)."""
OF_BUCKET = (
    "a bucket with versions or copies still has deleted objects, and search indexes on other "
    "machines still have their content: docs/object-stores.md"
)
IN_STORE = f"{ELSEWHERE}; {OF_BUCKET}"


class Erased(NamedTuple):
    """Receipt of one generation, and the other users with rebuilt memory."""

    receipt: dict[str, Any]
    heard: Collection[str] = ()


def compact(history: Location) -> dict[str, Any]:
    """Merges small files; returns table -> counts. Raises HistoryError for a missing history."""
    root = find_root(history)
    if is_shared(root) or not isinstance(root, Path):
        with alone(root):
            return dict(maintenance.compact(root))
    with writing(root, borrow=True) as (_, tables):
        return dict(maintenance.compact(tables.at))


def forget(
    history: Location, tenant: str, user_id: str, index_within: float = math.inf
) -> dict[str, Any]:
    """Erases a person from Parquet files and from the fold's tables; returns the receipt.

    Shared sessions are folded again from the other users' records. Raises NotIndexed, before any
    change, if an index of the tenant is being built for longer than `index_within` seconds;
    ConfigurationError for a history in an object store that sinks do not write.
    """
    if not isinstance(history, Path):
        return _forget_in_store(history, tenant, user_id)

    root = find_root(history)

    def one(folder: Path, complete: Path | None) -> dict[str, Any]:
        noted = _erased_hashes(root, tenant, user_id)
        erase = _forget_in_sinks if is_shared(folder) else _forget
        receipt, heard = erase(folder, tenant, user_id, noted, complete)
        search.forget(folder, tenant, [user_id, *heard])
        return receipt

    from streams import search  # not needed before, and slow to load

    target = (tenant, user_id, None, None)
    return in_every_generation(history, tenant, one, Letters(tenant, user_id), target, index_within)


def in_every_generation(
    history: Path,
    tenant: str,
    erase: Callable[[Path, Path | None], dict[str, Any]],
    letters: Letters,
    target: Target,
    index_within: float = math.inf,
) -> dict[str, Any]:
    """Erases in each generation's folder, the live one last, then in all other places of the
    history; returns the receipt with the tables of the other generations. The tenant's indexes are
    locked during that time. `erase` receives a generation's folder and, if that has only some days,
    the folder of a complete one. `target`: the erased user, session or turn."""
    from streams import search  # slow to load
    from streams.apps import personal_data

    root = find_root(history)
    asked_at = time.time_ns() // 1000
    lock = alone(root) if is_shared(root) else locked(root, borrow=True)
    folders = [folder_of(root, name) for name in names(root)]
    # wait for indexes before taking locks, so that writers continue
    with search.build_locks(folders, tenant, index_within), erasing(root, alone=True), lock:
        fold_leftover(root, asked_at)
        last = root if is_shared(root) else find(root, LIVE)
        reports = _in_others(root, last, erase)
        receipt = erase(last, None)
        receipt |= {"generations": reports} if reports else {}
        may_remain = personal_data.clear(
            personal_data.Erasing(root, letters, target, asked_at, receipt)
        )
    return {**receipt, "may_remain": may_remain}


def _in_others(
    root: Path, last: Path, erase: Callable[[Path, Path | None], dict[str, Any]]
) -> dict[str, Any]:
    """Erases in all generations except `last`; returns name -> tables. Unfinished generations are
    dropped, as their gathered records include the person; `backfill` rebuilds them."""
    reports: dict[str, Any] = {}
    remove_leftovers(root)
    for name in names(root):
        folder = folder_of(root, name)
        if folder == last:
            continue
        if is_shared(folder):
            with alone(folder):
                reports[name] = erase(folder, None)["tables"]
            continue
        with nullcontext() if folder == root else locked(folder):
            reports[name] = _erase_other(root, name, last, erase)
    return reports


def _erase_other(
    root: Path, name: str, last: Path, erase: Callable[[Path, Path | None], dict[str, Any]]
) -> Any:
    folder = folder_of(root, name)
    generation = load(folder)
    if generation is None or generation.stage == "complete":
        return erase(folder, last if _is_of_some_days(generation) else None)["tables"]
    if generation.ended_at is not None:
        ways = "promote or rollback" if name == ROOT else "backfill, promote or rollback"
        drop = "" if name == ROOT else ", or drop it"
        raise ConfigurationError(
            f"generation {name!r}: its update was interrupted; first repeat the command "
            f"({ways}){drop}"
        )
    remove(root, folder)
    return "dropped: it was not finished"


def _is_of_some_days(generation: Generation | None) -> bool:
    """Whether a generation has only some days: it may have plans without their turns."""
    return generation is not None and not generation.settings.whole


def _erased_hashes(root: Location, tenant: str, user_id: str) -> set[str]:
    """Hashes of a person's erased ids in all generations, as `backfill` copies rows."""
    folders = [folder_of(root, name) for name in names(root)]
    return erased_ids.read_hashes(folders, tenant, user_id)


def _forget(
    folder: Path, tenant: str, user_id: str, noted: set[str], complete: Path | None
) -> Erased:
    """Erases in one generation. Other users' memory that rests on this person's turns is rebuilt
    without them."""
    drop_work(folder)
    rules = rules_of(folder)
    with opened(folder) as (store, _):
        noted_sessions = {tuple(key) for key in store.value(SESSIONS) or ()}
        noted_users = {tuple(key) for key in store.value(HEARD) or ()}
        in_scope = maintenance.sessions_of(folder, tenant, user_id, noted, complete)
        sessions = noted_sessions.union(in_scope.whole, in_scope.shared)
        noted_users |= {(tenant, user) for user in in_scope.heard}
        heard = sorted(user for owner_tenant, user in noted_users if owner_tenant == tenant)
        # for the next call after a kill
        store.write_values({SESSIONS: sorted(sessions), HEARD: sorted(noted_users)})
        erased = maintenance.forget(folder, tenant, user_id, noted, heard, complete)
        store.erase("users", tenant, user_id)
        for key in sessions:
            store.erase("sessions", *key)
        store.compact()
    with opened(folder) as (store, tables):
        entities = _refolded(folder, sessions, rules)
        if entities:
            for entity in entities:
                store.adopt(entity)
            number = (store.value("batch") or 0) + 1  # no batch is open
            for name, rows in _documents(folder, entities, rules).items():
                tables.append(name, rows, store.value("writer"), number)
            store.commit({"batch": number})
        counts = rebuild_memory(folder, tenant, heard, rules, store, tables)
        subtract_rebuilt(counts, erased.receipt["tables"])
        other_users = sorted(key for key in noted_users if key[0] != tenant)
        store.commit({SESSIONS: None, HEARD: other_users or None})
        store.compact()  # the note contained ids
    return Erased(erased.receipt, heard)


def subtract_rebuilt(counts: dict[str, int], erased: maintenance.Report) -> None:
    """Subtracts rebuilt rows from the counts of erased rows."""
    for name, count in counts.items():
        erased[name]["erased"] = max(0, erased[name]["erased"] - count)


def drop_work(folder: Path) -> None:
    """Removes the gathered records of a pass that was killed at its end."""
    if (folder / WORK).exists():
        shutil.rmtree(folder / WORK)


def _forget_in_store(history: ObjectPath, tenant: str, user_id: str) -> dict[str, Any]:
    """Erases in each generation of an object store, including ones created in the meantime."""
    from streams import search  # slow to load
    from streams.apps import personal_data

    root, asked_at = find_root(history), time.time_ns() // 1000
    remove_leftovers(root)
    live = folder_of(root, resolve(root, LIVE))
    receipts: dict[ObjectPath, dict[str, Any]] = {}
    while folders := [
        place for name in names(root) if (place := folder_of(root, name)) not in receipts
    ]:
        if foreign := next((place for place in folders if not _is_of_store(place)), None):
            raise ConfigurationError(
                f"{foreign}: no sink writes this; erase in the folder that it was copied from, "
                "then copy that again"
            )
        folder = folders[0]
        if (folder / DROPPED).exists():
            remove(root, folder)
            receipts[folder] = {"tables": "dropped: that had been begun"}
            continue
        noted = _erased_hashes(root, tenant, user_id)
        receipts[folder], heard = _forget_in_sinks(folder, tenant, user_id, noted, None)
        if search.has_index_folder(folder):  # on this machine; others notice the removed rows
            with search.build_locks([folder], tenant):
                search.forget(folder, tenant, [user_id, *heard])
    receipt = receipts.pop(live)
    by_name = {ROOT if place == root else place.name: report for place, report in receipts.items()}
    reports = {name: report["tables"] for name, report in by_name.items()}
    receipt |= {"generations": reports} if reports else {}
    letters, target = Letters(tenant, user_id), (tenant, user_id, None, None)
    may_remain = personal_data.clear(
        personal_data.Erasing(root, letters, target, asked_at, receipt)
    )
    return {**receipt, "may_remain": may_remain}


def _is_of_store(folder: ObjectPath) -> bool:
    """Whether sinks write this generation, or it was just created."""
    return is_shared(folder) or len(folder.sizes()) <= 1


def _forget_in_sinks(
    root: Location,
    tenant: str,
    user_id: str,
    noted: set[str],
    complete: Location | None,
) -> Erased:
    """Erases in a history of sinks. Sinks will omit this person's records from before now that they
    have not read yet. They write rows without user: the next call finds these by the notes of this
    one. Sinks of a folder must be stopped."""
    rules = rules_of(root)
    now = time.time_ns() // 1000
    unfinished, forgotten, tables = (
        Unfinished(root, tenant, user_id),
        Forgotten(root),
        History(root),
    )
    destroy_user_key(tenant, user_id)
    forgotten.add([(tenant, user_id)], (), now)
    fence(tables)  # no more rows of theirs are written, so the scope is complete
    in_scope = maintenance.sessions_of(root, tenant, user_id, noted, complete)
    unfinished.begin(in_scope.whole, in_scope.shared)
    keys = destroy_session_keys(unfinished.whole, unfinished.shared)
    erased_ids.note(root, tenant, user_id, in_scope.erased)
    forgotten.add([(tenant, user_id)], unfinished.whole, now)
    fence(tables)
    erased = maintenance.forget(root, tenant, user_id, noted, None, complete)
    if isinstance(root, ObjectPath):
        fence(tables)  # no more commits with memory derived from their records
        sessions = [session for _, session in unfinished.whole | unfinished.shared]
        maintenance.erase_remade(root, tenant, sessions)
    retry_conflicts(lambda: _rebuild_documents(root, unfinished.shared, rules, now))
    sweep(tables)
    unfinished.end()
    elsewhere = ELSEWHERE if isinstance(root, Path) else IN_STORE
    return Erased({**erased.receipt, **keys, "elsewhere": elsewhere})


def _rebuild_documents(
    root: Location, shared: set[tuple[str, str]], rules: Rules, now: int
) -> None:
    """Rebuilds the documents of sessions from the remaining records; raises on a conflict."""
    if not shared:
        return
    with History(root) as tables:
        # before the records are read, so that a later fence causes a conflict
        written_by = {name: _written(tables, name) for name in (Session.table, Task.table)}
        for name, rows in _documents(root, _refolded(root, shared, rules), rules).items():
            tables.append(name, rows, REMADE, max(now, written_by[name] + 1))


def _written(tables: History, name: str) -> int:
    table = tables.table(name)
    return UNWRITTEN if table is None else written(table, REMADE)


def _refolded(root: Location, sessions: Iterable[tuple[str, str]], rules: Rules) -> list[Entity]:
    """Folds the remaining records of sessions. Revision numbers continue the history's numbers, on
    which views rely."""
    entities = []
    for tenant, session_id in sorted(sessions):
        entity = refold(own_folder(root), tenant, session_id, rules)
        header = entity.get(HEADER)
        if header is not None:
            with connect(own_folder(root), tenant=tenant, views=("revisions", "links")) as db:
                ((last,),) = db.execute(LAST_SEQ, {"session": session_id}).fetchall()
            entity.put(HEADER, replace(header, seq=max(header.seq, last + 1)))
            entities.append(entity)
    return entities


def _documents(root: Location, sessions: list[Entity], rules: Rules) -> dict[str, pa.Table]:
    """Rows of the tables `sessions` and `tasks`."""
    rows: dict[str, list[Stored]] = {Session.table: [], Task.table: []}
    for entity in sessions:
        with connect(own_folder(root), tenant=entity.tenant, views=INPUT_TABLES) as db:
            ((recorded_at,),) = db.execute(LAST_RECORDED, {"session": entity.key}).fetchall()
        source = Source(entity.tenant, recorded_at, REMADE, 0, 0)
        documents: list[Session | Task] = [session_row(entity, rules)]
        documents += [task_row(entity, task_id, rules) for task_id in TASKS.ids(entity)]
        for row in documents:
            rows[row.table].append(stored(row, source, row.updated_at))
    return {name: to_arrow(name, table_rows) for name, table_rows in rows.items() if table_rows}
