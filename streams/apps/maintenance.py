"""Operations on a whole history, under the writer's lock: compact it, forget a person.

A history is `turnfold run`'s, with the fold's tables beside it, or that of sinks, whose fold's
tables are the workers'.
"""

import math
import shutil
import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pyarrow as pa

from schemas.generated.history import Session, Source, Task, stored
from schemas.row import replace
from sinks import kept, maintenance
from sinks.delta import History
from sinks.forgotten import Forgotten, Unfinished
from sinks.generation import LIVE, ROOT, find, folder_of, names, own, remove, remove_leftovers
from sinks.history import connect
from sinks.locations import Location
from sinks.root import find_root, is_shared
from sinks.shared import alone
from sinks.tables import to_arrow
from streams.errors import ConfigurationError
from streams.files.access import erasing, locked, opened, writing
from streams.files.applier import Stored
from streams.files.inbox_recovery import fold_left
from streams.files.manifest import WORK, load, rules_of
from streams.files.refold import refold
from streams.files.stored_records import SAID
from streams.folds.rules import Rules
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
    " UNION ALL ".join(f"SELECT session_id, recorded_at FROM {table}" for table in SAID)
)
ELSEWHERE = "Kafka's topics and the workers' tables still hold them: docs/sink.md says until when"


def compact(history: Location) -> dict[str, Any]:
    """Merges small files; table -> what was done. Raises HistoryError where there is none."""
    root = find_root(history)
    if is_shared(root) or not isinstance(root, Path):
        with alone(root):
            return dict(maintenance.compact(root))
    with writing(root, borrow=True) as (_, tables):
        return dict(maintenance.compact(tables.at))


def forget(
    history: Path, tenant: str, user_id: str, index_within: float = math.inf
) -> dict[str, Any]:
    """Erases a person from Parquet files and from the fold's tables; the receipt.

    A session that others took part in is folded again from what they said. Raises NotIndexed,
    nothing erased, where an index of the tenant is being built for longer than `index_within`.
    """

    def one(folder: Path) -> dict[str, Any]:
        receipt = (_forget_in_sinks if is_shared(folder) else _forget)(folder, tenant, user_id)
        search.forget(folder, tenant, [user_id])
        return receipt

    from streams import search  # not needed before, and slow to load

    return in_every_generation(history, tenant, one, index_within)


def in_every_generation(
    history: Path,
    tenant: str,
    erase: Callable[[Path], dict[str, Any]],
    index_within: float = math.inf,
) -> dict[str, Any]:
    """Erases in each generation's folder, the live one last: its receipt, with the tables of the
    others. No index of the tenant is built meanwhile."""
    from streams import search

    root = find_root(history)
    asked_at = time.time_ns() // 1000
    held = alone(root) if is_shared(root) else locked(root, borrow=True)
    folders = [folder_of(root, name) for name in names(root)]
    # waited for before anything is held: the others write on
    with search.unbuilt(folders, tenant, index_within), erasing(root, alone=True), held:
        fold_left(root, asked_at)
        last = root if is_shared(root) else find(root, LIVE)
        others = _in_others(root, last, erase)
        receipt = erase(last)
    kept.forget()
    return {**receipt, "generations": others} if others else receipt


def _in_others(root: Path, last: Path, erase: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
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
                done[name] = erase(folder)["tables"]
            continue
        with nullcontext() if folder == root else locked(folder):
            done[name] = _aside(root, name, erase)
    return done


def _aside(root: Path, name: str, erase: Callable[[Path], dict[str, Any]]) -> Any:
    folder = folder_of(root, name)
    made = load(folder)
    if made is None or made.stage == "complete":
        return erase(folder)["tables"]
    if made.ended_at is not None:
        ways = "promote or rollback" if name == ROOT else "backfill, promote or rollback"
        drop = "" if name == ROOT else ", or drop it"
        raise ConfigurationError(
            f"generation {name!r}: an update of it was interrupted; first repeat the command "
            f"({ways}){drop}"
        )
    remove(root, folder)
    return "dropped: it was not finished"


def _forget(folder: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """In one generation; the receipt."""
    drop_work(folder)
    with opened(folder) as (store, _):
        known = {tuple(where) for where in store.value("forgetting") or ()}
        found = maintenance.sessions_of(folder, tenant, user_id)
        theirs = known.union(found.whole, found.shared)
        store.write_values(
            {"forgetting": sorted(theirs)}
        )  # killed half-way, the next call continues
        done = maintenance.forget(folder, tenant, user_id)
        store.erase("users", tenant, user_id)
        for where in theirs:
            store.erase("sessions", *where)
        store.compact()
    with opened(folder) as (store, tables):
        rules = rules_of(folder)
        kept = _refolded(folder, theirs, rules)
        if kept:
            for entity in kept:
                store.adopt(entity)
            number = store.value("batch") + 1
            for name, rows in _documents(folder, kept, rules).items():
                tables.append(name, rows, store.value("writer"), number)
            store.commit({"batch": number})
        store.commit({"forgetting": None})
        store.compact()  # the note named their sessions
    return done.receipt


def drop_work(folder: Path) -> None:
    """What a pass gathered that was killed as it had ended."""
    if (folder / WORK).exists():
        shutil.rmtree(folder / WORK)


def _forget_in_sinks(root: Path, tenant: str, user_id: str) -> dict[str, Any]:
    """The same in a history of sinks, which must not run: what they have yet to read of this
    person, of records from before now, they will leave out."""
    rules = rules_of(root)
    left = Unfinished(root)
    left.begin(*maintenance.sessions_of(root, tenant, user_id))
    now = time.time_ns() // 1000
    Forgotten(root).add([(tenant, user_id)], left.whole, now)
    done = maintenance.forget(root, tenant, user_id)
    kept = _refolded(root, left.shared, rules)
    if kept:
        with History(root) as tables:
            for name, rows in _documents(root, kept, rules).items():
                tables.append(name, rows, "forget", now)
    left.end()
    return {**done.receipt, "elsewhere": ELSEWHERE}


def _refolded(root: Path, sessions: Iterable[tuple[str, str]], rules: Rules) -> list[Entity]:
    """The rows of those sessions of which records are left, from these. Their revisions count on
    from those that are in the history: views go by that."""
    made = []
    for tenant, session_id in sorted(sessions):
        entity = refold(own(root), tenant, session_id, rules)
        header = entity.get(HEADER)
        if header is not None:
            with connect(own(root), tenant=tenant, views=("revisions", "links")) as db:
                ((last,),) = db.execute(LAST_SEQ, {"session": session_id}).fetchall()
            entity.put(HEADER, replace(header, seq=max(header.seq, last + 1)))
            made.append(entity)
    return made


def _documents(root: Path, sessions: list[Entity], rules: Rules) -> dict[str, pa.Table]:
    """Rows of the tables `sessions` and `tasks`."""
    rows: dict[str, list[Stored]] = {Session.table: [], Task.table: []}
    for entity in sessions:
        with connect(own(root), tenant=entity.tenant, views=SAID) as db:
            ((at,),) = db.execute(LAST_RECORDED, {"session": entity.key}).fetchall()
        source = Source(entity.tenant, at, "forget", 0, 0)
        made: list[Session | Task] = [session_row(entity, rules)]
        made += [task_row(entity, task_id, rules) for task_id in TASKS.ids(entity)]
        for row in made:
            rows[row.table].append(stored(row, source, row.updated_at))
    return {name: to_arrow(name, some) for name, some in rows.items() if some}
