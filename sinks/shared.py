"""A history that several processes write at once: the sinks of the Kafka tier (docs/kafka-tier.md).

A row is known by the partition it was read from and its offset there, and a table notes with each
commit how far it has what each partition said. So it does not matter who writes, or how often: rows
a table has already are left out, looked at again whenever another was faster. Delta refuses a
commit whose partition another process has written meanwhile; the file locks only make that rare.
"""

from __future__ import annotations  # pyarrow-stubs: as in sinks.tables

import json
import logging
import time
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import IO, NamedTuple

import pyarrow as pa
from deltalake import CommitProperties, DeltaTable, Transaction, write_deltalake

from sinks import locks
from sinks.app_versions import AppVersions
from sinks.delta import (
    ATTEMPTS,
    UNWRITTEN,
    WRITER,
    History,
    in_commit_order,
    was_overtaken,
)
from sinks.errors import StoreError
from sinks.forgotten import Forgotten
from sinks.locations import Location, create, is_url
from sinks.root import DROPPED, OWNER, HistoryError, HistoryWriteError
from sinks.store_errors import PATIENCE, PAUSE, patiently
from sinks.tables import SCHEMAS

log = logging.getLogger(__name__)

LOCKS = "_locks"
WHOLE = "/whole"
"""Behind an app id: up to which offset all tables had their rows when this commit was made."""
LOCK_WITHIN = 10.0  # seconds; its holder may be stopped, and Delta watches over us as well


class Piece(NamedTuple):
    """Rows of one table from one partition; `offsets` are theirs there, ascending."""

    app_id: str
    offsets: Sequence[int]
    rows: pa.Table


class SharedHistory(History):
    """The tables of a history, open for one of several writers.

    `owner` says whose history this is (sink, cluster): a folder that `turnfold run` has written,
    or that has another owner, is refused with HistoryError. `close` gives it back.
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
            self._guard = _guard(self.at)
        self._forgotten = Forgotten(self.at)  # nobody else is in a folder: the guard is held

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
        """Leaves checkpoints, and lets others write the whole history."""
        with suppress(HistoryWriteError):  # another writer may be at it; a reader does without
            super().close()
        self._release()

    def _release(self) -> None:
        if self._guard is not None:
            self._guard.close()

    def positions(self, app_ids: Iterable[str]) -> dict[str, int]:
        """App -> the last offset up to which every table has its rows; without the unwritten."""
        newest = {name: patiently(partial(self.newest, name)) for name in SCHEMAS}
        tables = [(name, table) for name, table in newest.items() if table is not None]
        found = {
            app: max([UNWRITTEN, *(self._versions.of(*table, app + WHOLE) for table in tables)])
            for app in app_ids
        }
        return {app: offset for app, offset in found.items() if offset != UNWRITTEN}

    def write(
        self,
        pieces: Mapping[str, Sequence[Piece]],
        upto: Mapping[str, int],
        whole: Mapping[str, int],
        passed: Callable[[str], None] = lambda point: None,
    ) -> int:
        """Writes what tables do not have yet, one commit each; how many rows that were.

        `upto`: app -> the last offset of what was read, `whole` that of the write before. Rows of
        who is forgotten are left out. Raises HistoryWriteError; the same call may be made again,
        by whoever it is.
        """
        noted = self._look_who_is_forgotten()
        pieces = {name: left for name in pieces if (left := self._remembered(name, pieces[name]))}
        last = {one.app_id: table for table in sorted(pieces) for one in pieces[table]}
        rows = 0
        for table in sorted(pieces):
            complete = {app: upto[app] for app, name in last.items() if name == table}
            passed(f"before {table}")
            rows += self._write(table, pieces[table], upto, {**whole, **complete}, noted)
            passed(f"after {table}")
        return rows

    def _look_who_is_forgotten(self) -> int:
        """How many notes say so now. Raises HistoryWriteError."""
        try:
            self._forgotten.refresh()
            return self._forgotten.notes
        except StoreError as error:
            raise _not_written(error) from None

    def _remembered(self, table: str, pieces: Sequence[Piece]) -> list[Piece]:
        return [kept for one in pieces if (kept := self._kept(table, one)).offsets]

    def _kept(self, table: str, piece: Piece) -> Piece:
        try:
            places = self._forgotten.kept(table, piece.rows)
        except StoreError as error:
            raise _not_written(error) from None
        except OSError as error:
            raise HistoryWriteError(f"{self.at}: {error.strerror or error}") from error
        if places is None:
            return piece
        log.info("%s: %d rows of who is forgotten", table, len(piece.offsets) - len(places))
        kept = [piece.offsets[at] for at in places]
        return Piece(piece.app_id, kept, piece.rows.take(pa.array(places, pa.int64())))

    def _write(
        self,
        table: str,
        pieces: Sequence[Piece],
        upto: Mapping[str, int],
        whole: Mapping[str, int],
        noted: int,
    ) -> int:
        began = time.monotonic()
        for attempt in range(ATTEMPTS):
            with self._locked(table):
                try:
                    delta = self.made(table)
                    # looked at after the table's state: who is forgotten later fences the table
                    # (sinks.fences), and this commit is refused
                    if self._look_who_is_forgotten() != noted:
                        pieces = self._remembered(table, pieces)
                    known = partial(self._versions.of, table, delta)
                    new = [one for piece in pieces if (one := _unwritten(piece, known)) is not None]
                    if not new:
                        return 0
                    transactions = _transactions({one.app_id for one in new}, known, upto, whole)
                    self._append(table, delta, [one.rows for one in new], transactions)
                except HistoryWriteError as error:
                    self._versions.forget(table)
                    passing = error.may_pass and time.monotonic() - began < self._patience_of_store
                    if attempt == ATTEMPTS - 1 or not (passing or was_overtaken(error)):
                        raise
                    if passing:
                        time.sleep(PAUSE)
                    log.info("%s; looking again", error)
                    continue
                return sum(len(one.offsets) for one in new)
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
                commit_properties=CommitProperties(app_transactions=transactions),
            )
        self._versions.committed(table, delta, before, transactions)

    @contextmanager
    def _locked(self, table: str) -> Iterator[None]:
        """One writer a table, if its holder lets go in time."""
        if self._guard is None:
            yield
            return
        with _opened_lock(Path(self.root) / LOCKS / table) as lock:
            patience = self._patience.get(table, LOCK_WITHIN)
            ours = locks.taken(lock, within=patience)
            if not ours and patience == LOCK_WITHIN:
                log.warning("%s: its lock is held for %g s; going on", table, patience)
            self._patience[table] = LOCK_WITHIN if ours else 0.0  # its holder may never come back
            yield


def _opened_lock(file: Path) -> IO[str]:
    """Raises HistoryWriteError."""
    try:
        file.parent.mkdir(exist_ok=True)
        return file.open("a")
    except OSError as error:
        raise HistoryWriteError(f"{file}: {error.strerror or error}") from error


def _unwritten(piece: Piece, known: Callable[[str], int]) -> Piece | None:
    """What of a piece the table does not have; None where that is nothing."""
    first = bisect_right(piece.offsets, known(piece.app_id))
    if first == len(piece.offsets):
        return None
    return Piece(piece.app_id, piece.offsets[first:], piece.rows.slice(first))


def _transactions(
    apps: set[str],
    known: Callable[[str], int],
    upto: Mapping[str, int],
    whole: Mapping[str, int],
) -> list[Transaction]:
    made = []
    for app in sorted(apps):
        made.append(Transaction(app, upto[app]))
        stood = max(known(app + WHOLE), whole.get(app, UNWRITTEN))
        if stood != UNWRITTEN:
            made.append(Transaction(app + WHOLE, stood))
    return made


@contextmanager
def alone(root: Location) -> Iterator[None]:
    """The history of sinks that are not running, for one process. Raises HistoryError.

    An object store has no lock that ends with its process: there sinks may be running, and what is
    done must bear that (docs/decisions.md).
    """
    if not isinstance(root, Path):
        yield
        return
    refusal = (
        f"{root}: a sink is writing this history; end all its sinks (Ctrl-C or SIGTERM), call this "
        "again, then start them: they go on where they ended"
    )
    with locks.held(locks.of_history(root), HistoryError(refusal)):
        yield


def _guard(root: Path) -> IO[str]:
    """Keeps out who must have the history for himself: `run`, `compact`, `forget`."""
    lock = _opened_lock(locks.of_history(root))
    if not locks.taken(lock, shared=True):
        lock.close()
        raise HistoryError(f"{root}: another turnfold is writing this history; wait for its end")
    return lock


def _claim(root: Location, owner: Mapping[str, str]) -> None:
    """Notes whose history this is; refuses one that is somebody else's."""
    if (root / "_store").exists():
        raise HistoryError(
            f"{root}: written by `turnfold run`; a sink would write the same rows again under "
            "other positions. Name a new folder"
        )
    if (root / DROPPED).exists():
        raise HistoryError(f"{root}: is being dropped; repeat that, or name another generation")
    found = _owner(root) or _note_owner(root, dict(owner))
    check_cluster(root, found, owner["cluster"], "Name a folder of its own")
    if found["sink"] != owner["sink"]:
        raise HistoryError(
            f"{root}: the sink {found['sink']!r} writes this history, not {owner['sink']!r}; name "
            "a folder of its own, or give --name"
        )


def check_cluster(root: Location, owner: Mapping[str, str], cluster: str, instead: str) -> None:
    """Raises HistoryError where a sink's history (`owner_of`) has its rows from another cluster, or
    from topics with another prefix, than those that a command has reached. `instead`: the way out.
    """
    if cluster != owner["cluster"]:
        raise HistoryError(
            f"{root}: its rows are from the cluster {owner['cluster']}, but Kafka here is the "
            f"cluster {cluster}. {instead}"
        )


def owner_of(root: Location) -> dict[str, str]:
    """Whose history it is: `sink` and `cluster`. Raises HistoryError where it is no sink's."""
    if (found := _owner(root)) is None:
        raise HistoryError(f"{root / OWNER}: no such file; no sink writes this history")
    return found


def _owner(root: Location) -> dict[str, str] | None:
    try:
        noted: dict[str, str] = json.loads((root / OWNER).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return noted


def _note_owner(root: Location, owner: dict[str, str]) -> dict[str, str]:
    """Whose it is from now on: this owner's, or that of who was faster."""
    try:
        create(root / OWNER, json.dumps(owner) + "\n")
    except OSError as error:
        raise HistoryWriteError(f"{root / OWNER}: {error.strerror or error}") from error
    return _owner(root) or owner


def _not_written(error: StoreError) -> HistoryWriteError:
    return HistoryWriteError(str(error), passes=error.may_pass, unreachable=error.unreachable)
