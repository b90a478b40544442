"""Operations on a whole history, under the writer's lock: compact it, forget a person.

A history is `turnfold run`'s, with the fold's tables beside it, or that of sinks, whose fold's
tables are the workers'.
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
from sinks.delta import UNWRITTEN, History, until_first, written
from sinks.fences import fence, sweep
from sinks.forgotten import Forgotten, Unfinished
from sinks.generation import (
    DROPPED,
    LIVE,
    ROOT,
    find,
    folder_of,
    names,
    own,
    remove,
    remove_leftovers,
    resolve,
)
from sinks.history import connect
from sinks.letters import Letters
from sinks.locations import Location
from sinks.object_store import ObjectPath
from sinks.root import find_root, is_shared
from sinks.scope import REMADE
from sinks.shared import alone
from sinks.tables import to_arrow
from streams.apps.erasure_requests import Whose
from streams.errors import ConfigurationError
from streams.files.access import erasing, locked, opened, writing
from streams.files.applier import Stored
from streams.files.inbox_recovery import fold_left
from streams.files.manifest import WORK, Generation, load, rules_of
from streams.files.refold import refold
from streams.files.remaking import remake
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
ELSEWHERE = "Kafka's topics and the workers' tables still contain them; see docs/erasure.md"
SESSIONS, HEARD = "forgetting", "forgetting_heard"
"""Notes in the fold's tables of a `forget` that has begun: of which sessions and of which others it
makes memory again, each as (tenant, id)."""
OF_BUCKET = (
    "a bucket with versions or copies still holds deleted objects, and other machines' search "
    "indexes what they found: docs/object-stores.md"
)
IN_STORE = f"{ELSEWHERE}; {OF_BUCKET}"


class Erased(NamedTuple):
    """The receipt of one generation, and the others whose memory was made again."""

    receipt: dict[str, Any]
    heard: Collection[str] = ()


def compact(history: Location) -> dict[str, Any]:
    """Merges small files; table -> what was done. Raises HistoryError where there is none."""
    root = find_root(history)
    if is_shared(root) or not isinstance(root, Path):
        with alone(root):
            return dict(maintenance.compact(root))
    with writing(root, borrow=True) as (_, tables):
        return dict(maintenance.compact(tables.at))


def forget(
    history: Location, tenant: str, user_id: str, index_within: float = math.inf
) -> dict[str, Any]:
    """Erases a person from Parquet files and from the fold's tables; the receipt.

    A session that others took part in is folded again from what they said. Raises NotIndexed,
    nothing erased, where an index of the tenant is being built for longer than `index_within`;
    ConfigurationError for a history in an object store that sinks do not write.
    """
    if not isinstance(history, Path):
        return _forget_in_store(history, tenant, user_id)

    root = find_root(history)

    def one(folder: Path, whole: Path | None) -> dict[str, Any]:
        noted = _noted(root, tenant, user_id)
        erase = _forget_in_sinks if is_shared(folder) else _forget
        receipt, heard = erase(folder, tenant, user_id, noted, whole)
        search.forget(folder, tenant, [user_id, *heard])
        return receipt

    from streams import search  # not needed before, and slow to load

    whose = (tenant, user_id, None, None)
    return in_every_generation(history, tenant, one, Letters(tenant, user_id), whose, index_within)


def in_every_generation(
    history: Path,
    tenant: str,
    erase: Callable[[Path, Path | None], dict[str, Any]],
    letters: Letters,
    whose: Whose,
    index_within: float = math.inf,
) -> dict[str, Any]:
    """Erases in each generation's folder, the live one last, then in all other places of the
    history: the receipt, with the tables of the other generations. No index of the tenant is built
    meanwhile. `erase` gets for a generation of some days the folder of one that has them all, too.
    `whose`: what is erased."""
    from streams import search  # slow to load
    from streams.apps import places

    root = find_root(history)
    asked_at = time.time_ns() // 1000
    held = alone(root) if is_shared(root) else locked(root, borrow=True)
    folders = [folder_of(root, name) for name in names(root)]
    # waited for before anything is held: the others write on
    with search.unbuilt(folders, tenant, index_within), erasing(root, alone=True), held:
        fold_left(root, asked_at)
        last = root if is_shared(root) else find(root, LIVE)
        others = _in_others(root, last, erase)
        receipt = erase(last, None)
        receipt |= {"generations": others} if others else {}
        may_remain = places.clear(places.Erasing(root, letters, whose, asked_at, receipt))
    return {**receipt, "may_remain": may_remain}


def _in_others(
    root: Path, last: Path, erase: Callable[[Path, Path | None], dict[str, Any]]
) -> dict[str, Any]:
    """The same in all generations but one: name -> its tables. One that has never been finished is
    dropped: its gathered records hold everybody, and `generation create` makes it again."""
    done: dict[str, Any] = {}
    remove_leftovers(root)
    for name in names(root):
        folder = folder_of(root, name)
        if folder == last:
            continue
        if is_shared(folder):
            with alone(folder):
                done[name] = erase(folder, None)["tables"]
            continue
        with nullcontext() if folder == root else locked(folder):
            done[name] = _aside(root, name, last, erase)
    return done


def _aside(
    root: Path, name: str, last: Path, erase: Callable[[Path, Path | None], dict[str, Any]]
) -> Any:
    folder = folder_of(root, name)
    made = load(folder)
    if made is None or made.stage == "complete":
        return erase(folder, last if _is_of_some_days(made) else None)["tables"]
    if made.ended_at is not None:
        ways = "promote or rollback" if name == ROOT else "backfill, promote or rollback"
        drop = "" if name == ROOT else ", or drop it"
        raise ConfigurationError(
            f"generation {name!r}: an update of it was interrupted; first repeat the command "
            f"({ways}){drop}"
        )
    remove(root, folder)
    return "dropped: it was not finished"


def _is_of_some_days(made: Generation | None) -> bool:
    """Such a generation may hold plans whose turns it does not."""
    return made is not None and not made.settings.whole


def _noted(root: Location, tenant: str, user_id: str) -> set[str]:
    """What was erased of a person in all generations: a backfill makes one of another's rows."""
    folders = [folder_of(root, name) for name in names(root)]
    return erased_ids.noted(folders, tenant, user_id)


def _forget(folder: Path, tenant: str, user_id: str, noted: set[str], whole: Path | None) -> Erased:
    """In one generation. The others' memory of which this person's turns are evidence is made again
    without it."""
    drop_work(folder)
    rules = rules_of(folder)
    with opened(folder) as (store, _):
        known = {tuple(where) for where in store.value(SESSIONS) or ()}
        noted_users = {tuple(where) for where in store.value(HEARD) or ()}
        found = maintenance.sessions_of(folder, tenant, user_id, noted, whole)
        theirs = known.union(found.whole, found.shared)
        noted_users |= {(tenant, user) for user in found.heard}
        heard = sorted(user for of, user in noted_users if of == tenant)
        # killed half-way, the next call continues
        store.write_values({SESSIONS: sorted(theirs), HEARD: sorted(noted_users)})
        done = maintenance.forget(folder, tenant, user_id, noted, heard, whole)
        store.erase("users", tenant, user_id)
        for where in theirs:
            store.erase("sessions", *where)
        store.compact()
    with opened(folder) as (store, tables):
        kept = _refolded(folder, theirs, rules)
        if kept:
            for entity in kept:
                store.adopt(entity)
            number = (store.value("batch") or 0) + 1  # none has been folded on here
            for name, rows in _documents(folder, kept, rules).items():
                tables.append(name, rows, store.value("writer"), number)
            store.commit({"batch": number})
        made = remake(folder, tenant, heard, rules, store, tables)
        count_made(made, done.receipt["tables"])
        left = sorted(where for where in noted_users if where[0] != tenant)
        store.commit({SESSIONS: None, HEARD: left or None})
        store.compact()  # the note named their sessions
    return Erased(done.receipt, heard)


def count_made(made: dict[str, int], erased: maintenance.Report) -> None:
    """What was made again is not counted as erased."""
    for name, count in made.items():
        erased[name]["erased"] = max(0, erased[name]["erased"] - count)


def drop_work(folder: Path) -> None:
    """What a pass gathered that was killed as it had ended."""
    if (folder / WORK).exists():
        shutil.rmtree(folder / WORK)


def _forget_in_store(history: ObjectPath, tenant: str, user_id: str) -> dict[str, Any]:
    """In each generation, until there are no more: one may have been begun meanwhile."""
    from streams import search  # slow to load
    from streams.apps import places

    root, asked_at = find_root(history), time.time_ns() // 1000
    remove_leftovers(root)
    live = folder_of(root, resolve(root, LIVE))
    receipts: dict[ObjectPath, dict[str, Any]] = {}
    while left := [one for name in names(root) if (one := folder_of(root, name)) not in receipts]:
        if other := next((one for one in left if not _is_of_store(one)), None):
            raise ConfigurationError(
                f"{other}: no sink writes this; erase in the folder that it was copied from, and "
                "copy that again"
            )
        folder = left[0]
        if (folder / DROPPED).exists():
            remove(root, folder)
            receipts[folder] = {"tables": "dropped: that had been begun"}
            continue
        noted = _noted(root, tenant, user_id)
        receipts[folder], heard = _forget_in_sinks(folder, tenant, user_id, noted, None)
        if search.is_made(folder):  # on this machine; others find that rows have gone
            with search.unbuilt([folder], tenant):
                search.forget(folder, tenant, [user_id, *heard])
    receipt = receipts.pop(live)
    named = {ROOT if one == root else one.name: done for one, done in receipts.items()}
    others = {name: done["tables"] for name, done in named.items()}
    receipt |= {"generations": others} if others else {}
    letters, whose = Letters(tenant, user_id), (tenant, user_id, None, None)
    may_remain = places.clear(places.Erasing(root, letters, whose, asked_at, receipt))
    return {**receipt, "may_remain": may_remain}


def _is_of_store(folder: ObjectPath) -> bool:
    """Whether sinks have made it there, or it has just been begun."""
    return is_shared(folder) or len(folder.sizes()) <= 1


def _forget_in_sinks(
    root: Location,
    tenant: str,
    user_id: str,
    noted: set[str],
    whole: Location | None,
) -> Erased:
    """The same in a history of sinks: what they have yet to read of this person, of records from
    before now, they will leave out. Rows that do not say whose they are they write: the next call
    finds them by what this one notes. Those of a folder must not run."""
    rules = rules_of(root)
    now = time.time_ns() // 1000
    left, forgotten, tables = Unfinished(root, tenant, user_id), Forgotten(root), History(root)
    forgotten.add([(tenant, user_id)], (), now)
    fence(tables)  # no row of theirs is written any more, so what is found now is all
    found = maintenance.sessions_of(root, tenant, user_id, noted, whole)
    left.begin(found.whole, found.shared)
    erased_ids.note(root, tenant, user_id, found.erased)
    forgotten.add([(tenant, user_id)], left.whole, now)
    fence(tables)
    done = maintenance.forget(root, tenant, user_id, noted, None, whole)
    if isinstance(root, ObjectPath):
        fence(tables)  # nobody commits any more what was made of their records
        sessions = [session for _, session in left.whole | left.shared]
        maintenance.erase_remade(root, tenant, sessions)
    until_first(lambda: _make_again(root, left.shared, rules, now))
    sweep(tables)
    left.end()
    elsewhere = ELSEWHERE if isinstance(root, Path) else IN_STORE
    return Erased({**done.receipt, "elsewhere": elsewhere})


def _make_again(root: Location, shared: set[tuple[str, str]], rules: Rules, now: int) -> None:
    """The documents of sessions from the records that are left, unless such have gone meanwhile."""
    if not shared:
        return
    with History(root) as tables:
        # as they are before the records are read: they may have a fence since
        written_by = {name: _written(tables, name) for name in (Session.table, Task.table)}
        for name, rows in _documents(root, _refolded(root, shared, rules), rules).items():
            tables.append(name, rows, REMADE, max(now, written_by[name] + 1))


def _written(tables: History, name: str) -> int:
    table = tables.table(name)
    return UNWRITTEN if table is None else written(table, REMADE)


def _refolded(root: Location, sessions: Iterable[tuple[str, str]], rules: Rules) -> list[Entity]:
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


def _documents(root: Location, sessions: list[Entity], rules: Rules) -> dict[str, pa.Table]:
    """Rows of the tables `sessions` and `tasks`."""
    rows: dict[str, list[Stored]] = {Session.table: [], Task.table: []}
    for entity in sessions:
        with connect(own(root), tenant=entity.tenant, views=SAID) as db:
            ((at,),) = db.execute(LAST_RECORDED, {"session": entity.key}).fetchall()
        source = Source(entity.tenant, at, REMADE, 0, 0)
        made: list[Session | Task] = [session_row(entity, rules)]
        made += [task_row(entity, task_id, rules) for task_id in TASKS.ids(entity)]
        for row in made:
            rows[row.table].append(stored(row, source, row.updated_at))
    return {name: to_arrow(name, some) for name, some in rows.items() if some}
