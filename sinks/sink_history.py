"""History with several concurrent writers: the sinks of the Kafka tier (docs/kafka-tier.md).

A row is identified by the partition and offset from which it was read, and each commit stores the
last offset of its partitions in the table. So writes are idempotent: rows that a table has are
left out, and checked again after a conflict. Delta rejects a commit if another process has written
its partition; the file locks only make conflicts rare.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import json
import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import pyarrow as pa
from deltalake import DeltaTable, Transaction, write_deltalake

from sinks import locks, power_loss
from sinks.delta import (
    ATTEMPTS,
    UNWRITTEN,
    WRITER,
    History,
    commit_properties,
    in_commit_order,
    is_conflict,
    written,
)
from sinks.errors import StoreError, write_errors
from sinks.forgotten_users import Forgotten
from sinks.history_root import DROPPED, OWNER, HistoryError, HistoryWriteError
from sinks.locations import Location, create, is_url
from sinks.store_errors import PATIENCE, PAUSE, patiently
from sinks.tables import SCHEMAS

log = logging.getLogger(__name__)

LOCKS = "_locks"
WHOLE = "/whole"
"""Suffix of an app id: the offset up to which all tables had their rows at this commit."""
LOCK_WITHIN = 10.0  # seconds; its holder may hang, and Delta detects conflicts

REPAIRED_WITHIN = 5.0
"""Seconds for which another sink may repair the tables."""


class AppVersions:
    """Cache of the last version that each app has committed to each table of a history, at the
    handle's version.

    For each app `deltalake` reads all commits since the last checkpoint again; in an object store
    each commit is a request.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, dict[str, int]]] = {}

    def of(self, table: str, delta: DeltaTable, app_id: str) -> int:
        """The last version that this app wrote, or UNWRITTEN."""
        version, apps = self._known.get(table, (None, {}))
        if version != delta.version():
            apps = {}
            self._known[table] = delta.version(), apps
        if app_id not in apps:
            apps[app_id] = written(delta, app_id)
        return apps[app_id]

    def committed(
        self, table: str, delta: DeltaTable, before: int, transactions: Iterable[Transaction]
    ) -> None:
        """Records a commit of this process on top of version `before`.

        The handle is at the newest version: if that is `before` + 1, no other writer committed.
        """
        version, apps = self._known.pop(table, (None, {}))
        if version == before and delta.version() == before + 1:
            versions = {transaction.app_id: transaction.version for transaction in transactions}
            self._known[table] = before + 1, {**apps, **versions}

    def forget(self, table: str) -> None:
        """Drops a table after a failed commit: its version is unknown."""
        self._known.pop(table, None)


class Piece(NamedTuple):
    """Rows of one table from one partition, with their `offsets` there, ascending."""

    app_id: str
    offsets: Sequence[int]
    rows: pa.Table


class SharedHistory(History):
    """The tables of a history, open for one of several writers.

    `owner` identifies the writers (sink, cluster): raises HistoryError for a folder of `turnfold
    run` or of another owner. `close` releases it.
    """

    def __init__(
        self,
        root: str | Location,
        owner: Mapping[str, str],
    ) -> None:
        super().__init__(root)
        self._versions = AppVersions()
        self._patience: dict[str, float] = {}
        self._patience_of_store = PATIENCE if is_url(self.at) else 0.0
        self._guard: IO[str] | None = None
        _claim(self.at, owner)
        if isinstance(self.at, Path):
            self._guard = self._begin(self.at)
        self._forgotten = Forgotten(self.at)  # safe in a folder: the guard is locked

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            super().__exit__(kind, error, trace)
        finally:
            self._release()

    def close(self) -> None:
        """Writes checkpoints, and releases the history's lock."""
        with suppress(HistoryWriteError):  # another writer may be active; checkpoints are optional
            super().close()
        self._release()

    def _release(self) -> None:
        if self._guard is not None:
            self._guard.close()

    def _begin(self, root: Path) -> IO[str]:
        """Takes the shared lock, which excludes `run`, `compact` and `forget`. The first sink
        repairs the tables."""
        with ExitStack() as stack:
            lock = stack.enter_context(_opened_lock(locks.history_lock(root)))
            if locks.acquire(lock):
                self.repair(power_loss.flushed(root))
            if not locks.acquire(lock, shared=True, within=REPAIRED_WITHIN):
                raise HistoryError(
                    f"{root}: another turnfold is writing this history; wait for its end"
                )
            stack.pop_all()
            return lock

    def positions(self, app_ids: Iterable[str]) -> dict[str, int]:
        """App -> last offset up to which all tables have their rows; without unwritten apps."""
        newest = {name: patiently(partial(self.newest, name)) for name in SCHEMAS}
        self._flush_new()  # a killed sink may not have
        tables = [(name, table) for name, table in newest.items() if table is not None]
        offsets = {
            app: max([UNWRITTEN, *(self._versions.of(*table, app + WHOLE) for table in tables)])
            for app in app_ids
        }
        return {app: offset for app, offset in offsets.items() if offset != UNWRITTEN}

    def write(
        self,
        pieces: Mapping[str, Sequence[Piece]],
        upto: Mapping[str, int],
        complete: Mapping[str, int],
        passed: Callable[[str], None] = lambda point: None,
    ) -> int:
        """Writes the missing rows of each table, one commit each; returns their number.

        `upto`: app -> last offset that was read, `complete`: the previous write's. Rows of
        forgotten owners are left out. Raises HistoryWriteError; any writer may repeat the call.
        """
        notes = self._refresh_forgotten()
        pieces = {
            name: remaining for name in pieces if (remaining := self._remaining(name, pieces[name]))
        }
        last = {piece.app_id: table for table in sorted(pieces) for piece in pieces[table]}
        rows = 0
        for table in sorted(pieces):
            last_offsets = {app: upto[app] for app, name in last.items() if name == table}
            if last_offsets:  # the commit says that the others are there
                self._flush_new()
            passed(f"before {table}")
            rows += self._write(table, pieces[table], upto, {**complete, **last_offsets}, notes)
            passed(f"after {table}")
        self._flush_new()
        self.note_flushed()
        return rows

    def _flush_new(self) -> None:
        """Flushes the commits of the open tables, other sinks' included. Raises
        HistoryWriteError."""
        if not self._open_versions().items() <= self.flushed.items():
            self.flush()

    def _refresh_forgotten(self) -> int:
        """Reads new notes of forgotten owners; returns their number. Raises HistoryWriteError."""
        try:
            self._forgotten.refresh()
            return self._forgotten.notes
        except StoreError as error:
            raise _not_written(error) from None

    def _remaining(self, table: str, pieces: Sequence[Piece]) -> list[Piece]:
        return [
            remaining for piece in pieces if (remaining := self._filtered(table, piece)).offsets
        ]

    def _filtered(self, table: str, piece: Piece) -> Piece:
        try:
            with write_errors(self.at):
                places = self._forgotten.writable(table, piece.rows)
        except StoreError as error:
            raise _not_written(error) from None
        if places is None:
            return piece
        log.info("%s: %d rows of forgotten owners", table, len(piece.offsets) - len(places))
        offsets = [piece.offsets[place] for place in places]
        return Piece(piece.app_id, offsets, piece.rows.take(pa.array(places, pa.int64())))

    def _write(
        self,
        table: str,
        pieces: Sequence[Piece],
        upto: Mapping[str, int],
        complete: Mapping[str, int],
        notes: int,
    ) -> int:
        start = time.monotonic()
        for attempt in range(ATTEMPTS):
            with self._locked(table):
                try:
                    delta = self.open_or_create(table)
                    # checked after the table's version: a later `forget` fences the table
                    # (sinks.fences), and Delta rejects this commit
                    if self._refresh_forgotten() != notes:
                        pieces = self._remaining(table, pieces)
                    last_version = partial(self._versions.of, table, delta)
                    parts = (_unwritten(piece, last_version) for piece in pieces)
                    missing = [part for part in parts if part is not None]
                    if not missing:
                        return 0
                    transactions = _transactions(
                        {part.app_id for part in missing}, last_version, upto, complete
                    )
                    self._append(table, delta, [part.rows for part in missing], transactions)
                except HistoryWriteError as error:
                    self._versions.forget(table)
                    is_transient = (
                        error.may_pass and time.monotonic() - start < self._patience_of_store
                    )
                    if attempt == ATTEMPTS - 1 or not (is_transient or is_conflict(error)):
                        raise
                    if is_transient:
                        time.sleep(PAUSE)
                    log.info("%s; retrying", error)
                    continue
                return sum(len(part.offsets) for part in missing)
        raise AssertionError("the last attempt raises")

    def _append(
        self,
        table: str,
        delta: DeltaTable,
        rows: list[pa.Table],
        transactions: list[Transaction],
    ) -> None:
        before = delta.version()
        with self.writing(table):
            write_deltalake(
                delta,
                in_commit_order(table, pa.concat_tables(rows), before + 1),
                mode="append",
                writer_properties=WRITER,
                commit_properties=commit_properties(*transactions),
            )
        self._versions.committed(table, delta, before, transactions)

    @contextmanager
    def _locked(self, table: str) -> Iterator[None]:
        """Locks a table; continues without the lock after a timeout."""
        if self._guard is None:
            yield
            return
        with _opened_lock(Path(self.root) / LOCKS / table) as lock:
            patience = self._patience.get(table, LOCK_WITHIN)
            is_locked = locks.acquire(lock, within=patience)
            if not is_locked and patience == LOCK_WITHIN:
                log.warning("%s: its lock is taken for %g s; continuing", table, patience)
            self._patience[table] = (
                LOCK_WITHIN if is_locked else 0.0
            )  # its holder may never come back
            yield


def _opened_lock(file: Path) -> IO[str]:
    """Raises HistoryWriteError."""
    with write_errors(file):
        file.parent.mkdir(exist_ok=True)
        return file.open("a")


def _unwritten(piece: Piece, last_version: Callable[[str], int]) -> Piece | None:
    """The part of a piece that the table lacks, or None if it has all rows."""
    first = bisect_right(piece.offsets, last_version(piece.app_id))
    if first == len(piece.offsets):
        return None
    return Piece(piece.app_id, piece.offsets[first:], piece.rows.slice(first))


def _transactions(
    apps: set[str],
    last_version: Callable[[str], int],
    upto: Mapping[str, int],
    complete: Mapping[str, int],
) -> list[Transaction]:
    transactions = []
    for app in sorted(apps):
        transactions.append(Transaction(app, upto[app]))
        offset = max(last_version(app + WHOLE), complete.get(app, UNWRITTEN))
        if offset != UNWRITTEN:
            transactions.append(Transaction(app + WHOLE, offset))
    return transactions


@contextmanager
def alone(root: Location) -> Iterator[None]:
    """Locks the history of stopped sinks for one process. Raises HistoryError.

    An object store has no lock that ends with its process: sinks may be running, and callers must
    handle that (docs/decisions.md).
    """
    if not isinstance(root, Path):
        yield
        return
    refusal = (
        f"{root}: a sink is writing this history; stop all its sinks (Ctrl-C or SIGTERM), run the "
        "same command again, then start them: they continue where they stopped"
    )
    with locks.lock_file(locks.history_lock(root), HistoryError(refusal)):
        History(root).repair(power_loss.flushed(root))
        yield


def _claim(root: Location, owner: Mapping[str, str]) -> None:
    """Stores the owner of the history; raises HistoryError if it has another."""
    if (root / "_store").exists():
        raise HistoryError(
            f"{root}: written by `turnfold run`; a sink would write the same rows again under "
            "other positions. Name a new folder"
        )
    if (root / DROPPED).exists():
        raise HistoryError(f"{root}: is being dropped; repeat that, or name another generation")
    current = _owner(root) or _note_owner(root, dict(owner))
    check_cluster(root, current, owner["cluster"], "Name another folder")
    if current["sink"] != owner["sink"]:
        raise HistoryError(
            f"{root}: the sink {current['sink']!r} writes this history, not {owner['sink']!r}; "
            "name another folder, or give --name"
        )


def check_cluster(root: Location, owner: Mapping[str, str], cluster: str, instead: str) -> None:
    """Raises HistoryError if a sink's history (`owner_of`) has its rows from another cluster, or
    from topics with another prefix, than the command uses. `instead`: what to do.
    """
    if cluster != owner["cluster"]:
        raise HistoryError(
            f"{root}: its rows are from the cluster {owner['cluster']}, but Kafka here is the "
            f"cluster {cluster}. {instead}"
        )


def owner_of(root: Location) -> dict[str, str]:
    """Owner of a history: `sink` and `cluster`. Raises HistoryError if no sink writes it."""
    if (owner := _owner(root)) is None:
        raise HistoryError(f"{root / OWNER}: no such file; no sink writes this history")
    return owner


def _owner(root: Location) -> dict[str, str] | None:
    try:
        noted: dict[str, str] = json.loads((root / OWNER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return noted


def _note_owner(root: Location, owner: dict[str, str]) -> dict[str, str]:
    """Stores the owner; returns it, or a concurrent writer's."""
    with write_errors(root / OWNER):
        create(root / OWNER, json.dumps(owner) + "\n")
    return _owner(root) or owner


def _not_written(error: StoreError) -> HistoryWriteError:
    return HistoryWriteError(str(error), passes=error.may_pass, unreachable=error.unreachable)
